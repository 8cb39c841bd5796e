"""Calls that are no calls: `has(a.b)` asks for a field, `list.all(x, ...)` binds a name."""

from __future__ import annotations

from penstock.cel.syntax import Call, Ident, Macro, Node, Select

_QUANTIFIERS = frozenset({"all", "exists", "exists_one", "existsOne", "filter"})
_OPTIONAL = frozenset({"optMap", "optFlatMap"})


class Misused(Exception):
    """A macro with arguments that it cannot take; knows where."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def expanded(call: Call) -> Node:
    """What a call stands for; the call itself when it is no macro."""
    count = len(call.arguments)
    if call.target is None:
        return _has(call.arguments[0]) if call.function == "has" and count == 1 else call
    binds = call.function in _QUANTIFIERS or call.function in _OPTIONAL or call.function == "map"
    if binds and (count == 2 or (count == 3 and call.function == "map")):
        return _bound(call, call.target)
    return call


def _has(argument: Node) -> Node:
    if isinstance(argument, Select) and not argument.test and not argument.optional:
        return Select(argument.offset, argument.operand, argument.field, test=True)
    raise Misused(argument.offset, "invalid argument to has() macro")


def _bound(call: Call, target: Node) -> Node:
    variable, *rest = call.arguments
    if not isinstance(variable, Ident):
        raise Misused(variable.offset, _complaint(call.function))
    name = "exists_one" if call.function == "existsOne" else call.function
    return Macro(call.offset, name, target, variable.name, rest[-1], rest[0] if len(rest) == 2 else None)


def _complaint(name: str) -> str:
    if name in _OPTIONAL:
        return f"{name}() variable name must be a simple identifier"
    return "argument must be a simple name" if name in _QUANTIFIERS else "argument is not an identifier"
