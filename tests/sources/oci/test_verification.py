"""Signatures by cosign, with keys and without: whose they are, and what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.sources.oci.manifest import INDEX
from penstock.sources.oci.remote import OCIRemote
from penstock.sources.oci.verification import CosignKeys, Identity, Keyless, VerificationFailed
from tests.sources.oci.images import PLAIN, image
from tests.sources.oci.signing import (
    attach,
    new_key,
    public,
    sign_bundle,
    sign_legacy,
    simple_signing,
    statement,
)
from tests.sources.oci.stand_in import running

if TYPE_CHECKING:
    from pathlib import Path

OURS, THEIRS = new_key(), new_key()


def keys(*trusted: Any) -> CosignKeys:
    return CosignKeys({f"{number}.pub": public(key) for number, key in enumerate(trusted)}, origin="secret 'a/b'")


@pytest.mark.parametrize("sign", [sign_legacy, sign_bundle], ids=["cosign 2", "cosign 3"])
@pytest.mark.parametrize("kind", ["ecdsa", "rsa", "ed25519"])
async def test_a_signature_by_the_key_holds(sign: Any, kind: str) -> None:
    async with image() as (server, registry, digest):
        key = new_key(kind)
        sign(server, digest, key)
        assert await keys(key).verify(registry, digest)


@pytest.mark.parametrize("sign", [sign_legacy, sign_bundle], ids=["cosign 2", "cosign 3"])
async def test_one_of_several_keys_is_enough(sign: Any) -> None:
    """A41: while a key is rotated, both are there."""
    async with image() as (server, registry, digest):
        sign(server, digest, OURS)
        assert await keys(THEIRS, OURS).verify(registry, digest)


@pytest.mark.parametrize("sign", [sign_legacy, sign_bundle], ids=["cosign 2", "cosign 3"])
async def test_a_signature_by_another_key_does_not_count(sign: Any) -> None:
    """A41: nor one by a key that was rotated away."""
    async with image() as (server, registry, digest):
        sign(server, digest, THEIRS)
        with pytest.raises(VerificationFailed) as caught:
            await keys(OURS).verify(registry, digest)
        assert str(caught.value) == (
            "failed to verify the signature using provider 'cosign': no matching signatures were found for "
            f"'{registry.repository}@{digest}'"
        )
        assert (caught.value.reason, caught.value.condition) == ("VerificationError", "SourceVerified")


async def test_an_unsigned_image_is_refused() -> None:
    """A41"""
    async with image() as (_, registry, digest):
        with pytest.raises(VerificationFailed, match="no matching signatures"):
            await keys(OURS).verify(registry, digest)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(simple_signing("sha256:" + "0" * 64), id="over another image"),
        pytest.param(simple_signing("", "something else"), id="of another type"),
        pytest.param(b"{}", id="of nothing"),
        pytest.param(b"\xff", id="damaged"),
    ],
)
async def test_a_valid_signature_over_something_else_does_not_count(payload: bytes) -> None:
    async with image() as (server, registry, digest):
        sign_legacy(server, digest, OURS, payload)
        with pytest.raises(VerificationFailed):
            await keys(OURS).verify(registry, digest)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(statement("sha256:" + "0" * 64), id="over another image"),
        pytest.param(b'{"_type": "x", "subject": []}', id="of another type"),
        pytest.param(b"{}", id="of nothing"),
        pytest.param(b"\xff", id="damaged"),
    ],
)
async def test_a_valid_bundle_over_something_else_does_not_count(payload: bytes) -> None:
    async with image() as (server, registry, digest):
        sign_bundle(server, digest, OURS, payload)
        with pytest.raises(VerificationFailed):
            await keys(OURS).verify(registry, digest)


async def test_a_bundle_moved_to_another_image_does_not_count() -> None:
    async with image() as (server, registry, digest):
        sign_bundle(server, digest, OURS)
        other = server.image({"a": "evil"}, "other")
        content = next(blob for blob in server.blobs.values() if b"dsseEnvelope" in blob)
        attach(server, other, content)
        assert await keys(OURS).verify(registry, digest)
        with pytest.raises(VerificationFailed):
            await keys(OURS).verify(registry, other)


async def test_what_strangers_attach_hides_no_good_signature() -> None:
    async with image() as (server, registry, digest):
        attach(server, digest, b"damaged")
        sign_bundle(server, digest, THEIRS)
        sign_legacy(server, digest, OURS)
        assert await keys(OURS).verify(registry, digest)


async def test_a_signature_on_the_last_page_is_found() -> None:
    async with image() as (server, registry, digest):
        server.page = 2
        for number in range(5):
            attach(server, digest, b"%d" % number)
        sign_bundle(server, digest, OURS)
        assert len(await registry.referrers(digest)) == 6
        assert await keys(OURS).verify(registry, digest)


async def test_bundles_are_found_by_the_tag_of_older_registries() -> None:
    async with image() as (server, registry, digest):
        sign_bundle(server, digest, OURS)
        attached = [name for name, (content, _) in server.manifests["app"].items() if b"subject" in content]
        entry = {"mediaType": "m", "digest": attached[0], "size": 1, "artifactType": ""}
        server.put({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}, digest.replace(":", "-"))
        server.knows_referrers = False
        assert await keys(OURS).verify(registry, digest)


@pytest.mark.looptime
async def test_a_registry_in_trouble_is_no_proof() -> None:
    async with image() as (server, registry, digest):
        sign_bundle(server, digest, OURS)
        server.faults = [500] * 9
        with pytest.raises(VerificationFailed, match="500"):
            await keys(OURS).verify(registry, digest)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({"cosign.key": b"x"}, "none of its keys ends with '.pub'", id="no key"),
        pytest.param({"cosign.pub": b"hello"}, "'cosign.pub' of secret 'a/b' is not a public key", id="no PEM"),
    ],
)
def test_a_secret_without_a_key_is_refused(data: dict[str, bytes], told: str) -> None:
    with pytest.raises(VerificationFailed) as caught:
        CosignKeys(data, origin="secret 'a/b'")
    assert told in str(caught.value)


async def test_nothing_is_fetched_without_a_signature(tmp_path: Path) -> None:
    async with running() as server:
        digest = server.image({"a": "1"}, "latest")
        place = OCIRemote(server.url(), PLAIN, verifier=keys(OURS))
        with pytest.raises(VerificationFailed):
            await place.fetch(tmp_path)
        assert not any(path.startswith("/v2/app/blobs") for path in server.paths())
        sign_bundle(server, digest, OURS)
        assert (await place.fetch(tmp_path)).verified == f"verified signature of revision latest@{digest}"


async def test_keyless_an_unsigned_image_is_refused() -> None:
    async with image() as (server, registry, digest):
        verifier = Keyless([Identity("x", "y")], trusted_root=b"{}")
        with pytest.raises(VerificationFailed, match="no matching signatures were found"):
            await verifier.verify(registry, digest)
        sign_legacy(server, digest, OURS)  # by a key, which nobody asked for
        with pytest.raises(VerificationFailed, match="no matching signatures were found"):
            await verifier.verify(registry, digest)
