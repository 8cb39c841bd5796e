"""What comes out of a text, and how much of it is taken in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Path = tuple[str, ...]
_NONE: Mapping[Path, Any] = MappingProxyType({})


class Limits(NamedTuple):
    """How much of a text is taken in before it is refused."""

    size: int = 64 << 20  # bytes of one file
    depth: int = 500
    nodes_from_aliases: int = 1_000_000


class Document(NamedTuple):
    """A parsed document, and what its values do not tell.

    `nulls` are the texts of the fields that are null: a strategic merge drops those left blank (`a:`), but
    not those set to `null`. None: all were left blank. `written` says that some value remembers its text (see
    `scalars`). `schemas` are OpenAPI schemas that stand as comments behind or above a field.
    """

    value: Any
    nulls: Mapping[Path, str] | None
    written: bool
    schemas: Mapping[Path, Any] = _NONE
