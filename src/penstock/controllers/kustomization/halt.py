"""How a run ends before its end: which condition shows it, whether an event tells it, and when the next run comes."""

from __future__ import annotations

from enum import Enum, auto

from penstock.errors import PenstockError


class Then(Enum):
    """When the next run comes."""

    RETRY = auto()
    """After the retry interval, which neither grows nor jitters."""
    DEPENDENCY = auto()
    """After the time that dependencies get, or when one of them changes."""
    BACKOFF = auto()
    """Through the backoff of the queue."""
    CHANGE = auto()
    """When something changes: only that can help."""


class Halt(PenstockError):
    """The run goes no further; one row of the failure table."""

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        then: Then = Then.RETRY,
        event: str | None = "",
        severity: str = "error",
        stalled: bool = False,
        observed: bool = False,
        attempted: bool = True,
    ) -> None:
        """`event` is what the event says: the message unless given, and None for no event at all.

        `observed` settles the generation although it failed: the spec itself is wrong. `attempted` says whether the
        event names the revision.
        """
        super().__init__(message)
        self.reason, self.then = reason, then
        self.event = message if event == "" else event
        self.severity = severity
        self.stalled, self.observed = stalled, observed
        self.attempted = attempted


def blocked(message: str) -> Halt:
    """The controller's flags forbid what the spec asks for."""
    return Halt("AccessDenied", message, then=Then.CHANGE, stalled=True, attempted=False)


def misconfigured(error: Exception, *, attempted: bool = False) -> Halt:
    """An expression of the spec cannot be compiled."""
    message = f"Reconciliation failed terminally due to configuration error: {error}"
    return Halt("InvalidCELExpression", message, then=Then.CHANGE, stalled=True, observed=True, attempted=attempted)


def gated(message: str) -> Halt:
    """The spec needs a feature that is off."""
    return Halt("FeatureGateDisabled", message, then=Then.CHANGE, stalled=True, attempted=False)
