"""Pinned through the whole process: the source moves on, collects its garbage, is killed, and the pin holds."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api import crd
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.controllers.pins import ANNOTATION
from penstock.kube import WatchCache
from penstock.kube.resources import CONFIG_MAPS
from tests.controllers.test_process import CONFIG, kustomization_object, repository_object, started, stopped
from tests.definitions import define, release
from tests.sources.git.repositories import Repository
from tests.sources.git.server import serving
from tests.waiting import following

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube import Client, Object
    from tests.clusters import Cluster

GIT = KINDS["GitRepository"]


async def annotate(client: Client, namespace: str, resource: Any, **annotations: str | None) -> None:
    names = {"asked": "reconcile.fluxcd.io/requestedAt", "pin": ANNOTATION}
    change = {"metadata": {"annotations": {names[key]: value for key, value in annotations.items()}}}
    await client.patch(resource, "app", namespace, change)


@pytest.mark.timeout(150)  # two processes are started one after the other, and each wait has its own bound
async def test_the_pin_holds(cluster: Cluster, tmp_path: Path) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(client, *(crd(kind) for kind in ("Kustomization", *KINDS)))
    repository = Repository(tmp_path / "served" / "app.git")
    zero, first = (
        f"main@sha1:{repository.commit({'config.yaml': CONFIG.replace('GREETING', word)}, word)}"
        for word in ("zero", "first")
    )
    configs: WatchCache[Object] = WatchCache(client, CONFIG_MAPS, namespace=namespace, fields="metadata.name=hello")
    kustomizations: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)
    gits: WatchCache[Object] = WatchCache(client, GIT, namespace=namespace)

    def greeting() -> str:
        found = configs.get("hello", namespace)
        return str(found["data"]["greeting"]) if found else ""

    def status(cache: WatchCache[Object]) -> Object:
        return (cache.get("app", namespace) or {}).get("status") or {}

    def is_pinned_to(revision: str) -> bool:
        ready = [one["message"] for one in status(kustomizations).get("conditions") or () if one["type"] == "Ready"]
        return ready == [f"Applied revision: {revision} (pinned)"]

    flags = (
        f"--watch-label-selector=test={namespace}",  # other tests share a real cluster
        "--artifact-retention-ttl=1ms",
        "--artifact-retention-records=1",
    )
    async with (
        serving(repository.path.parent) as server,
        following(configs) as until,
        following(kustomizations) as until_kustomized,
        following(gits) as until_fetched,
    ):
        process = await started(cluster, tmp_path, *flags)
        try:
            for resource, obj in (
                (GIT, repository_object(server.url("app.git"))),
                (KUSTOMIZATIONS, kustomization_object(namespace)),
            ):
                obj["metadata"] |= {"labels": {"test": namespace}}
                await client.create(resource, obj, namespace=namespace)
            await until(lambda: greeting() == "first", within=30)
            await annotate(client, namespace, KUSTOMIZATIONS, pin=first)
            await until_kustomized(lambda: is_pinned_to(first), within=30)

            second = repository.commit({"config.yaml": CONFIG.replace("GREETING", "second")}, "second")
            await annotate(client, namespace, GIT, asked="1")
            await until_fetched(lambda: second in status(gits)["artifact"]["revision"], within=30)
            await annotate(client, namespace, GIT, asked="2")  # this run collects the garbage
            await until_fetched(lambda: status(gits).get("lastHandledReconcileAt") == "2", within=30)
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.wait_for(process.wait(), 30)

        await client.delete(CONFIG_MAPS, "hello", namespace)
        await until(lambda: greeting() == "")
        process = await started(cluster, tmp_path, *flags)
        try:
            await until(lambda: greeting() == "first", within=30)
            await until_kustomized(lambda: is_pinned_to(first), within=30)

            await annotate(client, namespace, KUSTOMIZATIONS, pin=zero)  # never fetched: Git still has it
            await until(lambda: greeting() == "zero", within=30)
            await until_kustomized(lambda: is_pinned_to(zero), within=30)

            await annotate(client, namespace, KUSTOMIZATIONS, pin=None)
            await until(lambda: greeting() == "second", within=30)
        finally:
            await stopped(process)
    await release(client, namespace, KUSTOMIZATIONS, GIT)
