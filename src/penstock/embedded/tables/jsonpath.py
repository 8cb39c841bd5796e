"""The simple JSON paths of printer columns: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOKEN = re.compile(
    r"""\.(?P<name>(?:\\.|[^.\[\]\\])+)
      |\[\s*'(?P<quoted>[^']*)'\s*\]
      |\[\s*"(?P<quoted2>[^"]*)"\s*\]
      |\[\s*(?P<index>-?\d+)\s*\]
      |\[\s*(?P<all>\*)\s*\]
      |\[\?\(\s*@(?P<left>[^=!<>]*?)\s*(?P<operator>==|!=)\s*(?:'(?P<text>[^']*)'|"(?P<text2>[^"]*)"|(?P<bare>[^)\s]+))\s*\)\]
    """,
    re.VERBOSE,
)


class Step(NamedTuple):
    kind: str
    value: str
    path: tuple[Any, ...] = ()


def find(obj: Any, path: str) -> list[Any]:
    """All values at a path, in order; none for a path that makes no sense."""
    values = [obj]
    for step in _steps(path):
        values = [inner for value in values for inner in _go(value, step)]
    return values


@lru_cache(1024)
def _steps(path: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _TOKEN.match(path, position)
        if match is None:
            return (Step("nowhere", ""),)
        steps.append(_step(match.groupdict()))
        position = match.end()
    return tuple(steps)


def _step(found: dict[str, str | None]) -> Step:
    if (name := found["name"]) is not None:
        return Step("all", "") if name == "*" else Step("name", re.sub(r"\\(.)", r"\1", name))
    for key in ("quoted", "quoted2"):
        if (quoted := found[key]) is not None:
            return Step("name", quoted)
    if (index := found["index"]) is not None:
        return Step("index", index)
    if found["all"] is not None:
        return Step("all", "")
    wanted = next(text for text in (found["text"], found["text2"], found["bare"]) if text is not None)
    return Step("filter", wanted, (found["operator"], found["left"] or ""))


def _go(value: Any, step: Step) -> Iterable[Any]:
    match step.kind:
        case "name":
            return [value[step.value]] if isinstance(value, dict) and step.value in value else []
        case "index":
            index = int(step.value)
            return [value[index]] if isinstance(value, list) and -len(value) <= index < len(value) else []
        case "all":
            return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        case "filter" if isinstance(value, list):
            operator, left = step.path
            return [item for item in value if _equal(find(item, left), step.value) == (operator == "==")]
        case _:
            return []


def _equal(found: list[Any], wanted: str) -> bool:
    if not found:
        return False
    value = found[0]
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return text == wanted
