"""One of several replicas that share the ConfigMaps of a namespace; run as a process, so that it can be killed.

`python -m tests.runtime.replica KUBECONFIG NAMESPACE IDENTITY` writes its identity on every ConfigMap that is its own.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from penstock.kube import GroupKind, Membership, Object, WatchCache, connect, load
from penstock.kube.resources import CONFIG_MAPS
from penstock.runtime import Controller, Done, Manager, Metrics, Result, Run

LABEL = "tests.penstock.dev/shared"
OWNER = "tests.penstock.dev/owner"


async def main(kubeconfig: Path, namespace: str, identity: str) -> int:
    async with connect(load(kubeconfig)) as client:
        membership = Membership(client, group="tests", namespace=namespace, identity=identity)
        cache: WatchCache[Object] = WatchCache(client, CONFIG_MAPS, namespace=namespace, labels=LABEL)

        async def reconcile(run: Run) -> Result:
            body = {"metadata": {"annotations": {OWNER: identity}}}
            await client.patch(CONFIG_MAPS, run.key.name, run.key.namespace, body)
            return Done()

        metrics = Metrics()
        controller = Controller(
            GroupKind("", "ConfigMap"), reconcile, metrics=metrics, mine=lambda key: membership.mine(str(key))
        )
        controller.reconciles(cache, when=lambda change: change.type == "added")
        membership.subscribe(controller.rebalance)
        manager = Manager(metrics=metrics)
        manager.add_cache(cache)
        manager.add_service("membership", membership.run)
        manager.add_controller(controller)
        return await manager.run()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:])))
