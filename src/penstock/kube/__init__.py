"""A Kubernetes API as seen by a fast asyncio controller.

`load` finds a cluster, `connect` opens it, `Client` has the verbs, `WatchCache` keeps what matters in memory.
Objects are plain dicts; what goes wrong is one of `penstock.kube.errors`.
"""

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
