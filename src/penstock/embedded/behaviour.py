"""What a pod asks of the simulation by its annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api.durations import Duration, InvalidDuration

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "sim.penstock.dev/"

_FLAGS = ("fail", "never-ready", "image-pull-error")
ANNOTATIONS = frozenset(PREFIX + name for name in ("delay", *_FLAGS))


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a pod wants to be played; a pod that says nothing starts at once and does well."""

    delay: float = 0.0
    """Seconds between the start of the containers and what becomes of them."""
    fail: bool = False
    never_ready: bool = False
    image_pull_error: bool = False


def read(annotations: Mapping[str, str]) -> tuple[Behaviour, list[str]]:
    """The behaviour asked for, and a sentence for every annotation that makes no sense and is left out."""
    problems: list[str] = []
    flags = {name: _flag(name, annotations.get(PREFIX + name), problems) for name in _FLAGS}
    behaviour = Behaviour(
        delay=_delay(annotations.get(PREFIX + "delay"), problems),
        fail=flags["fail"],
        never_ready=flags["never-ready"],
        image_pull_error=flags["image-pull-error"],
    )
    unknown = (key for key in annotations if key.startswith(PREFIX) and key not in ANNOTATIONS)
    problems += [f"annotation {key} is not known" for key in unknown]
    return behaviour, problems


def _flag(name: str, value: str | None, problems: list[str]) -> bool:
    if value not in (None, "true", "false"):
        problems.append(f"annotation {PREFIX}{name} must be 'true' or 'false', not {value!r}")
    return value == "true"


def _delay(value: str | None, problems: list[str]) -> float:
    if value is None:
        return 0.0
    try:
        return Duration.from_field(value).seconds
    except InvalidDuration as error:
        problems.append(f"annotation {PREFIX}delay: {error}")
        return 0.0
