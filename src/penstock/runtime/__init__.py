"""What every controller needs: queue and runs, conditions and status, workers, metrics, logs, and a manager for it all.

Names are loaded when they are first used: a worker process lives in this package too, and must start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.runtime.controller import After, Again, Controller, Done, Result, Terminal
    from penstock.runtime.delays import Backoff, Jitter
    from penstock.runtime.fence import Fence, OwnershipLost
    from penstock.runtime.health import Address, Endpoints
    from penstock.runtime.line import Ask, Priority
    from penstock.runtime.manager import Manager
    from penstock.runtime.metrics import Metrics
    from penstock.runtime.ownwrites import OwnWrites
    from penstock.runtime.queue import Queue, QueueClosed
    from penstock.runtime.run import Run
    from penstock.runtime.status import Contention, StatusWriter
    from penstock.runtime.watchdog import Watchdog
    from penstock.runtime.workers import WorkerDied, WorkerError, WorkerMemory, WorkerPool, WorkerTimeout

__all__ = [
    "Address",
    "After",
    "Again",
    "Ask",
    "Backoff",
    "Contention",
    "Controller",
    "Done",
    "Endpoints",
    "Fence",
    "Jitter",
    "Manager",
    "Metrics",
    "OwnWrites",
    "OwnershipLost",
    "Priority",
    "Queue",
    "QueueClosed",
    "Result",
    "Run",
    "StatusWriter",
    "Terminal",
    "Watchdog",
    "WorkerDied",
    "WorkerError",
    "WorkerMemory",
    "WorkerPool",
    "WorkerTimeout",
]

_MODULES = {
    "controller": ("After", "Again", "Controller", "Done", "Result", "Terminal"),
    "delays": ("Backoff", "Jitter"),
    "fence": ("Fence", "OwnershipLost"),
    "health": ("Address", "Endpoints"),
    "line": ("Ask", "Priority"),
    "manager": ("Manager",),
    "metrics": ("Metrics",),
    "ownwrites": ("OwnWrites",),
    "queue": ("Queue", "QueueClosed"),
    "run": ("Run",),
    "status": ("Contention", "StatusWriter"),
    "watchdog": ("Watchdog",),
    "workers": ("WorkerDied", "WorkerError", "WorkerMemory", "WorkerPool", "WorkerTimeout"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
