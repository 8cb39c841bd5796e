"""Label selectors as objects carry them: `matchLabels` and `matchExpressions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.labels.parsing import BadSelector
from penstock.labels.requirement import Operator, Requirement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OPERATORS: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}


class BadOperator(BadSelector):
    """An operator that no expression of a selector has."""


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a selector chooses these labels; an empty one chooses everything, one with an odd operator nothing."""
    try:
        return all(requirement.matches(labels) for requirement in _requirements(selector))
    except BadOperator:
        return False


def written(selector: Mapping[str, Any]) -> str:
    """A selector as the text that a request takes, in the order of its keys; BadOperator when it has no words."""
    clauses = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    clauses += [(one.get("key", ""), _clause(one)) for one in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(clauses, key=lambda clause: clause[0]))


def _clause(expression: Mapping[str, Any]) -> str:
    key: str = expression.get("key", "")
    match _operator(expression):
        case "exists":
            return key
        case "absent":
            return f"!{key}"
        case operator:
            return f"{key} {operator} ({','.join(sorted(expression.get('values') or ()))})"


def _requirements(selector: Mapping[str, Any]) -> Iterator[Requirement]:
    for key, value in (selector.get("matchLabels") or {}).items():
        yield Requirement(key, "in", frozenset((value,)))
    for one in selector.get("matchExpressions") or ():
        yield Requirement(one.get("key", ""), _operator(one), frozenset(one.get("values") or ()))


def _operator(expression: Mapping[str, Any]) -> Operator:
    named = str(expression.get("operator"))
    if named not in _OPERATORS:
        raise BadOperator(f"{named!r} is no operator of a label selector")
    return _OPERATORS[named]
