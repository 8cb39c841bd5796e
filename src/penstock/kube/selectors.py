"""Label selectors: as text for a request, and as a question about labels that are at hand."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Requirement = Callable[[Mapping[str, Any]], bool]


class BadSelector(PenstockError):
    """A text that is no label selector."""


_KEY = r"(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9._-]{0,63}"
_CLAUSE = re.compile(
    rf"\s*(?:!\s*(?P<absent>{_KEY})"
    rf"|(?P<member>{_KEY})\s+(?P<set>in|notin)\s*\(\s*(?P<values>{_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)"
    rf"|(?P<key>{_KEY})\s*(?:(?P<operator>==|=|!=)\s*(?P<value>{_VALUE})|(?P<order>[<>])\s*(?P<bound>-?[0-9]{{1,18}}))?"
    r")\s*(?P<end>,(?!\s*\Z)|\Z)"
)


def matches(selector: str, labels: Mapping[str, Any]) -> bool:
    """Whether the labels satisfy a selector such as `app=web,tier in (a, b),!old`; an empty one takes everything."""
    return all(holds(labels) for holds in _requirements(selector))


def check(selector: str) -> None:
    """BadSelector when the text is no selector."""
    _requirements(selector)


def written(selector: Mapping[str, Any]) -> str:
    """A `matchLabels`/`matchExpressions` selector as the text that a request takes."""
    clauses = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or ():
        key, values = one.get("key", ""), ",".join(one.get("values") or ())
        match one.get("operator"):
            case "In":
                clauses.append(f"{key} in ({values})")
            case "NotIn":
                clauses.append(f"{key} notin ({values})")
            case "Exists":
                clauses.append(key)
            case "DoesNotExist":
                clauses.append(f"!{key}")
            case operator:
                raise BadSelector(f"{operator!r} is no operator of a label selector")
    return ",".join(clauses)


@lru_cache(maxsize=512)
def _requirements(selector: str) -> tuple[Requirement, ...]:
    return tuple(_parse(selector)) if selector.strip() else ()


def _parse(selector: str) -> Iterator[Requirement]:
    at = 0
    while at < len(selector):
        clause = _CLAUSE.match(selector, at)
        if clause is None:
            raise BadSelector(f"{selector!r} is not a label selector; an example is 'app=web,tier in (a, b),!old'")
        yield _requirement(clause)
        at = clause.end()


def _requirement(clause: re.Match[str]) -> Requirement:
    if absent := clause["absent"]:
        return lambda labels: absent not in labels
    if member := clause["member"]:
        values = {value.strip() for value in clause["values"].split(",")}
        inside = clause["set"] == "in"
        # What is not there is in no set.
        return lambda labels: (labels.get(member) in values) == inside
    key, operator, value = clause["key"], clause["operator"], clause["value"]
    if clause["order"]:
        bound, above = int(clause["bound"]), clause["order"] == ">"
        return lambda labels: _beyond(labels.get(key), bound, above=above)
    if operator is None:
        return lambda labels: key in labels
    return lambda labels: (labels.get(key) == value) == (operator != "!=")


def _beyond(value: Any, bound: int, *, above: bool) -> bool:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return False
    return number > bound if above else number < bound
