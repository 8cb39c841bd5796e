"""An expression, ready to be evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cel import types
from penstock.cel.budget import LIMIT, Budget
from penstock.cel.checker import check
from penstock.cel.errors import CelRuntimeError, CelSyntaxError, Problem
from penstock.cel.interpreter import Planner
from penstock.cel.parser import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from penstock.cel.closures import Evaluate
    from penstock.cel.types import Type

_TYPES: dict[type, Type] = {bool: types.BOOL, str: types.STRING, int: types.INT}


class Program:
    """A compiled expression; it can be evaluated any number of times."""

    __slots__ = ("_evaluate", "_limit", "text")

    def __init__(self, text: str, evaluate: Evaluate, *, limit: int) -> None:
        self.text = text
        self._evaluate = evaluate
        self._limit = limit

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """What the expression comes to; CelRuntimeError when it has no value, or costs more than its limit."""
        try:
            return self._evaluate(variables, Budget(self._limit))
        except Problem as problem:
            why = str(problem)
        except RecursionError:
            why = "expression recursion limit exceeded"
        raise CelRuntimeError(f"failed to evaluate the CEL expression '{self.text}': {why}")

    def is_true(self, variables: Mapping[str, Any]) -> bool:
        """The same where nothing but true or false will do."""
        value = self.evaluate(variables)
        if type(value) is not bool:
            raise CelRuntimeError(f"failed to evaluate CEL expression as boolean: '{self.text}'")
        return value


def compile(  # noqa: A001  -- the word that everybody has for it
    expression: str, *, variables: Collection[str] | None = None, result: type | None = None, limit: int = LIMIT
) -> Program:
    """Read an expression; CelSyntaxError, in the words of cel-go, when it can never have a value.

    With `variables`, only these are there, each an object, and types are checked: with `result` (such as `bool`) the
    expression must be known to have that type, so a bare field is refused. Without, any name may turn out to be a
    variable, and the types of values count when it is evaluated. `limit` is what an evaluation may cost, in steps.
    """
    try:
        node = parse(expression)
        if variables is not None:
            _require(check(expression, node, variables), result)
        return Program(expression, Planner(declared=variables is not None).plan(node), limit=limit)
    except RecursionError:
        raise CelSyntaxError(
            f"failed to parse the CEL expression '{expression}': ERROR: <input>:-1:0: "
            "expression recursion limit exceeded"
        ) from None


def _require(found: Type, result: type | None) -> None:
    if result is not None and found != _TYPES[result]:
        raise CelSyntaxError(
            f"CEL expression output type mismatch: expected {_TYPES[result].name}, got {types.long_name(found)}"
        )
