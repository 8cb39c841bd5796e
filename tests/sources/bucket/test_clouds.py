from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from aiohttp import web

from penstock.api.bucket import BucketSpec, SecurityTokenService
from penstock.api.durations import Duration
from penstock.api.references import LocalReference
from penstock.sources.bucket import BucketRemote, BucketSecrets
from penstock.sources.bucket.index import revision
from penstock.sources.bucket.logins import s3_keys
from penstock.sources.remote import SourceError, Stalled
from penstock.sources.sigv4 import Keys
from tests.sources.bucket.cloud_servers import ACCOUNT_KEY, KEY, Cloud, azure, google, knows_account_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

OBJECTS = {"a.yaml": b"1", "dir/": b"", "dir/b c+ü.yaml": b"2", "dir/d": b"3", "e": b"4", ".sourceignore": b"e\n"}


@asynccontextmanager
async def storage(provider: str) -> AsyncGenerator[tuple[Cloud, Callable[..., BucketRemote]]]:
    """A stand-in and what makes places in it."""
    async with google() if provider == "gcp" else azure() as cloud:
        cloud.objects = dict(OBJECTS)

        def place(name: str = "bucket", **more: Any) -> BucketRemote:
            account = {
                "type": "service_account",
                "client_email": "me@example.com",
                "private_key": KEY,
                "token_uri": f"http://{cloud.endpoint}/token",
            }
            data = {
                "gcp": {"serviceaccount": orjson.dumps(account)},
                "azure": {"accountKey": ACCOUNT_KEY.encode()},
            }
            endpoint = {"gcp": cloud.endpoint, "azure": f"http://{cloud.endpoint}/account"}
            spec: dict[str, Any] = {
                "bucket_name": name,
                "endpoint": endpoint[provider],
                "provider": provider,
                "interval": Duration.parse("1m"),
                "insecure": True,
            }
            return BucketRemote(BucketSpec(**spec), BucketSecrets(name="login", data=more.get("data", data[provider])))

        yield cloud, place


PROVIDERS = pytest.mark.parametrize("provider", ["gcp", "azure"])


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@PROVIDERS
async def test_what_a_bucket_holds_is_fetched(provider: str, tmp_path: Path) -> None:
    async with storage(provider) as (cloud, place):
        cloud.login = knows_account_key
        fetched = await place().fetch(tmp_path)
        wanted = {"a.yaml": b"1", "dir/b c+ü.yaml": b"2", "dir/d": b"3"}
        assert tree(tmp_path) == wanted
        assert fetched.revision == revision({key: cloud.etag(key) for key in wanted}) == await place().resolve()


@PROVIDERS
async def test_a_missing_bucket_is_told(provider: str) -> None:
    async with storage(provider) as (_, place):
        with pytest.raises(SourceError, match="bucket 'other' not found"):
            await place("other").resolve()


@PROVIDERS
@pytest.mark.parametrize("what", ["changed", "gone"])
async def test_what_happens_meanwhile(provider: str, what: str, tmp_path: Path) -> None:
    async with storage(provider) as (cloud, place):

        def meddle(key: str) -> None:
            if key == "dir/d" and what == "changed":
                cloud.objects[key] = b"new"
            elif key == "dir/d":
                cloud.objects.pop(key, None)

        remote = place()
        before = await remote.resolve()
        cloud.before_get = meddle
        fetched = await remote.fetch(tmp_path)
        assert tree(tmp_path).get("dir/d") == (b"new" if what == "changed" else None)
        assert fetched.revision != before
        assert fetched.revision == await place().resolve()


async def test_google_gets_a_signed_request_for_a_token() -> None:
    async with storage("gcp") as (cloud, place):
        await place().resolve()
        assert len(cloud.assertions) == 1
        assert cloud.assertions[0]["iss"] == "me@example.com"
        assert cloud.assertions[0]["scope"].endswith("devstorage.read_only")


async def test_google_without_a_usable_key() -> None:
    async with storage("gcp") as (_, place):
        account = {"type": "service_account", "client_email": "me", "private_key": "hunter2"}
        with pytest.raises(SourceError) as caught:
            await place(data={"serviceaccount": orjson.dumps(account)}).resolve()
        assert caught.value.reason == "AuthenticationFailed"
        assert "hunter2" not in str(caught.value)


async def test_azure_takes_a_signed_query_and_no_error_tells_it() -> None:
    async with storage("azure") as (cloud, place):
        cloud.login = lambda request: request.query.get("sig") == "s3cr3t"
        assert (
            await place(data={"sasKey": b"?sv=1&sig=s3cr3t"}).resolve()
            == await place(data={"sasKey": b"sv=1&sig=s3cr3t"}).resolve()
        )
        cloud.login = lambda request: False
        with pytest.raises(SourceError) as caught:
            await place(data={"sasKey": b"?sv=1&sig=s3cr3t"}).resolve()
        assert "AuthenticationFailed" in str(caught.value)
        assert "s3cr3t" not in str(caught.value)


async def test_azure_with_a_wrong_key() -> None:
    async with storage("azure") as (cloud, place):
        cloud.login = knows_account_key
        with pytest.raises(SourceError, match="failed to confirm existence"):
            await place(data={"accountKey": b"AAAA"}).resolve()
        with pytest.raises(SourceError, match="'accountKey' is not in base64"):
            await place(data={"accountKey": b"*"}).resolve()


