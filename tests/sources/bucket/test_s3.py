from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.api.bucket import BucketSpec
from penstock.api.durations import Duration
from penstock.sources.bucket import BucketRemote, BucketSecrets
from penstock.sources.bucket.index import revision
from penstock.sources.bucket.s3 import S3Client, signed_headers
from penstock.sources.remote import SourceError
from penstock.sources.sigv4 import Keys
from tests.sources.bucket.s3_server import LOGIN, S3, s3_server

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

SECRETS = BucketSecrets(name="login", data=LOGIN)


@pytest.fixture(scope="module")
def s3() -> Generator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture
def bucket(request: pytest.FixtureRequest) -> str:
    return "b" + hashlib.sha256(request.node.name.encode()).hexdigest()[:20]


def spec(s3: S3, bucket: str, **more: Any) -> BucketSpec:
    given: dict[str, Any] = {
        "bucket_name": bucket,
        "endpoint": s3.endpoint,
        "interval": Duration.parse("1m"),
        "insecure": True,
        **more,
    }
    return BucketSpec(**given)


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def etag(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


ODD = {"a.yaml": "1", "dir/b.yaml": "2", "dir/": "", "sp ace/ü%20+.yaml": "3", "x=y&z~'.yaml": "4"}


async def test_what_a_bucket_holds_is_fetched(s3: S3, bucket: str, tmp_path: Path) -> None:
    s3.make(bucket, ODD)
    place = BucketRemote(spec(s3, bucket), SECRETS)
    fetched = await place.fetch(tmp_path)
    files = {key: text for key, text in ODD.items() if key != "dir/"}
    assert tree(tmp_path) == files
    assert fetched.revision == revision({key: etag(text) for key, text in files.items()})
    assert fetched.revision == await BucketRemote(spec(s3, bucket), SECRETS).resolve()
    assert fetched.summary == f"with 4 fetched files from '{bucket}' bucket"


async def test_a_prefix_is_the_beginning_of_a_key(s3: S3, bucket: str, tmp_path: Path) -> None:
    s3.make(bucket, {"app-1/a": "1", "app-2/b": "2", "other/c": "3"})
    await BucketRemote(spec(s3, bucket, prefix="app-"), SECRETS).fetch(tmp_path)
    assert tree(tmp_path) == {"app-1/a": "1", "app-2/b": "2"}


@pytest.mark.parametrize(
    ("ignore", "expected"),
    [
        pytest.param("", {"a.jpg", "b.yaml", ".git/x"}, id="the file of the bucket counts, and no defaults"),
        pytest.param("*.jpg", {"b.yaml", ".git/x"}, id="the spec adds to it"),
        pytest.param("!c.md", {"a.jpg", "b.yaml", ".git/x", "c.md"}, id="and wins over it"),
    ],
)
async def test_ignore_rules(s3: S3, ignore: str, expected: set[str], tmp_path: Path, bucket: str) -> None:
    s3.make(bucket, {".sourceignore": "*.md\n", "a.jpg": "1", "b.yaml": "2", "c.md": "3", ".git/x": "4"})
    await BucketRemote(spec(s3, bucket, ignore=ignore), SECRETS).fetch(tmp_path)
    assert set(tree(tmp_path)) == expected


async def test_without_an_ignore_file_all_is_fetched(s3: S3, bucket: str, tmp_path: Path) -> None:
    s3.make(bucket, {"a.jpg": "1"})
    await BucketRemote(spec(s3, bucket), SECRETS).fetch(tmp_path)
    assert tree(tmp_path) == {"a.jpg": "1"}


async def test_pages(s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sources.bucket.s3.PAGE", 3)
    s3.make(bucket, {f"a key {number}": "" for number in range(8)})
    place = BucketRemote(spec(s3, bucket), SECRETS)
    assert await place.resolve() == revision({f"a key {number}": etag("") for number in range(8)})


async def test_a_missing_bucket_is_told(s3: S3, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        await BucketRemote(spec(s3, "no-such-bucket"), SECRETS).fetch(tmp_path)
    assert (str(caught.value), caught.value.reason) == ("bucket 'no-such-bucket' not found", "BucketOperationFailed")


@pytest.mark.looptime
async def test_an_unreachable_storage_is_told(tmp_path: Path) -> None:
    wanted = BucketSpec(bucket_name="b", endpoint="127.0.0.1:1", interval=Duration.parse("1m"), insecure=True)
    with pytest.raises(SourceError) as caught:
        await BucketRemote(wanted, SECRETS).fetch(tmp_path)
    assert "failed to confirm existence of 'b' bucket: HEAD http://127.0.0.1:1/b/: " in str(caught.value)
    assert caught.value.reason == "BucketOperationFailed"


@pytest.mark.parametrize(
    ("meddle", "expected"),
    [
        pytest.param(
            {"b": "changed"}, {"a": "1", "b": "changed", "c": "3"}, id="a changed object is taken as it is now"
        ),
        pytest.param({"b": None}, {"a": "1", "c": "3"}, id="a deleted object is left out"),
        pytest.param({"d": "new"}, {"a": "1", "b": "2", "c": "3"}, id="a new object waits for the next time"),
    ],
)
async def test_what_happens_meanwhile(
    s3: S3, meddle: dict[str, str | None], expected: dict[str, str], tmp_path: Path, bucket: str
) -> None:
    s3.make(bucket, {"a": "1", "b": "2", "c": "3"})
    place = BucketRemote(spec(s3, bucket), SECRETS)
    before = await place.resolve()
    for key, text in meddle.items():
        if text is None:
            s3.client.delete_object(Bucket=bucket, Key=key)
        else:
            s3.put(bucket, {key: text})
    fetched = await place.fetch(tmp_path)
    assert tree(tmp_path) == expected
    assert fetched.revision == revision({key: etag(text) for key, text in expected.items()})
    assert (fetched.revision == before) is ("d" in meddle)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        pytest.param("../../etc/x", "etc/x", id="a way up"),
        pytest.param("a/../../b", "b", id="a way up from below"),
        pytest.param("/etc/x", "etc/x", id="an absolute key"),
        pytest.param("a//b/./c", "a/b/c", id="empty parts and dots"),
    ],
)
async def test_odd_keys_stay_inside(s3: S3, key: str, path: str, tmp_path: Path, bucket: str) -> None:
    s3.make(bucket, {key: "x"})
    jail = tmp_path / "jail"
    await asyncio.to_thread(jail.mkdir)
    await BucketRemote(spec(s3, bucket), SECRETS).fetch(jail)
    assert tree(tmp_path) == {f"jail/{path}": "x"}


async def test_two_keys_of_one_path_are_refused(s3: S3, bucket: str, tmp_path: Path) -> None:
    s3.make(bucket, {"a/b": "1", "a//b": "2"})
    with pytest.raises(SourceError, match="another object has the same path"):
        await BucketRemote(spec(s3, bucket), SECRETS).fetch(tmp_path)


async def test_a_file_in_the_way_of_a_directory_is_told(s3: S3, bucket: str, tmp_path: Path) -> None:
    s3.make(bucket, {"a": "1", "a/b": "2"})
    with pytest.raises(SourceError, match="fetch from bucket"):
        await BucketRemote(spec(s3, bucket), SECRETS).fetch(tmp_path)


def test_the_order_of_a_listing_does_not_matter() -> None:
    forward, backward = {"a": "1", "b": "2", "ü": "3"}, {"ü": "3", "b": "2", "a": "1"}
    expected = hashlib.sha256("a 1\nb 2\nü 3\n".encode()).hexdigest()
    assert revision(forward) == revision(backward) == f"sha256:{expected}"


@pytest.mark.parametrize(
    ("url", "token"),
    [
        pytest.param("https://b.s3.amazonaws.com/", "", id="the bucket"),
        pytest.param("https://h.io:9000/b/sp%20ace/%C3%BC%2B.yaml", "", id="a key that is encoded"),
        pytest.param("https://h.io/b/?list-type=2&prefix=a%2Fb%20c&encoding-type=url", "", id="a listing"),
        pytest.param("https://h.io/b/x", "a session", id="with a session"),
    ],
)
def test_signatures_are_those_of_amazons_library(url: str, token: str) -> None:
    now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    ours = signed_headers("GET", url, keys=Keys("id", "secret", token), region="eu-west-1", now=now)
    theirs = AWSRequest("GET", url, headers={"x-amz-content-sha256": ours["x-amz-content-sha256"]})
    signer = SigV4Auth(Credentials("id", "secret", token or None), "s3", "eu-west-1")
    theirs.context["timestamp"] = ours["x-amz-date"]
    theirs.headers["X-Amz-Date"] = ours["x-amz-date"]
    if token:
        theirs.headers["X-Amz-Security-Token"] = token
    canonical = _canonical(signer, theirs)
    signed = signer.signature(signer.string_to_sign(theirs, canonical), theirs)
    assert f"Signature={signed}" in ours["Authorization"]


def _canonical(signer: SigV4Auth, request: AWSRequest) -> str:
    # The one for S3 does not encode the path a second time.
    signer._normalize_url_path = lambda path: path
    return str(signer.canonical_request(request))


@pytest.mark.parametrize(
    ("endpoint", "bucket", "base", "region"),
    [
        pytest.param("s3.amazonaws.com", "b", "https://b.s3.amazonaws.com", "us-east-1", id="Amazon"),
        pytest.param(
            "s3.eu-west-1.amazonaws.com", "b", "https://b.s3.eu-west-1.amazonaws.com", "eu-west-1", id="a region"
        ),
        pytest.param("s3.amazonaws.com", "b.c", "https://s3.amazonaws.com/b.c", "us-east-1", id="a dot in the bucket"),
        pytest.param("minio:9000", "b", "https://minio:9000/b", "us-east-1", id="another storage"),
    ],
)
def test_where_a_bucket_is(endpoint: str, bucket: str, base: str, region: str) -> None:
    client = S3Client(None, endpoint=endpoint, bucket=bucket, keys=Keys())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    assert (client._base, client._region) == (base, region)


async def test_a_public_bucket_needs_no_login(s3: S3, bucket: str, tmp_path: Path) -> None:
    s3.make(bucket, {})
    s3.client.put_object(Bucket=bucket, Key="a", Body=b"1", ACL="public-read")
    await BucketRemote(spec(s3, bucket)).fetch(tmp_path)
    assert tree(tmp_path) == {"a": "1"}


@pytest.mark.parametrize(
    ("more", "secrets", "reason", "told"),
    [
        pytest.param(
            {},
            {"data": {"accesskey": b"x"}},
            "AuthenticationFailed",
            "invalid 'login' secret data: required",
            id="half a key",
        ),
        pytest.param(
            {"provider": "gcp"},
            {"data": {}},
            "AuthenticationFailed",
            "required fields 'serviceaccount'",
            id="no account",
        ),
        pytest.param(
            {"provider": "gcp"},
            {"data": {"serviceaccount": b'{"type": "external_account"}'}},
            "AuthenticationFailed",
            "must be the key of a service account",
            id="a program instead of an account",
        ),
        pytest.param(
            {"provider": "azure"},
            {"data": {"x": b""}},
            "AuthenticationFailed",
            "requires a 'clientId'",
            id="no identity",
        ),
        pytest.param(
            {"endpoint": "https://me:hunter2@minio:9000"},
            {},
            "AuthenticationFailed",
            "the endpoint 'https://minio:9000' is not a host",
            id="an address as an endpoint",
        ),
        pytest.param(
            {"provider": "aws", "service_account_name": "sa"},
            {"data": None},
            "FeatureGateDisabled",
            "feature gate",
            id="identity of a service account",
        ),
    ],
)
async def test_logins_that_cannot_be_used(
    s3: S3, more: Mapping[str, Any], secrets: Mapping[str, Any], reason: str, told: str
) -> None:
    with pytest.raises(SourceError) as caught:
        await BucketRemote(spec(s3, "b", **more), replace(SECRETS, **secrets)).resolve()
    assert caught.value.reason == reason
    assert told in str(caught.value)
