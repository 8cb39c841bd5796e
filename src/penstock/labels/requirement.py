"""One condition on one label, and whether labels meet all of several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Operator = Literal["in", "notin", "exists", "absent", "gt", "lt"]
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. What is not there is in no set, and neither above nor below a number."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, Any]) -> bool:
        match self.operator:
            case "in":
                return labels.get(self.key) in self.values
            case "notin":
                return labels.get(self.key) not in self.values
            case "exists":
                return self.key in labels
            case "absent":
                return self.key not in labels
            case "gt" | "lt":
                return self._compares(labels.get(self.key))

    def _compares(self, value: Any) -> bool:
        number = integer(value) if isinstance(value, str) else None
        bound = integer(next(iter(self.values)))
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "gt" else number < bound


Requirements = tuple[Requirement, ...]


def matches(requirements: Requirements, labels: Mapping[str, Any]) -> bool:
    """Whether the labels meet all requirements; none are met by everything."""
    return all(requirement.matches(labels) for requirement in requirements)


def integer(text: str) -> int | None:
    """A whole number of 64 bits, as Go reads it; Python alone would also take `1_000` and digits of other scripts."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