def test_the_signature_of_azure_is_the_documented_one() -> None:
    """The layout that Microsoft documents for a listing, signed by hand."""
    import base64
    import hashlib
    import hmac

    from penstock.sources.bucket.azure import shared_key

    message = (
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n"
        "/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20"
    )
    expected = base64.b64encode(hmac.new(b"key", message.encode(), hashlib.sha256).digest()).decode()
    headers = {"x-ms-date": "Fri, 26 Jun 2015 23:39:12 GMT", "x-ms-version": "2015-02-21"}
    url = "https://myaccount.blob.core.windows.net/mycontainer?restype=container&comp=metadata&timeout=20"
    assert shared_key("GET", url, headers, "myaccount", b"key") == f"SharedKey myaccount:{expected}"


def with_sts(provider: str, sts: str, **more: Any) -> BucketSpec:
    service = SecurityTokenService(provider=sts, endpoint="http://127.0.0.1:1", **more)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    given: dict[str, Any] = {"bucket_name": "b", "endpoint": "h", "provider": provider, "sts": service}
    return BucketSpec(interval=Duration.parse("1m"), **given)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param(
            with_sts("aws", "ldap"), "STS provider 'ldap' is not supported for 'aws' bucket provider", id="aws+ldap"
        ),
        pytest.param(
            with_sts("generic", "aws"),
            "STS provider 'aws' is not supported for 'generic' bucket provider",
            id="generic+aws",
        ),
        pytest.param(
            with_sts("gcp", "aws"), "STS configuration is not supported for 'gcp' bucket provider", id="gcp+sts"
        ),
        pytest.param(
            with_sts("azure", "ldap"), "STS configuration is not supported for 'azure' bucket provider", id="azure+sts"
        ),
        pytest.param(
            with_sts("aws", "aws", secret_ref=LocalReference(name="x")),
            "spec.sts.secretRef is not required",
            id="aws with a Secret",
        ),
        pytest.param(
            with_sts("aws", "aws", cert_secret_ref=LocalReference(name="x")),
            "spec.sts.certSecretRef is not",
            id="aws with a certificate",
        ),
    ],
)
async def test_token_services_that_do_not_fit(spec: BucketSpec, told: str) -> None:
    with pytest.raises(Stalled) as caught:
        await BucketRemote(spec).resolve()
    assert caught.value.reason == "InvalidSTSConfiguration"
    assert told in str(caught.value)


@pytest.mark.parametrize("password", ["right", "wrong"])
async def test_a_directory_user_gets_keys(password: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        form = await request.post()
        assert form["Action"] == "AssumeRoleWithLDAPIdentity"
        if (form["LDAPUsername"], form["LDAPPassword"]) != ("me", "right"):
            return web.Response(status=403, text="<Error>" + str(form["LDAPPassword"]))
        keys = "<AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken>"
        name = "AssumeRoleWithLDAPIdentity"
        return web.Response(
            text=f'<{name}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{name}Result><Credentials>{keys}'
            f"</Credentials></{name}Result></{name}Response>"
        )

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    endpoint = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    service = SecurityTokenService(provider="ldap", endpoint=endpoint, secret_ref=LocalReference(name="user"))
    spec = BucketSpec(bucket_name="b", endpoint="h", interval=Duration.parse("1m"), sts=service)
    secrets = BucketSecrets(sts_name="user", sts={"username": b"me", "password": password.encode()})
    try:
        if password == "right":
            assert await s3_keys(spec, secrets) == Keys("a", "b", "c")
        else:
            with pytest.raises(SourceError) as caught:
                await s3_keys(spec, secrets)
            assert caught.value.reason == "AuthenticationFailed"
            assert "wrong" not in str(caught.value)
    finally:
        await runner.cleanup()


async def test_a_directory_user_without_a_password() -> None:
    spec = with_sts("generic", "ldap", secret_ref=LocalReference(name="user"))
    with pytest.raises(SourceError, match="invalid 'user' secret data for 'ldap' STS provider"):
        await BucketRemote(spec, BucketSecrets(sts_name="user", sts={"username": b"me"})).resolve()


@pytest.mark.parametrize("content", [b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', b"<x>", b"\xff"])
async def test_a_hostile_listing_is_refused(content: bytes) -> None:
    """A8"""
    async with storage("azure") as (cloud, place):
        cloud.login = knows_account_key

        async def answer(_: web.Request) -> web.Response:
            return web.Response(body=content)

        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        cloud.endpoint = f"127.0.0.1:{runner.addresses[0][1]}"
        try:
            async with asyncio.timeout(10):
                with pytest.raises(SourceError, match="storage's answer"):
                    await place().resolve()
        finally:
            await runner.cleanup()


@pytest.mark.parametrize("endpoint", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"])
async def test_a_link_local_endpoint_is_refused(endpoint: str) -> None:
    """A11"""
    spec = BucketSpec(bucket_name="b", endpoint=endpoint, interval=Duration.parse("1m"), insecure=True)
    with pytest.raises(SourceError, match="link-local"):
        await BucketRemote(spec).resolve()
