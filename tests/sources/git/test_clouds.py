"""Logging in to CodeCommit and Azure DevOps, which a proxy leads to a server of ours."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import trustme
from aiohttp import web
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from penstock.sources import SourceError, Stalled
from penstock.sources.git import Address, CloudLogin, Credentials, Git, GitRemote, Proxy, Reference
from penstock.sources.git.clouds import codecommit
from penstock.sources.sigv4 import Keys
from tests.sources.git.proxying import proxying
from tests.sources.git.server import serving

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.sources.git.clouds import Cloud
    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer

HOSTS = {"aws": "git-codecommit.eu-west-1.amazonaws.com", "azure": "dev.azure.com"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@asynccontextmanager
async def cloud(git: Git, root: Path, name: Cloud) -> AsyncGenerator[tuple[GitServer, GitRemote]]:
    """A server that the certificate of an authority of ours says to be the cloud's, and a repository there."""
    authority = await asyncio.to_thread(trustme.CA)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOSTS[name]).configure_cert(context)
    async with serving(root, tls=context) as server, proxying() as proxy:
        proxy.moved[f"{HOSTS[name]}:443"] = f"127.0.0.1:{server.port}"
        address = Address.parse(f"https://{HOSTS[name]}/app.git")
        login = CloudLogin(name, address, Credentials(authority=authority.cert_pem.bytes()))
        between = Proxy.of_secret({"address": f"http://127.0.0.1:{proxy.port}".encode()})
        yield server, GitRemote(git, address, Reference(branch="main"), login, between)


@pytest.mark.parametrize("session", [pytest.param("", id="keys"), pytest.param("a/b+c=", id="keys of a session")])
async def test_codecommit(
    git: Git, repository: Repository, into: Path, monkeypatch: pytest.MonkeyPatch, session: str
) -> None:
    commit = repository.commit({"a": "1"})
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", session)
    async with cloud(git, repository.path.parent, "aws") as (server, remote):
        assert (await remote.fetch(into)).revision == f"main@sha1:{commit}"
        sent = {headers["Authorization"] for headers in server.headers if "Authorization" in headers}
    assert len(sent) == 1, "one signature for all requests"
    assert "planted-secret" not in str(server.headers)


@pytest.mark.parametrize("session", ["", "a/b+c="])
def test_the_signature_is_that_of_the_sdk(session: str) -> None:
    address = Address.parse(f"https://{HOSTS['aws']}/v1/repos/my-app")
    user, password = codecommit(address, Keys("AKIDEXAMPLE", "secret", session), NOON)
    signer = SigV4Auth(BotoCredentials("AKIDEXAMPLE", "secret"), "codecommit", "eu-west-1")
    request = AWSRequest(method="GIT", url=address.url)
    request.context["timestamp"] = "20260101T120000"
    canonical = f"GIT\n/v1/repos/my-app\n\nhost:{HOSTS['aws']}\n\nhost\n"
    expected = signer.signature(signer.string_to_sign(request, canonical), request)
    assert (user, password) == (f"AKIDEXAMPLE%{session}" if session else "AKIDEXAMPLE", f"20260101T120000Z{expected}")


async def test_azure(git: Git, repository: Repository, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = repository.commit({"a": "1"})
    asked: list[str] = []

    async def metadata(request: web.Request) -> web.Response:
        asked.append(request.query["resource"])
        expires = int(datetime.now(UTC).timestamp()) + 3600
        return web.json_response({"access_token": "of-azure", "expires_on": str(expires), "resource": "x"})

    application = web.Application()
    application.router.add_get("/token", metadata)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    # As on a machine of Azure's app service.
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}/token")
    monkeypatch.setenv("IDENTITY_HEADER", "secret")
    try:
        async with cloud(git, repository.path.parent, "azure") as (server, remote):
            server.authorization.add("Bearer of-azure")
            assert (await remote.fetch(into)).revision == f"main@sha1:{commit}"
            await remote.resolve()
    finally:
        await runner.cleanup()
    assert asked == ["499b84ac-1321-427f-aa17-267ca6975798"], "the token is kept"


async def test_without_an_identity(git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    address = Address.parse(f"https://{HOSTS['aws']}/v1/repos/app")
    with pytest.raises(SourceError, match="there are no credentials for this process") as caught:
        await GitRemote(git, address, login=CloudLogin("aws", address)).resolve()
    assert caught.value.reason == "AuthenticationFailed"


@pytest.mark.parametrize(
    ("name", "url", "told"),
    [
        pytest.param("aws", f"http://{HOSTS['aws']}/a", "the provider 'aws' needs an https URL", id="in the clear"),
        pytest.param("azure", "ssh://git@dev.azure.com/a", "the provider 'azure' needs an https URL", id="over SSH"),
        pytest.param("aws", "https://git.example.com/a", "is not a host of CodeCommit", id="another host"),
        pytest.param("aws", f"https://{HOSTS['aws']}.evil.io/a", "is not a host of CodeCommit", id="one that looks so"),
        pytest.param("azure", "https://git.example.com/a", "is not a host of Azure DevOps", id="another than Azure's"),
    ],
)
def test_nobody_else_gets_our_login(name: Cloud, url: str, told: str) -> None:
    with pytest.raises(Stalled, match=told):
        CloudLogin(name, Address.parse(url))


def test_a_new_token_is_the_same_login() -> None:
    given = [Credentials(username=user, password=user, application="aws\n\n") for user in ("a", "b")]
    assert len({one.fingerprint for one in given}) == 1
    assert {repr(one) for one in given} == {"Credentials(...)"}
