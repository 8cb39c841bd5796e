"""The parts that an expression is made of; each knows the offset at which cel-go would report it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    offset: int
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable, a type or the start of a qualified name; `name` may begin with a dot."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A field; `test` is the macro `has`, `optional` the form with `.?`."""

    offset: int
    operand: Node
    field: str
    test: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, an operator (`_+_`) or a method, which has a target."""

    offset: int
    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    offset: int
    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()
    """Indexes of elements that may be none."""


@dataclass(frozen=True, slots=True)
class MapOf:
    offset: int
    entries: tuple[tuple[Node, Node, bool], ...]
    """Key, value, and whether the value may be none."""


@dataclass(frozen=True, slots=True)
class Message:
    """A value of a named type; there are none that an expression could make here."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class Macro:
    """`all`, `exists`, `exists_one`, `filter`, `map`, `optMap` or `optFlatMap` over what `source` holds."""

    offset: int
    name: str
    source: Node
    variable: str
    body: Node
    condition: Node | None = None


Node = Literal | Ident | Select | Call | ListOf | MapOf | Message | Macro


def qualified(node: Node | None) -> str | None:
    """The dotted name that a chain of plain fields spells; None for anything else."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test and not node.optional:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name.removeprefix("."), *reversed(parts)])
