"""Is it rolled out? The rules for each kind, the user's own expressions, and the wait for both, by watch."""

from penstock.health.expressions import Check, Expression, Expressions, InvalidHealthExpression, Program
from penstock.health.lookout import Lookout, Sight, lookout
from penstock.health.rules import status_of
from penstock.health.status import Health, HealthStatus
from penstock.health.wait import HealthCheckFailed, wait

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
    "lookout",
    "status_of",
    "wait",
]
