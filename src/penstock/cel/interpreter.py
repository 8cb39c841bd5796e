"""An expression as nested functions, made once and called with variables as often as needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cel import closures, conversions, functions
from penstock.cel.access import index, present, select
from penstock.cel.declarations import is_declared
from penstock.cel.errors import CelSyntaxError, Problem
from penstock.cel.syntax import Call, Ident, ListOf, Literal, Macro, MapOf, Message, Node, Select, qualified
from penstock.cel.values import NONE, TYPE_NAMES, Optional, TypeValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.cel.budget import Budget
    from penstock.cel.closures import Evaluate


class Planner:
    """Makes functions of the parts of one expression.

    `declared` says that the checker has seen it: a variable that is missing then is named without its fields.
    """

    def __init__(self, *, declared: bool) -> None:
        self._declared = declared
        self._local: tuple[str, ...] = ()

    def plan(self, node: Node, path: str = "") -> Evaluate:
        """`path` is what is looked up in the value, for the message about a variable that is missing."""
        match node:
            case Literal(value=value):
                return lambda _, __: value
            case Ident():
                return self._ident(node, path)
            case Select():
                return self._select(node, path)
            case Call():
                return self._call(node, path)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Macro():
                return self._macro(node)
            case Message():
                raise CelSyntaxError(f"failed to create CEL program: unknown type: {node.name}")

    def _ident(self, node: Ident, path: str) -> Evaluate:
        name = node.name.removeprefix(".")
        if name in self._local:
            return lambda variables, _: variables[name]
        missing = f"no such attribute(s): {name}{'' if self._declared else path}"
        kind = TypeValue(name) if name in TYPE_NAMES and not path else None

        def ident(variables: Mapping[str, Any], _: Budget) -> Any:
            if name in variables:
                return variables[name]
            if kind is not None:
                return kind
            raise Problem(missing)

        return ident

    def _select(self, node: Select, path: str) -> Evaluate:
        name = qualified(node)
        if name in TYPE_NAMES and not node.test:
            kind = TypeValue(name)
            return lambda _, __: kind
        field, optional = node.field, node.optional
        operand = self.plan(node.operand, f".{field}{path}")
        if node.test:
            return lambda variables, budget: present(operand(variables, budget), field)

        def selected(variables: Mapping[str, Any], budget: Budget) -> Any:
            budget.spend(1)
            return select(operand(variables, budget), field, optional=optional)

        return selected

    def _call(self, node: Call, path: str) -> Evaluate:
        name, target = node.function, node.target
        owner = qualified(target)
        if owner is not None and is_declared(f"{owner}.{name}"):
            name, target = f"{owner}.{name}", None
        if name in ("_&&_", "_||_"):
            return closures.junction([self.plan(one) for one in node.arguments], ends=name == "_||_")
        if name in ("_[_]", "_[?_]"):
            return self._index(node, path)
        name = name.removeprefix(".")
        arguments = [self.plan(one) for one in (node.arguments if target is None else (target, *node.arguments))]
        if name == "_?_:_":
            return closures.ternary(*arguments)
        if name in functions.COMPARISONS:
            return closures.comparison(functions.COMPARISONS[name], *arguments)
        if name in functions.OPERATORS:
            return closures.operation(name, *arguments)
        if name in ("!_", "-_"):
            return closures.sign(name, arguments[0])
        if name in ("or", "orValue") and target is not None and len(arguments) == 2:
            return closures.alternative(name, *arguments)
        _fold(name, node.arguments)
        return closures.function(name, arguments)

    def _index(self, node: Call, path: str) -> Evaluate:
        key_node = node.arguments[1]
        shown = f".{_plain(key_node.value)}" if isinstance(key_node, Literal) else ""
        holder = self.plan(node.arguments[0], f"{shown}{path}")
        key, optional = self.plan(key_node), node.function == "_[?_]"

        def indexed(variables: Mapping[str, Any], budget: Budget) -> Any:
            budget.spend(1)
            value = holder(variables, budget)
            if value is NONE:
                return NONE
            return index(value, key(variables, budget), optional=optional)

        return indexed

    def _list(self, node: ListOf) -> Evaluate:
        elements = [(self.plan(element), at in node.optional) for at, element in enumerate(node.elements)]

        def listed(variables: Mapping[str, Any], budget: Budget) -> list[Any]:
            budget.spend(len(elements) + 1)
            made: list[Any] = []
            for element, optional in elements:
                value = element(variables, budget)
                if optional:
                    if type(value) is not Optional:
                        raise Problem(f"cannot initialize optional list element from non-optional value {value}")
                    if not value.present:
                        continue
                    value = value.value
                made.append(value)
            return made

        return listed

    def _map(self, node: MapOf) -> Evaluate:
        entries = [(self.plan(key), self.plan(value), optional) for key, value, optional in node.entries]

        def mapped(variables: Mapping[str, Any], budget: Budget) -> dict[Any, Any]:
            budget.spend(len(entries) + 1)
            made: dict[Any, Any] = {}
            for key_of, value_of, optional in entries:
                key, value = key_of(variables, budget), value_of(variables, budget)
                if optional:
                    if type(value) is not Optional:
                        raise Problem(f"cannot initialize optional entry '{key}' from non-optional value {value}")
                    if not value.present:
                        continue
                    value = value.value
                try:
                    made[key] = value
                except TypeError:
                    raise Problem("unsupported key type") from None
            return made

        return mapped

    def _macro(self, node: Macro) -> Evaluate:
        source = self.plan(node.source)
        outer = self._local
        self._local = (*outer, node.variable)
        body = self.plan(node.body)
        condition = self.plan(node.condition) if node.condition is not None else None
        self._local = outer
        name, variable = node.name, node.variable
        if name in ("optMap", "optFlatMap"):
            return closures.optional_map(source, variable, body, flat=name == "optFlatMap")
        if name in ("all", "exists"):
            return closures.quantifier(source, variable, body, ends=name == "exists")
        if name == "exists_one":
            chosen = closures.collection(source, variable, body, None)
            return lambda variables, budget: len(chosen(variables, budget)) == 1
        if name == "filter":
            return closures.collection(source, variable, body, None)
        return closures.collection(source, variable, condition, body)


def _fold(name: str, arguments: tuple[Node, ...]) -> None:
    """What can be known to fail now is refused now: conversions of literals, and patterns."""
    last = arguments[-1] if arguments else None
    if not isinstance(last, Literal):
        return
    try:
        if name in conversions.NAMES and len(arguments) == 1:
            functions.call(name, [last.value])
        elif name == "matches" and type(last.value) is str:
            functions.pattern(last.value)
    except Problem as problem:
        raise CelSyntaxError(f"failed to create CEL program: {problem}") from None


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
