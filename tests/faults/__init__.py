"""A bad network and a bad day of an API server, to order: a reverse proxy that breaks what passes through it.

    async with faulty(settings, answers(503, times=2)) as proxy, connect(proxy.settings) as client:
        await client.get(CONFIG_MAPS, "x", "default")  # the third try comes through
        assert proxy.count("GET") == 3

It stands before a real control plane, or before the tiny one of `tests.kube.apiserver`. Rules are put together
freely, added and taken away while it runs; each says which requests it strikes (`where`), from which on (`after`)
and how many (`times`). Without rules it only counts, which is what benchmarks use it for.
"""

from tests.faults.discovery import fails_group, omits_group, stales_group, without_aggregation
from tests.faults.proxy import Proxy, faulty
from tests.faults.rules import (
    ANYTHING,
    READS,
    WATCHES,
    WRITES,
    Call,
    Rule,
    Where,
    answers,
    cuts,
    garbles,
    hangs,
    resets,
)
from tests.faults.watches import (
    delays_events,
    drops_watches,
    expires_watches,
    garbles_events,
    reorders_events,
    repeats_events,
    replays_events,
    stalls_watches,
    swallows_bookmarks,
)

__all__ = [
    "ANYTHING",
    "READS",
    "WATCHES",
    "WRITES",
    "Call",
    "Proxy",
    "Rule",
    "Where",
    "answers",
    "cuts",
    "delays_events",
    "drops_watches",
    "expires_watches",
    "fails_group",
    "faulty",
    "garbles",
    "garbles_events",
    "hangs",
    "omits_group",
    "reorders_events",
    "repeats_events",
    "replays_events",
    "resets",
    "stales_group",
    "stalls_watches",
    "swallows_bookmarks",
    "without_aggregation",
]
