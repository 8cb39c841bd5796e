"""Types as the checker sees them: what an expression will be, before it is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Type:
    """A type with its parameters, such as `map(string, dyn)`."""

    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if not self.parameters:
            return _SHOWN.get(self.name, self.name)
        return f"{self.name}({', '.join(str(one) for one in self.parameters)})"

    @property
    def is_variable(self) -> bool:
        """Whether it stands for a type that is yet to be found."""
        return self.name.startswith("'")


# In messages; as a result type these have their long names.
_SHOWN = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "null_type": "null",
}

DYN = Type("dyn")
ERROR = Type("!error!")
NULL = Type("null_type")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
TIMESTAMP = Type("google.protobuf.Timestamp")
DURATION = Type("google.protobuf.Duration")
OBJECT = Type("map", (STRING, DYN))
"""What an object of Kubernetes is."""


_NULLABLE = frozenset({TIMESTAMP.name, DURATION.name, "optional_type"})


def list_of(element: Type) -> Type:
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", (value,))


class Bindings:
    """What the variables among types stand for, found while types are matched."""

    def __init__(self) -> None:
        self._found: dict[Type, Type] = {}
        self._fresh = 0

    def fresh(self) -> Type:
        """A variable that stands for nothing yet."""
        self._fresh += 1
        return Type(f"'{self._fresh}")

    def instance(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """The same types with fresh variables in place of their own."""
        names: dict[str, Type] = {}
        return tuple(self._renamed(one, names) for one in types)

    def known(self, kind: Type) -> Type:
        """The type with all that is known put in; what is not known stays a variable."""
        if kind.is_variable:
            found = self._found.get(kind)
            return kind if found is None else self.known(found)
        return Type(kind.name, tuple(self.known(one) for one in kind.parameters)) if kind.parameters else kind

    def resolved(self, kind: Type) -> Type:
        """The type with all that is known put in; what is not known is anything."""
        if kind.is_variable:
            known = self._found.get(kind)
            return DYN if known is None else self.resolved(known)
        return Type(kind.name, tuple(self.resolved(one) for one in kind.parameters)) if kind.parameters else kind

    def assignable(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        """Whether sources may stand where the targets are wanted; remembers what that says about variables."""
        before = dict(self._found)
        if all(self._assignable(*pair) for pair in zip(targets, sources, strict=True)):
            return True
        self._found = before
        return False

    def _assignable(self, target: Type, source: Type) -> bool:
        if target == source:
            return True
        if source.is_variable:
            return self._bind(source, target)
        if target.is_variable:
            return self._bind(target, source)
        if DYN in (target, source) or ERROR in (target, source):
            return True
        if NULL in (target, source):
            return (source if target == NULL else target).name in _NULLABLE
        if target.name != source.name or len(target.parameters) != len(source.parameters):
            return False
        if target.name == "type":
            return True
        return all(self._assignable(*pair) for pair in zip(target.parameters, source.parameters, strict=True))

    def _bind(self, variable: Type, other: Type) -> bool:
        known = self._found.get(variable)
        if known is None:
            if not self._occurs(variable, other):
                self._found[variable] = other
            return True
        if known == other:
            return True
        if not self._assignable(other, known):
            return False
        more_general = other if self._is_more_general(other, known) else known
        if not self._occurs(variable, more_general):
            self._found[variable] = more_general
        return True

    def _occurs(self, variable: Type, kind: Type) -> bool:
        if kind == variable:
            return True
        known = self._found.get(kind)
        if known is not None:
            return self._occurs(variable, known)
        return any(self._occurs(variable, one) for one in kind.parameters)

    def _is_more_general(self, one: Type, other: Type) -> bool:
        """Whether the first is equal to the second, or says less."""
        if one == DYN or one.is_variable:
            return True
        if other == DYN or other.is_variable or one.name != other.name:
            return False
        return all(self._is_more_general(*pair) for pair in zip(one.parameters, other.parameters, strict=True))

    def _renamed(self, kind: Type, names: dict[str, Type]) -> Type:
        if kind.is_variable:
            if kind.name not in names:
                names[kind.name] = self.fresh()
            return names[kind.name]
        return Type(kind.name, tuple(self._renamed(one, names) for one in kind.parameters)) if kind.parameters else kind


def long_name(kind: Type) -> str:
    """A type as the type of a result is told: in full."""
    if not kind.parameters:
        return kind.name
    return f"{kind.name}({', '.join(long_name(one) for one in kind.parameters)})"
