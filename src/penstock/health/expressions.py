"""What users say about the health of kinds that we know nothing of.

An expression comes compiled: who compiles it is not this folder's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import PenstockError, StageError
from penstock.health.status import Health, HealthStatus, current, failed, in_progress, part
from penstock.kube.resources import GroupKind, group_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.api.references import HealthExpression
    from penstock.kube import Object


class Program(Protocol):
    """A compiled expression."""

    def evaluate(self, variables: Mapping[str, Any], /) -> Any:
        """The value for these variables; a PenstockError tells why there is none."""


class InvalidHealthExpression(StageError):
    """A health check that no retry can mend: its expression makes no sense."""

    reason = "InvalidCELExpression"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as it was written, and its compiled form."""

    source: str
    program: Program

    def holds(self, obj: Object) -> bool:
        """Whether it is true of the object, whose top-level fields are the variables."""
        try:
            value = self.program.evaluate(obj)
        except PenstockError as error:
            told = str(error)
            if told.startswith("failed to evaluate"):
                raise
            raise PenstockError(f"failed to evaluate the CEL expression '{self.source}': {told}") from error
        if not isinstance(value, bool):
            raise PenstockError(f"failed to evaluate CEL expression as boolean: '{self.source}'")
        return value


@dataclass(frozen=True, slots=True)
class Check:
    """The expressions for one kind, or for a whole group when the kind is empty."""

    kind: GroupKind
    current: Expression
    failed: Expression | None = None
    in_progress: Expression | None = None

    def judge(self, obj: Object) -> Health:
        """Takes the place of every built-in rule, except that a generation must have been seen."""
        observed = part(obj, "status").get("observedGeneration")
        generation = part(obj, "metadata").get("generation")
        if isinstance(observed, int) and isinstance(generation, int) and observed != generation:
            return in_progress(f"generation is {generation}, the controller has seen {observed}")
        try:
            if self.in_progress and self.in_progress.holds(obj):
                return in_progress(f"'{self.in_progress.source}' is true")
            if self.failed and self.failed.holds(obj):
                return failed(f"'{self.failed.source}' is true")
            if self.current.holds(obj):
                return current(f"'{self.current.source}' is true")
        except PenstockError as error:
            return Health(HealthStatus.UNKNOWN, str(error))
        return in_progress(f"'{self.current.source}' is not true")


class Expressions:
    """All checks of a Kustomization, by kind."""

    def __init__(self, checks: Iterable[Check] = ()) -> None:
        self._checks = {check.kind: check for check in checks}

    def __bool__(self) -> bool:
        return bool(self._checks)

    def find(self, kind: GroupKind) -> Check | None:
        """The check for a kind; one that names the kind goes before one for its group."""
        return self._checks.get(kind) or self._checks.get(GroupKind(kind.group, ""))

    @classmethod
    def of(cls, spec: Iterable[HealthExpression], compiled: Callable[[str], Program]) -> Expressions:
        """Read `healthCheckExprs`; `compiled` raises a PenstockError for an expression that makes no sense."""
        found: dict[GroupKind, Check] = {}
        for number, one in enumerate(spec):
            check = _check(number, one, compiled)
            if check.kind in found:
                told = f"duplicate custom health check for GroupKind {check.kind} at healthchecks[{number}]"
                raise InvalidHealthExpression(told)
            found[check.kind] = check
        return cls(found.values())


def _check(number: int, spec: HealthExpression, compiled: Callable[[str], Program]) -> Check:
    def expression(field: str, source: str) -> Expression:
        try:
            return Expression(source, compiled(source))
        except PenstockError as error:
            raise InvalidHealthExpression(
                f"failed to create custom status evaluator for healthchecks[{number}]: "
                f"failed to parse the expression {field}: {error}"
            ) from error

    return Check(
        GroupKind(group_of(spec.api_version), spec.kind),
        current=expression("Current", spec.current),
        failed=expression("Failed", spec.failed) if spec.failed else None,
        in_progress=expression("InProgress", spec.in_progress) if spec.in_progress else None,
    )
