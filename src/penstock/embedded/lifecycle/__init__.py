"""How objects come to an end, and what comes by itself.

Deletion with finalizers, grace and propagation; the garbage collector; namespaces that empty themselves before they
go; what a fresh server makes at its start, and what a controller-manager makes in every namespace. Everything follows
the changes of the store; nothing polls.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.embedded.lifecycle.admission import NamespaceLifecycle
from penstock.embedded.lifecycle.aggregation import Aggregator
from penstock.embedded.lifecycle.bootstrap import bootstrap
from penstock.embedded.lifecycle.collector import Collector
from penstock.embedded.lifecycle.deletion import Deletion
from penstock.embedded.lifecycle.furniture import Furnisher
from penstock.embedded.lifecycle.namespaces import NamespaceTerminator

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Api, Context, Plugins

__all__ = ["install"]


def install(plugins: Plugins, context: Context) -> None:
    """Give objects their life cycle."""
    api = context.api

    async def start(api: Api) -> None:
        await bootstrap(api, datetime.fromtimestamp(context.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    plugins.startup.append(start)
    plugins.deletion = Deletion()
    plugins.admission.append(NamespaceLifecycle(api))
    collector, terminator = Collector(api), NamespaceTerminator(api, context.now)
    plugins.observers += [collector, terminator]
    plugins.controllers += [
        collector.run,
        terminator.run,
        Furnisher(api, context.authority).run,
        Aggregator(api).run,
    ]
