"""The static type of an expression, and everything that cannot be right whatever the variables hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cel import types
from penstock.cel.declarations import is_declared, overloads
from penstock.cel.errors import Issue, refused
from penstock.cel.syntax import Call, Ident, ListOf, Literal, Macro, MapOf, Message, Node, Select, qualified
from penstock.cel.types import BOOL, DYN, Type
from penstock.cel.values import TYPE_NAMES, type_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_ERROR = types.ERROR  # goes with anything: what is wrong already is not found wrong again


def check(text: str, node: Node, variables: Collection[str]) -> Type:
    """The type of the expression, in which each variable is an object; CelSyntaxError shows all that is wrong."""
    checker = _Checker(dict.fromkeys(variables, types.OBJECT))
    kind = checker.type(node)
    if not checker.issues:
        checker.compare_elements()
    if checker.issues:
        raise refused(text, checker.issues)
    return checker.bindings.resolved(kind)


class _Checker:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.issues: list[Issue] = []
        self.bindings = types.Bindings()
        self._variables = dict(variables)
        self._literals: list[list[tuple[int, Type]]] = []
        self._exempt: set[int] = set()

    def type(self, node: Node) -> Type:
        match node:
            case Literal():
                return Type(type_name(node.value))
            case Ident():
                return self._ident(node.offset, node.name.removeprefix("."))
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Macro():
                return self._macro(node)
            case Message():
                return self._wrong(node.offset, f"undeclared reference to '{node.name}' (in container '')")

    def compare_elements(self) -> None:
        """All elements of a literal list or map are of one type, to the letter."""
        for elements in self._literals:
            resolved = [(offset, self.bindings.resolved(kind)) for offset, kind in elements]
            for offset, kind in resolved[1:]:
                if kind != resolved[0][1]:
                    self._wrong(offset, f"expected type '{resolved[0][1]}' but found '{kind}'")
                    break

    def _wrong(self, offset: int, message: str) -> Type:
        self.issues.append(Issue(offset, message))
        return _ERROR

    def _ident(self, offset: int, name: str) -> Type:
        kind = self._named(name)
        return kind or self._wrong(offset, f"undeclared reference to '{name}' (in container '')")

    def _named(self, name: str) -> Type | None:
        if name in self._variables:
            return self._variables[name]
        if name not in TYPE_NAMES:
            return None
        inner = {"list": types.list_of(DYN), "map": types.map_of(DYN, DYN), "optional_type": types.optional_of(DYN)}
        return types.type_of(inner.get(name, Type(name)))

    def _select(self, node: Select) -> Type:
        name = qualified(node)
        if name is not None and not node.test and (kind := self._named(name)) is not None:
            return kind
        operand = self.bindings.resolved(self.type(node.operand))
        optional = node.optional
        if operand.name == "optional_type":
            optional, operand = True, operand.parameters[0]
        if operand.name == "map":
            kind = operand.parameters[1]
        elif operand in (DYN, _ERROR):
            kind = DYN
        else:
            self._wrong(node.offset, f"type '{operand}' does not support field selection")
            kind = DYN
        if node.test:
            return BOOL
        return types.optional_of(kind) if optional else kind

    def _call(self, node: Call) -> Type:
        if node.function in ("_&&_", "_||_"):
            return self._joined(node)
        name, target = node.function, node.target
        owner = qualified(target)
        if owner is not None and is_declared(f"{owner}.{name}"):
            name, target = f"{owner}.{name}", None
        receiver = () if target is None else (self.type(target),)
        if name == "format" and len(node.arguments) == 1:
            self._exempt.add(id(node.arguments[0]))
        given = (*receiver, *(self.type(argument) for argument in node.arguments))
        if not is_declared(name.removeprefix(".")):
            return self._wrong(node.offset, f"undeclared reference to '{name}' (in container '')")
        return self._resolved(node.offset, name.removeprefix("."), given, method=target is not None)

    def _joined(self, node: Call) -> Type:
        kinds = [self._bool(argument) for argument in node.arguments]
        return BOOL if all(kind == BOOL for kind in kinds) else _ERROR

    def _bool(self, node: Node) -> Type:
        kind = self.type(node)
        if self.bindings.assignable((BOOL,), (kind,)):
            return BOOL
        return self._wrong(node.offset, f"expected type 'bool' but found '{self.bindings.resolved(kind)}'")

    def _chosen(self, offset: int, condition: Node, result: Type) -> Type:
        """The result of a macro that chooses elements by a condition."""
        kind = self.type(condition)
        if self.bindings.assignable((BOOL,), (kind,)):
            return result
        shown = f"({self.bindings.resolved(kind)}, {self.bindings.resolved(result)}, {self.bindings.resolved(result)})"
        self._wrong(offset, f"found no matching overload for '_?_:_' applied to '{shown}'")
        return result

    def _resolved(self, offset: int, name: str, given: tuple[Type, ...], *, method: bool) -> Type:
        result: Type | None = None
        for overload in overloads()[name]:
            if overload.method != method or len(overload.parameters) != len(given):
                continue
            *wanted, made = self.bindings.instance((*overload.parameters, overload.result))
            if not self.bindings.assignable(wanted, given):
                continue
            if result is None:
                result = self.bindings.known(made)
            elif result != self.bindings.known(made):
                result = DYN
        if result is not None:
            return result
        shown = [str(self.bindings.resolved(kind)) for kind in given]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if method else f"({', '.join(shown)})"
        return self._wrong(offset, f"found no matching overload for '{name}' applied to '{applied}'")

    def _list(self, node: ListOf) -> Type:
        found = [
            (element.offset, self._inner(element, optional=index in node.optional))
            for index, element in enumerate(node.elements)
        ]
        if id(node) not in self._exempt:
            self._literals.append(found)
        return types.list_of(self._common([kind for _, kind in found]))

    def _map(self, node: MapOf) -> Type:
        keys = [(key.offset, self.type(key)) for key, _, _ in node.entries]
        values = [(value.offset, self._inner(value, optional=maybe)) for _, value, maybe in node.entries]
        self._literals += [keys, values]
        return types.map_of(self._common([kind for _, kind in keys]), self._common([kind for _, kind in values]))

    def _inner(self, node: Node, *, optional: bool) -> Type:
        """The type of an element; of one that may be none, when it is not."""
        kind = self.type(node)
        resolved = self.bindings.resolved(kind)
        if not optional or resolved in (DYN, _ERROR):
            return kind
        if resolved.name == "optional_type":
            return resolved.parameters[0]
        self._wrong(node.offset, f"expected type '{types.optional_of(resolved)}' but found '{resolved}'")
        return kind

    def _common(self, kinds: list[Type]) -> Type:
        if not kinds:
            return self.bindings.fresh()
        common = kinds[0]
        for kind in kinds[1:]:
            if not self.bindings.assignable((common,), (kind,)) or self.bindings.resolved(kind) == DYN:
                common = DYN
        return common

    def _macro(self, node: Macro) -> Type:
        source = self.bindings.resolved(self.type(node.source))
        if node.name.startswith("opt"):
            return self._optional_macro(node, source)
        element = source.parameters[0] if source.name in ("list", "map") else DYN
        if source.name not in ("list", "map", "dyn", _ERROR.name):
            element = self._wrong(
                node.source.offset,
                f"expression of type '{source}' cannot be range of a comprehension (must be list, map, or dynamic)",
            )
        outer = self._variables
        self._variables = {**outer, node.variable: element}
        try:
            if node.name == "map":
                result = types.list_of(self.type(node.body))
                return result if node.condition is None else self._chosen(node.offset, node.condition, result)
            if node.name in ("filter", "exists_one"):
                result = self._chosen(
                    node.offset, node.body, types.list_of(element) if node.name == "filter" else types.INT
                )
                return result if node.name == "filter" else BOOL
            return self._bool(node.body)
        finally:
            self._variables = outer

    def _optional_macro(self, node: Macro, source: Type) -> Type:
        inner = source.parameters[0] if source.name == "optional_type" else DYN
        if source.name not in ("optional_type", "dyn", "null_type", _ERROR.name):
            self._wrong(node.offset, f"found no matching overload for 'hasValue' applied to '{source}.()'")
        outer = self._variables
        self._variables = {**outer, node.variable: inner}
        try:
            made = self.type(node.body)
        finally:
            self._variables = outer
        if node.name == "optMap":
            return types.optional_of(made)
        anything = types.optional_of(self.bindings.fresh())
        if not self.bindings.assignable((anything,), (made,)):
            shown = f"(bool, {self.bindings.resolved(made)}, {types.optional_of(DYN)})"
            self._wrong(node.offset, f"found no matching overload for '_?_:_' applied to '{shown}'")
        return made
