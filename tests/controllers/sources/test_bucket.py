"""Buckets on a cluster, with moto as their storage."""

from __future__ import annotations

import asyncio
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from penstock.controllers.sources.bucket import Buckets
from penstock.kube.errors import KubeError
from penstock.sources.bucket import BucketRemote
from penstock.sources.bucket.index import revision
from tests.controllers.sources.running import NEVER, running
from tests.controllers.sources.secrets import make_secret
from tests.sources.bucket.s3_server import LOGIN, S3, s3_server

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from penstock.kube.resources import Object
    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster


@pytest.fixture(scope="module")
def s3() -> Generator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture
def bucket(s3: S3, request: pytest.FixtureRequest) -> str:
    name = "bucket-" + str(abs(hash(request.node.name)))
    s3.make(name, {})
    return name


def spec(s3: S3, bucket: str, **more: object) -> Object:
    login = {"secretRef": {"name": "login"}}
    return {"bucketName": bucket, "endpoint": s3.endpoint, "interval": "1h", "insecure": True, **login, **more}


def files(folder: Path, status: Object) -> list[str]:
    with tarfile.open(folder / "store" / status["artifact"]["path"]) as archive:
        return [entry.name for entry in archive.getmembers() if entry.isfile()]


@pytest.mark.scenario("sources-35")
async def test_objects_are_stored(cluster: Cluster, tmp_path: Path, metrics: Metrics, s3: S3, bucket: str) -> None:
    async with running(cluster, Buckets(), tmp_path, metrics) as sources:
        s3.put(bucket, {".sourceignore": "*.md\n", "a.jpg": "1", "dir/b.yaml": "2", "c.md": "3", ".git/config": "4"})
        await make_secret(cluster, "login", LOGIN)
        await sources.create("files", spec(s3, bucket))
        status = await sources.ready("files")
        assert files(tmp_path, status) == [".git/config", "a.jpg", "dir/b.yaml"], "no defaults, no ignore file"
        found = status["artifact"]["revision"]
        assert status["artifact"]["path"].endswith(f"/files/{found.removeprefix('sha256:')}.tar.gz")
        assert sources.says("files", "Ready") == ("True", "Succeeded", f"stored artifact: revision '{found}'")
        assert [event.message for event in sources.heard.events] == [
            f"stored artifact with 3 fetched files from '{bucket}' bucket"
        ]
        await sources.patch("files", {"spec": {"ignore": "!c.md\na.jpg"}})
        await sources.until(lambda: sources.status("files")["artifact"]["revision"] != found)
        assert files(tmp_path, await sources.ready("files")) == [".git/config", "c.md", "dir/b.yaml"]
        same = await sources.asked("files", "now")
        assert len(sources.heard.events) == 2, "nothing new, nothing told"
        assert same["observedIgnore"] == "!c.md\na.jpg"


@pytest.mark.scenario("sources-36")
async def test_buckets_that_cannot_be_read(cluster: Cluster, tmp_path: Path, metrics: Metrics, s3: S3) -> None:
    async with running(cluster, Buckets(), tmp_path, metrics, backoff=NEVER) as sources:
        await make_secret(cluster, "login", LOGIN)
        await make_secret(cluster, "half", {"accesskey": b"x"})
        cases: dict[str, tuple[dict[str, Any], str, str]] = {
            "not-found": (
                {"bucketName": "no-such-bucket"},
                "BucketOperationFailed",
                "bucket 'no-such-bucket' not found",
            ),
            "no-secret": ({"secretRef": {"name": "gone"}}, "AuthenticationFailed", "failed to get secret"),
            "half": (
                {"secretRef": {"name": "half"}},
                "AuthenticationFailed",
                "required fields 'accesskey' and 'secretkey'",
            ),
        }
        for name, (more, reason, told) in cases.items():
            await sources.create(name, spec(s3, "any", **more))
            await sources.ready(name, "False")
            failed = sources.says(name, "FetchFailed")
            assert failed is not None
            assert failed[:2] == ("True", reason)
            assert told in failed[2]


@pytest.mark.scenario("sources-36")
@pytest.mark.parametrize(
    ("provider", "sts"),
    [
        pytest.param("aws", "ldap", id="aws and ldap"),
        pytest.param("generic", "aws", id="generic and aws"),
        pytest.param("gcp", "aws", id="gcp and any"),
    ],
)
async def test_token_services_that_do_not_fit(
    cluster: Cluster, tmp_path: Path, metrics: Metrics, s3: S3, provider: str, sts: str
) -> None:
    """The rules of the definition refuse them, and so does the controller where a cluster does not know rules."""
    async with running(cluster, Buckets(), tmp_path, metrics) as sources:
        more = {"provider": provider, "sts": {"provider": sts, "endpoint": "http://127.0.0.1:1"}, "secretRef": None}
        refusal = ""
        try:
            await sources.create("files", spec(s3, "any", **more))
        except KubeError as error:
            refusal = str(error)
        if refusal:
            assert "STS" in refusal
            return
        await sources.ready("files", "False")
        stalled = sources.says("files", "Stalled")
        assert stalled is not None
        assert stalled[:2] == ("True", "InvalidSTSConfiguration")


@pytest.mark.scenario("sources-36")
async def test_many_objects_at_a_time(cluster: Cluster, tmp_path: Path, metrics: Metrics, s3: S3, bucket: str) -> None:
    async with running(cluster, Buckets(), tmp_path, metrics) as sources:
        s3.put(bucket, {f"{number:03}": str(number) for number in range(150)})
        await make_secret(cluster, "login", LOGIN)
        await sources.create("files", spec(s3, bucket))
        assert len(files(tmp_path, await sources.ready("files"))) == 150


@pytest.mark.scenario("sources-37")
async def test_what_happens_during_a_fetch(
    cluster: Cluster, tmp_path: Path, metrics: Metrics, s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = BucketRemote.fetch

    async def meddled(self: BucketRemote, into: Path) -> Any:
        await self.resolve()
        await asyncio.to_thread(s3.put, bucket, {"changed": "new"})
        await asyncio.to_thread(s3.client.delete_object, Bucket=bucket, Key="deleted")
        return await fetch(self, into)

    monkeypatch.setattr(BucketRemote, "fetch", meddled)
    async with running(cluster, Buckets(), tmp_path, metrics) as sources:
        s3.put(bucket, {"changed": "old", "deleted": "x", "../../etc/x": "y", "kept": "z"})
        await make_secret(cluster, "login", LOGIN)
        await sources.create("files", spec(s3, bucket))
        status = await sources.ready("files")
        assert files(tmp_path, status) == ["changed", "etc/x", "kept"]
        found = s3.client.list_objects_v2(Bucket=bucket)["Contents"]
        assert status["artifact"]["revision"] == revision({one["Key"]: one["ETag"].strip('"') for one in found})


@pytest.mark.scenario("sources-38")
def test_the_order_of_a_listing_does_not_matter() -> None:
    assert revision({"a": "1", "b": "2"}) == revision({"b": "2", "a": "1"}) != revision({"a": "2", "b": "1"})
