"""A Kubernetes API as seen by a fast asyncio controller.

`load` finds a cluster, `connect` opens it, `Client` has the verbs, `WatchCache` keeps what matters in memory.
Objects are plain dicts; what goes wrong is one of `penstock.kube.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.kube.cache import Change, WatchCache, wait_synced
    from penstock.kube.client import Client, Listing, connect
    from penstock.kube.config import load, load_hostile
    from penstock.kube.discovery import Discovery, Served
    from penstock.kube.events import Event, Recorder, reference
    from penstock.kube.identity import Identity
    from penstock.kube.leases import Lease, Terms
    from penstock.kube.limiter import Limiter
    from penstock.kube.membership import Membership
    from penstock.kube.resources import GroupKind, Object, ObjectRef, Resource
    from penstock.kube.settings import Settings
    from penstock.kube.transport import Request
    from penstock.kube.watch import WatchEvent

__all__ = [
    "Change",
    "Client",
    "Discovery",
    "Event",
    "GroupKind",
    "Identity",
    "Lease",
    "Limiter",
    "Listing",
    "Membership",
    "Object",
    "ObjectRef",
    "Recorder",
    "Request",
    "Resource",
    "Served",
    "Settings",
    "Terms",
    "WatchCache",
    "WatchEvent",
    "connect",
    "load",
    "load_hostile",
    "reference",
    "wait_synced",
]

_HOMES = {
    "Change": "penstock.kube.cache",
    "Client": "penstock.kube.client",
    "Discovery": "penstock.kube.discovery",
    "Event": "penstock.kube.events",
    "GroupKind": "penstock.kube.resources",
    "Identity": "penstock.kube.identity",
    "Lease": "penstock.kube.leases",
    "Limiter": "penstock.kube.limiter",
    "Listing": "penstock.kube.client",
    "Membership": "penstock.kube.membership",
    "Object": "penstock.kube.resources",
    "ObjectRef": "penstock.kube.resources",
    "Recorder": "penstock.kube.events",
    "Request": "penstock.kube.transport",
    "Resource": "penstock.kube.resources",
    "Served": "penstock.kube.discovery",
    "Settings": "penstock.kube.settings",
    "Terms": "penstock.kube.leases",
    "WatchCache": "penstock.kube.cache",
    "WatchEvent": "penstock.kube.watch",
    "connect": "penstock.kube.client",
    "load": "penstock.kube.config",
    "load_hostile": "penstock.kube.config",
    "reference": "penstock.kube.events",
    "wait_synced": "penstock.kube.cache",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for and no more: a command that reads one list needs no caches, leases and logs."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
