"""How our resources are written down: one Struct a JSON object, one sentence a field.

Everything a CRD says stands in the Struct: types, patterns and lengths in msgspec's own words, and the few things
msgspec has no word for in the markers below. `penstock.api.structural` turns it into the schema.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final

import msgspec

from penstock.api.durations import Duration

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as JSON carries it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule that the API server checks, and what it says when the rule does not hold."""

    rule: str
    message: str


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An object of the wire: camelCase outside, unknown fields ignored, what is unset is not written."""

    RULES: ClassVar[tuple[Rule, ...]] = ()


@dataclass(frozen=True, slots=True)
class Marker:
    """A fact about a field that has a name and no value."""

    name: str


DEFAULTED: Final = Marker("defaulted")
"""The API server fills the field in with the Python default. Unmarked defaults are ours alone.

A default whose spelling matters (`60s` is `1m0s` in Go) is given by `about(also={"default": ...})` instead.
"""

REQUIRED: Final = Marker("required")
"""The schema lists the field as required although it has a default."""

Int64 = Annotated[int, msgspec.Meta(extra_json_schema={"format": "int64"})]

Generation = Annotated[int, msgspec.Meta(ge=0, extra_json_schema={"format": "int64"})]

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""An RFC 3339 time. Kubernetes keeps whole seconds: write `.replace(microsecond=0)`."""


def about(
    description: str,
    *,
    pattern: str | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    also: Object | None = None,
) -> msgspec.Meta:
    """What a field is for, in one sentence, and what its value must look like.

    `also` is put into the schema as it stands: list types, formats, the `x-kubernetes` words.
    """
    return msgspec.Meta(
        description=description,
        pattern=pattern,
        min_length=min_length,
        max_length=max_length,
        extra_json_schema=also,
    )


def encode(value: Any) -> Any:
    """A Struct as plain JSON values; fields that have their default are left out."""
    # Through the text, since to_builtins keeps tuples, and a tuple is not equal to the list the API sends back.
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_text))


def _text(value: object) -> str:
    if isinstance(value, Duration):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no form on the wire")
