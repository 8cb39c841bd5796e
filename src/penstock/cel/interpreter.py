"""An expression as nested functions, made once and called with variables as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.cel import conversions, functions
from penstock.cel.access import index, iterated, present, select
from penstock.cel.budget import CHARACTERS, Budget
from penstock.cel.declarations import is_declared
from penstock.cel.errors import CelSyntaxError, CostExceeded, Problem
from penstock.cel.syntax import Call, Ident, ListOf, Literal, Macro, MapOf, Message, Node, Select, qualified
from penstock.cel.values import NO_OVERLOAD, NONE, TYPE_NAMES, Optional, TypeValue

Evaluate = Callable[[Mapping[str, Any], Budget], Any]
_SIZES = (list, dict, str, bytes)


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
            return self._joined(node.arguments, ends=name == "_||_")
        if name in ("_[_]", "_[?_]"):
            return self._index(node, path)
        name = name.removeprefix(".")
        arguments = [self.plan(one) for one in (node.arguments if target is None else (target, *node.arguments))]
        if name == "_?_:_":
            return _conditional(*arguments)
        if name in functions.COMPARISONS:
            return _compared(functions.COMPARISONS[name], *arguments)
        if name in functions.OPERATORS:
            return _operated(name, *arguments)
        if name in ("!_", "-_"):
            return _signed(name, arguments[0])
        if name in ("or", "orValue") and target is not None and len(arguments) == 2:
            return _alternative(name, *arguments)
        _fold(name, node.arguments)
        return _called(name, arguments)

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

    def _joined(self, nodes: tuple[Node, ...], *, ends: bool) -> Evaluate:
        """`&&` and `||`: a part that fails is forgiven when another one decides."""
        parts = [self.plan(node) for node in nodes]

        def joined(variables: Mapping[str, Any], budget: Budget) -> bool:
            problem: Problem | None = None
            for part in parts:
                budget.spend(1)
                try:
                    value = part(variables, budget)
                except CostExceeded:
                    raise
                except Problem as error:
                    problem = problem or error
                    continue
                if value is ends:
                    return bool(ends)
                if type(value) is not bool:
                    problem = problem or Problem(NO_OVERLOAD)
            if problem is not None:
                raise problem
            return not ends

        return joined

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
            return _mapped_optional(source, variable, body, flat=name == "optFlatMap")
        if name in ("all", "exists"):
            return _quantified(source, variable, body, ends=name == "exists")
        if name == "exists_one":
            chosen = _collected(source, variable, body, None)
            return lambda variables, budget: len(chosen(variables, budget)) == 1
        if name == "filter":
            return _collected(source, variable, body, None)
        return _collected(source, variable, condition, body)


def _conditional(condition: Evaluate, chosen: Evaluate, other: Evaluate) -> Evaluate:
    def conditional(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        value = condition(variables, budget)
        if type(value) is not bool:
            raise Problem(NO_OVERLOAD)
        return (chosen if value else other)(variables, budget)

    return conditional


def _compared(function: Callable[[Any, Any], bool], left: Evaluate, right: Evaluate) -> Evaluate:
    def compared(variables: Mapping[str, Any], budget: Budget) -> bool:
        budget.spend(1)
        one, other = left(variables, budget), right(variables, budget)
        if type(one) in _SIZES or type(other) in _SIZES:
            budget.weigh(one, other)
        return function(one, other)

    return compared


def _operated(name: str, left: Evaluate, right: Evaluate) -> Evaluate:
    def operated(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        one, other = left(variables, budget), right(variables, budget)
        made = functions.operate(name, one, other)
        if type(made) in _SIZES:
            budget.spend(len(made) if type(made) is list else len(made) // CHARACTERS)
        return made

    return operated


def _signed(name: str, operand: Evaluate) -> Evaluate:
    def signed(variables: Mapping[str, Any], budget: Budget) -> Any:
        value = operand(variables, budget)
        if name == "-_":
            return functions.negate(value)
        if type(value) is not bool:
            raise Problem(NO_OVERLOAD)
        return not value

    return signed


def _alternative(name: str, operand: Evaluate, other: Evaluate) -> Evaluate:
    """`or` and `orValue` look at the other one only when they need it."""

    def alternative(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        value = operand(variables, budget)
        if type(value) is not Optional:
            return value
        if value.present:
            return value if name == "or" else value.value
        return other(variables, budget)

    return alternative


def _called(name: str, arguments: list[Evaluate]) -> Evaluate:
    def called(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        values = [argument(variables, budget) for argument in arguments]
        budget.foresee(name, values)
        return functions.call(name, values)

    return called


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


def _mapped_optional(source: Evaluate, variable: str, body: Evaluate, *, flat: bool) -> Evaluate:
    def mapped(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        value = source(variables, budget)
        if type(value) is not Optional:
            raise functions.no_overload("hasValue", [value])
        if not value.present:
            return NONE
        made = body({**variables, variable: value.value}, budget)
        return made if flat else Optional(made, present=True)

    return mapped


def _quantified(source: Evaluate, variable: str, body: Evaluate, *, ends: bool) -> Evaluate:
    """`all` and `exists`: an element that fails is forgiven when another one decides."""

    def quantified(variables: Mapping[str, Any], budget: Budget) -> bool:
        inner = dict(variables)
        problem: Problem | None = None
        for item in iterated(source(variables, budget)):
            budget.spend(2)
            inner[variable] = item
            try:
                value = body(inner, budget)
            except CostExceeded:
                raise
            except Problem as error:
                problem = problem or error
                continue
            if value is ends:
                return bool(ends)
            if type(value) is not bool:
                problem = problem or Problem(NO_OVERLOAD)
        if problem is not None:
            raise problem
        return not ends

    return quantified


def _collected(source: Evaluate, variable: str, condition: Evaluate | None, body: Evaluate | None) -> Evaluate:
    """`filter` and `map`: the elements that a condition chooses, as they are or as what a body makes of them."""

    def collected(variables: Mapping[str, Any], budget: Budget) -> list[Any]:
        inner = dict(variables)
        made: list[Any] = []
        for item in iterated(source(variables, budget)):
            budget.spend(2)
            inner[variable] = item
            if condition is not None:
                chosen = condition(inner, budget)
                if type(chosen) is not bool:
                    raise Problem(NO_OVERLOAD)
                if not chosen:
                    continue
            made.append(item if body is None else body(inner, budget))
        return made

    return collected


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
