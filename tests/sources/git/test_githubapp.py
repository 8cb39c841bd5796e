"""Logging in as a GitHub App, at a stand-in for GitHub."""

from __future__ import annotations

import base64
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from penstock.sources import SourceError, Stalled
from penstock.sources.git import Address, Git, GitHubApp, GitRemote, Reference

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer

KEY = rsa.generate_private_key(65537, 2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


@dataclass
class GitHub:
    """Knows one App, installed at an organisation `acme` and at a user `ann`."""

    port: int = 0
    lifetime: float = 3600
    tokens: int = 0
    requests: list[str] = field(default_factory=list[str])

    @property
    def secret(self) -> dict[str, bytes]:
        address = f"http://127.0.0.1:{self.port}/api/v3/".encode()
        return {"githubAppID": b"42\n", "githubAppPrivateKey": PEM, "githubAppBaseURL": address}

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append(f"{request.method} {request.path}")
        claims = self._claims(request.headers["Authorization"].removeprefix("Bearer "))
        now = datetime.now(UTC).timestamp()
        assert claims["iss"] == "42"
        assert claims["exp"] - claims["iat"] == 120
        assert now - 35 < claims["iat"] <= now - 29
        installations = {"/api/v3/orgs/acme/installation": 7, "/api/v3/users/ann/installation": 8}
        if request.path in installations:
            return web.json_response({"id": installations[request.path]})
        if request.method == "POST" and request.path.endswith(("/7/access_tokens", "/8/access_tokens")):
            self.tokens += 1
            expires = datetime.fromtimestamp(now + self.lifetime, UTC).isoformat().replace("+00:00", "Z")
            return web.json_response({"token": f"ghs_{self.tokens}", "expires_at": expires}, status=201)
        raise web.HTTPNotFound

    def _claims(self, word: str) -> dict[str, Any]:
        head, body, signature = word.split(".")
        KEY.public_key().verify(decoded(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256())
        assert json.loads(decoded(head)) == {"alg": "RS256", "typ": "JWT"}
        claims: dict[str, Any] = json.loads(decoded(body))
        return claims


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@asynccontextmanager
async def standing_in() -> AsyncGenerator[GitHub]:
    github = GitHub()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", github.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    github.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    try:
        yield github
    finally:
        await runner.cleanup()


@pytest.fixture
async def github() -> AsyncGenerator[GitHub]:
    async with standing_in() as github:
        yield github


def remote(git: Git, server: GitServer, secret: dict[str, bytes]) -> GitRemote:
    app = GitHubApp.of_secret(secret)
    return GitRemote(git, Address.parse(server.url("app.git")), Reference(branch="main"), app)


@pytest.mark.parametrize(
    ("keys", "number", "asked"),
    [
        pytest.param({"githubAppInstallationID": b"7"}, 7, [], id="by number"),
        pytest.param({"githubAppInstallationOwner": b"acme"}, 7, ["orgs/acme"], id="by organisation"),
        pytest.param({"githubAppInstallationOwner": b"ann"}, 8, ["orgs/ann", "users/ann"], id="by user"),
    ],
)
@pytest.mark.scenario("sources-22")
async def test_token(
    git: Git, server: GitServer, repository: Repository, github: GitHub, into: Path, keys: dict[str, bytes],
    number: int, asked: list[str],
) -> None:  # fmt: skip
    commit = repository.commit({"a": "1"})
    server.allow_basic("x-access-token", "ghs_1")
    place = remote(git, server, {**github.secret, **keys})
    assert (await place.fetch(into)).revision == f"main@sha1:{commit}"
    installations = [f"GET /api/v3/{owner}/installation" for owner in asked]
    assert github.requests == [*installations, f"POST /api/v3/app/installations/{number}/access_tokens"]
    await place.resolve()
    assert github.tokens == 1  # it is kept


@pytest.mark.scenario("sources-22")
async def test_a_token_that_ends_soon_is_replaced(
    git: Git, server: GitServer, repository: Repository, github: GitHub
) -> None:
    repository.commit({"a": "1"})
    github.lifetime = 60
    place = remote(git, server, {**github.secret, "githubAppInstallationID": b"7"})
    await place.resolve()
    await place.resolve()
    assert github.tokens == 2


async def test_a_token_that_was_withdrawn_is_forgotten(
    git: Git, server: GitServer, repository: Repository, github: GitHub, tmp_path: Path
) -> None:
    repository.commit({"a": "1"})
    server.allow_basic("x-access-token", "ghs_2")
    place = remote(git, server, {**github.secret, "githubAppInstallationID": b"7"})
    with pytest.raises(SourceError, match="authentication required") as caught:
        await place.resolve()
    assert "ghs_1" not in str(caught.value)
    assert await place.resolve()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"githubAppID": b""}, "secretRef with github app data must be specified", id="no App"),
        pytest.param({"githubAppID": b"x"}, "app ID must be a number", id="an App that is no number"),
        pytest.param({"githubAppPrivateKey": b""}, "private key must be provided", id="no key"),
        pytest.param({"githubAppInstallationID": b""}, "owner or ID must be provided", id="no installation"),
        pytest.param({"githubAppInstallationOwner": b"acme"}, "only one of app installation owner or ID", id="both"),
        pytest.param({"githubAppInstallationID": b"../x"}, "ID must be a number", id="a path in place of a number"),
        pytest.param({"githubAppBaseURL": b"file:///x"}, "must be an http or https URL", id="a file"),
    ],
)
@pytest.mark.scenario("sources-22")
def test_secret_that_makes_no_sense(change: dict[str, bytes], words: str) -> None:
    secret = {"githubAppID": b"42", "githubAppPrivateKey": PEM, "githubAppInstallationID": b"7", **change}
    with pytest.raises(Stalled, match=words):
        GitHubApp.of_secret(secret)


async def test_a_key_that_is_none(git: Git, server: GitServer, github: GitHub) -> None:
    secret = {**github.secret, "githubAppInstallationID": b"7", "githubAppPrivateKey": b"s3cret nonsense"}
    with pytest.raises(Stalled, match="could not parse private key") as caught:
        await remote(git, server, secret).resolve()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("owner", [b"absent", b"../../app/installations/7/access_tokens?"])
async def test_an_owner_that_is_none(git: Git, server: GitServer, github: GitHub, owner: bytes) -> None:
    secret = {**github.secret, "githubAppInstallationOwner": owner}
    with pytest.raises(SourceError, match="GitHub answered 404") as caught:
        await remote(git, server, secret).resolve()
    assert caught.value.reason == "AuthenticationFailed"
    assert github.tokens == 0
