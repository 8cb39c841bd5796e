"""The functions that the parts of an expression become; each gets the variables and the budget of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from penstock.cel import functions
from penstock.cel.access import iterated
from penstock.cel.budget import CHARACTERS, Budget
from penstock.cel.errors import CostExceeded, Problem
from penstock.cel.values import NO_OVERLOAD, NONE, Optional

Evaluate = Callable[[Mapping[str, Any], Budget], Any]
_SIZES = (list, dict, str, bytes)


def ternary(condition: Evaluate, chosen: Evaluate, other: Evaluate) -> Evaluate:
    def conditional(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        value = condition(variables, budget)
        if type(value) is not bool:
            raise Problem(NO_OVERLOAD)
        return (chosen if value else other)(variables, budget)

    return conditional


def comparison(function: Callable[[Any, Any], bool], left: Evaluate, right: Evaluate) -> Evaluate:
    def compared(variables: Mapping[str, Any], budget: Budget) -> bool:
        budget.spend(1)
        one, other = left(variables, budget), right(variables, budget)
        if type(one) in _SIZES or type(other) in _SIZES:
            budget.weigh(one, other)
        return function(one, other)

    return compared


def operation(name: str, left: Evaluate, right: Evaluate) -> Evaluate:
    def operated(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        one, other = left(variables, budget), right(variables, budget)
        made = functions.operate(name, one, other)
        if type(made) in _SIZES:
            budget.spend(len(made) if type(made) is list else len(made) // CHARACTERS)
        return made

    return operated


def sign(name: str, operand: Evaluate) -> Evaluate:
    def signed(variables: Mapping[str, Any], budget: Budget) -> Any:
        value = operand(variables, budget)
        if name == "-_":
            return functions.negate(value)
        if type(value) is not bool:
            raise Problem(NO_OVERLOAD)
        return not value

    return signed


def alternative(name: str, operand: Evaluate, other: Evaluate) -> Evaluate:
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


def function(name: str, arguments: list[Evaluate]) -> Evaluate:
    def called(variables: Mapping[str, Any], budget: Budget) -> Any:
        budget.spend(1)
        values = [argument(variables, budget) for argument in arguments]
        budget.foresee(name, values)
        return functions.call(name, values)

    return called


def optional_map(source: Evaluate, variable: str, body: Evaluate, *, flat: bool) -> Evaluate:
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


def quantifier(source: Evaluate, variable: str, body: Evaluate, *, ends: bool) -> Evaluate:
    """`all` and `exists`: an element that fails is forgiven when another one decides."""

    def quantified(variables: Mapping[str, Any], budget: Budget) -> bool:
        inner = dict(variables)

        def questions() -> Iterator[tuple[Evaluate, Mapping[str, Any]]]:
            for item in iterated(source(variables, budget)):
                budget.spend(2)
                inner[variable] = item
                yield body, inner

        return _decided(questions(), budget, ends=ends)

    return quantified


def collection(source: Evaluate, variable: str, condition: Evaluate | None, body: Evaluate | None) -> Evaluate:
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


def junction(parts: list[Evaluate], *, ends: bool) -> Evaluate:
    """`&&` and `||`: a part that fails is forgiven when another one decides."""

    def joined(variables: Mapping[str, Any], budget: Budget) -> bool:
        def questions() -> Iterator[tuple[Evaluate, Mapping[str, Any]]]:
            for part in parts:
                budget.spend(1)
                yield part, variables

        return _decided(questions(), budget, ends=ends)

    return joined


def _decided(questions: Iterable[tuple[Evaluate, Mapping[str, Any]]], budget: Budget, *, ends: bool) -> bool:
    """The first answer that ends it; the first failure only when none does."""
    problem: Problem | None = None
    for ask, variables in questions:
        try:
            value = ask(variables, budget)
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
