"""Artifacts are exchanged with the real Flux, in both directions."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from penstock.api import crd, decode
from penstock.api.bucket import Bucket
from penstock.kube import WatchCache
from penstock.kube.resources import CONFIG_MAPS, SECRETS, Resource
from penstock.paths import pack
from penstock.runtime.health import Address
from penstock.sources.store import ArtifactFetcher, ArtifactServer, ArtifactStore, Scratch, Trees
from tests.controllers.sources.flux import MINUTES, flux, program
from tests.controllers.sources.running import running
from tests.controllers.sources.stand_in import Place, StandIn, spec, write
from tests.definitions import define
from tests.ports import free_port
from tests.waiting import following

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube.resources import Object
    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

pytestmark = [pytest.mark.real, pytest.mark.timeout(MINUTES * 60)]

KUSTOMIZATIONS = Resource("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization")
BUCKETS = Resource("source.toolkit.fluxcd.io", "v1", "buckets", "Bucket")
FILES = {
    "deploy/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-us\ndata:\n  number: 'NUMBER'\n",
    "deploy/kustomization.yaml": "resources: [config.yaml]\n",
    "README.md": "not applied\n",
}


def files(number: int) -> dict[str, str]:
    return {name: content.replace("NUMBER", str(number)) for name, content in FILES.items()}


@pytest.fixture(scope="module")
def kustomize_controller() -> Path:
    return program("kustomize-controller")


@pytest.fixture(scope="module")
def source_controller() -> Path:
    return program("source-controller")


async def test_the_real_kustomize_controller_applies_what_we_serve(
    kustomize_controller: Path, cluster: Cluster, tmp_path: Path, metrics: Metrics
) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(
        client,
        *(crd(kind) for kind in ("Kustomization", "GitRepository", "OCIRepository", "Bucket", "ExternalArtifact")),
    )
    store = ArtifactStore(tmp_path / "store", address="")
    place = Place(files=files(1))
    applied: WatchCache[Object] = WatchCache(client, CONFIG_MAPS, namespace=namespace)
    kustomizations: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)

    def number() -> str | None:
        return ((applied.get("from-us", namespace) or {}).get("data") or {}).get("number")

    async with ArtifactServer(store).serving(Address("127.0.0.1", 0)) as address:
        store.address = str(address)
        async with (
            running(cluster, StandIn(place), tmp_path, metrics, store=store) as sources,
            flux(kustomize_controller, cluster, tmp_path),
            following(applied) as until_applied,
            following(kustomizations) as until_ready,
        ):
            await sources.create("apps", spec())
            await sources.ready("apps")
            wanted = {
                "interval": "1h",
                "path": "./deploy",
                "prune": True,
                "targetNamespace": namespace,
                "sourceRef": {"kind": "GitRepository", "name": "apps"},
            }
            body = {"apiVersion": KUSTOMIZATIONS.api_version, "kind": "Kustomization", "metadata": {"name": "apps"}}
            await client.create(KUSTOMIZATIONS, {**body, "spec": wanted}, namespace=namespace)
            await until_applied(lambda: number() == "1", within=50)

            place.revision, place.files = "main@sha1:" + "2" * 40, files(2)
            await sources.asked("apps", "now")
            await until_applied(lambda: number() == "2", within=50)

            def revision() -> str | None:
                live = kustomizations.get("apps", namespace) or {}
                return (live.get("status") or {}).get("lastAppliedRevision")

            await until_ready(lambda: revision() == place.revision, within=50)
            await client.delete(KUSTOMIZATIONS, "apps", namespace)
            await until_ready(lambda: kustomizations.get("apps", namespace) is None, within=50)


async def test_we_read_what_the_real_source_controller_stores(
    source_controller: Path, cluster: Cluster, tmp_path: Path
) -> None:
    from moto.server import ThreadedMotoServer

    client, namespace = cluster.client, cluster.namespace
    kinds = ("GitRepository", "OCIRepository", "Bucket", "HelmRepository", "HelmChart", "ExternalArtifact")
    await define(client, *(crd(kind) for kind in kinds))
    s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    await asyncio.to_thread(s3.start)
    try:
        host, port = s3.get_host_and_port()
        await asyncio.to_thread(fill, f"http://{host}:{port}")
        keys = {name: base64.b64encode(b"testing").decode() for name in ("accesskey", "secretkey")}
        await client.create(SECRETS, {"metadata": {"name": "s3"}, "data": keys}, namespace=namespace)
        storage = free_port()
        flags = (
            f"--storage-path={tmp_path / 'flux'}",
            f"--storage-addr=127.0.0.1:{storage}",
            f"--storage-adv-addr=127.0.0.1:{storage}",
        )
        await asyncio.to_thread((tmp_path / "flux").mkdir)
        seen: WatchCache[Object] = WatchCache(client, BUCKETS, namespace=namespace)
        async with flux(source_controller, cluster, tmp_path, *flags), following(seen) as until:
            wanted = {
                "interval": "1h",
                "bucketName": "apps",
                "endpoint": f"{host}:{port}",
                "insecure": True,
                "secretRef": {"name": "s3"},
            }
            body = {"apiVersion": BUCKETS.api_version, "kind": "Bucket", "metadata": {"name": "apps"}, "spec": wanted}
            await client.create(BUCKETS, body, namespace=namespace)
            await until(lambda: "artifact" in ((seen.get("apps", namespace) or {}).get("status") or {}), within=50)
            artifact = decode(seen.get("apps", namespace) or {}, Bucket).status.artifact
            assert artifact is not None
            async with Scratch.below(tmp_path / "scratch") as scratch, ArtifactFetcher.open() as fetcher:
                async with Trees(scratch, fetcher).use(artifact) as tree:
                    assert {name: (tree / name).read_text() for name in FILES} == FILES
                theirs = tmp_path / "theirs"
                await fetcher.fetch(artifact, theirs)
            await asyncio.to_thread(write, tmp_path / "same", FILES)
            out = io.BytesIO()
            await asyncio.to_thread(pack, tmp_path / "same", out)
            assert entries(theirs.read_bytes()) == entries(out.getvalue())
            await client.delete(BUCKETS, "apps", namespace)
            await until(lambda: seen.get("apps", namespace) is None, within=50)
    finally:
        await asyncio.to_thread(s3.stop)


def fill(url: str) -> None:
    import boto3

    options = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "us-east-1"}
    s3 = boto3.client("s3", endpoint_url=url, **options)
    s3.create_bucket(Bucket="apps")
    for name, content in FILES.items():
        s3.put_object(Bucket="apps", Key=name, Body=content.encode())


def entries(archive: bytes) -> list[tuple[object, ...]]:
    """Everything that a tar header says, in the order of the archive."""
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as tar:
        return [
            (one.name, one.type, oct(one.mode), one.size, one.uid, one.gid, one.uname, one.gname, one.mtime)
            for one in tar
        ]
