"""Is it rolled out? The rules for each kind, the user's own expressions, and the wait for both, by watch."""

from penstock.health.expressions import Check, Expression, Expressions, InvalidHealthExpression, Program
from penstock.health.lookout import Lookout, Sight, open_lookout
from penstock.health.rules import status_of
from penstock.health.status import Health, HealthStatus
from penstock.health.waiting import HealthCheckFailed, vanishing, wait

__all__ = [
    "Check",
    "Expression",
    "Expressions",
    "Health",
    "HealthCheckFailed",
    "HealthStatus",
    "InvalidHealthExpression",
    "Lookout",
    "Program",
    "Sight",
    "open_lookout",
    "status_of",
    "vanishing",
    "wait",
]
