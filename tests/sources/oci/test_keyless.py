"""Signatures without keys, by a Sigstore of the test's own."""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from penstock.sources.oci import Connection, Registry, parse_repository
from penstock.sources.oci.verification import Identity, Keyless, VerificationFailed
from penstock.sources.oci.verification.keyless import PROVIDER, _Public
from tests.sources.oci.signing import attach, new_key, sign_bundle, simple_signing, statement
from tests.sources.oci.sigstore_authority import Sigstore
from tests.sources.oci.stand_in import StandIn, running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ISSUER = "https://token.actions.example.com"
SUBJECT = "https://github.example/org/app/.github/workflows/release.yaml@refs/heads/main"
OURS = Identity("^https://token\\.actions\\.example\\.com$", "^https://github\\.example/org/app.*$")


@pytest.fixture(scope="module")
def sigstore() -> Sigstore:
    # Imported here, outside an event loop: it reads files.
    for name in ("sigstore.verify", "sigstore.models"):
        importlib.import_module(name)
    return Sigstore()


@asynccontextmanager
async def image() -> AsyncGenerator[tuple[StandIn, Registry, str]]:
    connection = Connection(insecure=True)
    async with running() as server, Registry(parse_repository(server.url()), connection) as registry:
        yield server, registry, server.image({"a": "1"}, "latest")


@pytest.mark.parametrize(
    ("identities", "told"),
    [
        pytest.param([OURS], "", id="who was expected"),
        pytest.param([Identity("nobody", "nobody"), OURS], "", id="one of several"),
        pytest.param([], "", id="anybody"),
        pytest.param(
            [Identity(OURS.issuer, "^https://github.example/evil/")], "expected identities", id="another subject"
        ),
        pytest.param(
            [Identity("^https://accounts.example$", OURS.subject)], "expected identities", id="another issuer"
        ),
    ],
)
async def test_identities(sigstore: Sigstore, identities: list[Identity], told: str) -> None:
    async with image() as (server, registry, digest):
        attach(server, digest, sigstore.bundle(statement(digest), issuer=ISSUER, subject=SUBJECT))
        verifier = Keyless(identities, trusted_root=sigstore.trusted_root())
        if not told:
            assert await verifier.verify(registry, digest)
            return
        with pytest.raises(VerificationFailed) as caught:
            await verifier.verify(registry, digest)
        assert str(caught.value).startswith(f"failed to verify the signature using provider '{PROVIDER}': ")
        assert told in str(caught.value)


@asynccontextmanager
async def log_of_signatures(answer: object, status: int = 200) -> AsyncGenerator[str]:
    """A log that gives this answer; its address."""

    async def handle(request: web.Request) -> web.Response:
        assert request.path_qs == "/api/v1/log/entries?logIndex=0"
        return web.json_response(answer, status=status)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("over", "subject", "status", "told"),
    [
        pytest.param("it", SUBJECT, 200, "", id="who was expected"),
        pytest.param("it", "https://evil.example", 200, "expected identities", id="somebody else"),
        pytest.param("other", SUBJECT, 200, "over another image", id="over another image"),
        pytest.param("it", SUBJECT, 503, "answered with status 503", id="the log is down"),
    ],
)
async def test_signatures_of_cosign_2(sigstore: Sigstore, over: str, subject: str, status: int, told: str) -> None:
    """A41: when the log is down, nothing counts as signed."""
    async with image() as (server, registry, digest):
        payload = simple_signing(digest if over == "it" else "sha256:" + "0" * 64)
        annotations, answer = sigstore.legacy(payload, issuer=ISSUER, subject=subject)
        layer = server.layer(payload, "application/vnd.dev.cosign.simplesigning.v1+json", annotations=annotations)
        server.image({}, f"{digest.replace(':', '-')}.sig", layers=[layer])
        async with log_of_signatures(answer, status) as address:
            verifier = Keyless([OURS], trusted_root=sigstore.trusted_root(address))
            if not told:
                assert await verifier.verify(registry, digest)
                return
            with pytest.raises(VerificationFailed, match=told):
                await verifier.verify(registry, digest)


@pytest.mark.parametrize("what", ["another entry", "no entry", "damaged", "no promise"])
async def test_signatures_of_cosign_2_that_do_not_count(sigstore: Sigstore, what: str) -> None:
    async with image() as (server, registry, digest):
        payload = simple_signing(digest)
        annotations, answer = sigstore.legacy(payload, issuer=ISSUER, subject=SUBJECT)
        match what:
            case "another entry":
                _, answer = sigstore.legacy(simple_signing("other"), issuer=ISSUER, subject=SUBJECT)
            case "no entry":
                answer = {}
            case "damaged":
                answer = {"x": "y"}
            case _:
                del annotations["dev.sigstore.cosign/bundle"]
        layer = server.layer(payload, "application/vnd.dev.cosign.simplesigning.v1+json", annotations=annotations)
        server.image({}, f"{digest.replace(':', '-')}.sig", layers=[layer])
        async with log_of_signatures(answer) as address:
            with pytest.raises(VerificationFailed, match="no matching signatures: "):
                await Keyless([OURS], trusted_root=sigstore.trusted_root(address)).verify(registry, digest)


async def test_another_root_of_trust_is_no_proof(sigstore: Sigstore) -> None:
    async with image() as (server, registry, digest):
        attach(server, digest, sigstore.bundle(statement(digest), issuer=ISSUER, subject=SUBJECT))
        stranger = await asyncio.to_thread(Sigstore)
        with pytest.raises(VerificationFailed):
            await Keyless([OURS], trusted_root=stranger.trusted_root()).verify(registry, digest)


@pytest.mark.parametrize("what", ["another image", "not logged", "a key", "damaged"])
async def test_bundles_that_do_not_count(sigstore: Sigstore, what: str) -> None:
    async with image() as (server, registry, digest):
        other = "sha256:" + "0" * 64
        if what == "a key":
            sign_bundle(server, digest, new_key())
        else:
            payload = statement(other if what == "another image" else digest)
            content = sigstore.bundle(payload, issuer=ISSUER, subject=SUBJECT, logged=what != "not logged")
            attach(server, digest, b"{}" if what == "damaged" else content)
        with pytest.raises(VerificationFailed, match="no matching signatures"):
            await Keyless([OURS], trusted_root=sigstore.trusted_root()).verify(registry, digest)


async def test_a_damaged_root_of_trust_is_told(sigstore: Sigstore) -> None:
    async with image() as (server, registry, digest):
        attach(server, digest, sigstore.bundle(statement(digest), issuer=ISSUER, subject=SUBJECT))
        with pytest.raises(VerificationFailed, match="unable to parse trusted root"):
            await Keyless([OURS], trusted_root=b"{}").verify(registry, digest)


def test_a_pattern_that_is_none_is_told() -> None:
    with pytest.raises(VerificationFailed, match="is not a regular expression"):
        Keyless([Identity("(", "x")])


async def test_the_public_root_is_asked_once_and_not_at_once_again() -> None:
    """A41: while Sigstore is down nothing counts as signed, and nobody waits for it twice in a minute."""
    asked: list[int] = []

    def down() -> object:
        asked.append(1)
        raise OSError("no route")

    public = _Public(down)
    for _ in range(3):
        with pytest.raises(VerificationFailed, match="unable to initialize trusted root: OSError"):
            await public.get()
    assert len(asked) == 1

    def up() -> object:
        asked.append(1)
        return "verifier"

    working = _Public(up)
    assert [await working.get() for _ in range(3)] == ["verifier"] * 3
    assert len(asked) == 2
