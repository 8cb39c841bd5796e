from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from penstock.sources.oci.manifest import INDEX
from penstock.sources.oci.reference import parse_repository
from penstock.sources.oci.registry import Registry
from penstock.sources.oci.remote import OCIRemote
from penstock.sources.oci.transport import Connection
from penstock.sources.oci.verification import CosignKeys, Identity, Keyless, Notation, VerificationFailed
from penstock.sources.oci.verification.notation import from_secret
from tests.sources.oci.signing import (
    START,
    Notary,
    attach,
    new_key,
    public,
    sign_bundle,
    sign_legacy,
    simple_signing,
    statement,
)
from tests.sources.oci.stand_in import StandIn, running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

PLAIN = Connection(insecure=True)
OURS, THEIRS = new_key(), new_key()


@asynccontextmanager
async def image() -> AsyncGenerator[tuple[StandIn, Registry, str]]:
    async with running() as server, Registry(parse_repository(server.url()), PLAIN) as registry:
        yield server, registry, server.image({"a": "1"}, "latest")


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


def policy(level: str = "strict", **more: Any) -> bytes:
    statement = {
        "name": "one",
        "registryScopes": ["*"],
        "signatureVerification": {"level": level},
        "trustStores": ["ca:x"],
        "trustedIdentities": ["*"],
        **more,
    }
    return orjson.dumps({"version": "1.0", "trustPolicies": [statement]})


def notation(document: bytes, *notaries: Notary, now: datetime = START + timedelta(days=90)) -> Notation:
    data = {"trustpolicy.json": document, **{f"{n}.crt": one.authority for n, one in enumerate(notaries)}}
    made = from_secret(data, origin="secret 'a/b'")
    return Notation(made.policy, made.authorities, lambda: now)


async def test_notation_trusts_whom_the_policy_trusts() -> None:
    async with image() as (server, registry, digest):
        notary, other = Notary(), Notary()
        notary.sign(server, digest)
        assert await notation(policy(), notary).verify(registry, digest)
        assert await notation(policy(), other, notary).verify(registry, digest)
        with pytest.raises(VerificationFailed, match="not produced by a trusted signer"):
            await notation(policy(), other).verify(registry, digest)


async def test_notation_reads_cose() -> None:
    async with image() as (server, registry, digest):
        notary, other = Notary(), Notary()
        notary.sign_cose(server, digest, expiry=int((START + timedelta(days=365)).timestamp()))
        assert await notation(policy(), notary).verify(registry, digest)
        with pytest.raises(VerificationFailed, match="not produced by a trusted signer"):
            await notation(policy(), other).verify(registry, digest)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"expiry": int(START.timestamp())}, "expired on 2026-01-01", id="expired"),
        pytest.param({"crit": ["new"]}, "not supported: new", id="critical, unknown"),
        pytest.param({"alg": -8}, "algorithm '-8'", id="another algorithm"),
        pytest.param({"alg": -35}, "algorithm 'ES384'", id="an algorithm of another key"),
        pytest.param(
            {"payload": b'{"targetArtifact": {"digest": "x"}}'}, "does not fit its certificate", id="exchanged"
        ),
        pytest.param({"tag": 17}, "not a COSE message with one signature", id="another kind of message"),
        pytest.param({"content": b"\xd2\x84"}, "envelope is damaged", id="half a message"),
        pytest.param({"content": b"\x81" * 1000}, "envelope is damaged", id="a deep one"),
        pytest.param({"content": b"\xd2\x84\x40\xa0\x40\x40"}, "envelope is damaged", id="an empty one"),
    ],
)
async def test_notation_envelopes_in_cose_that_do_not_count(change: dict[str, Any], told: str) -> None:
    async with image() as (server, registry, digest):
        notary = Notary()
        notary.sign_cose(server, digest, **change)
        with pytest.raises(VerificationFailed) as caught:
            await notation(policy(), notary).verify(registry, digest)
        assert told in str(caught.value)


async def test_notation_knows_other_curves() -> None:
    async with image() as (server, registry, digest):
        notary = Notary(curve=ec.SECP384R1())
        notary.sign(server, digest, alg="ES384")
        assert await notation(policy(), notary).verify(registry, digest)


@pytest.mark.parametrize(
    ("identity", "trusted"),
    [
        pytest.param("x509.subject: C=US, ST=WA, O=Example", True, id="a part of the name"),
        pytest.param("x509.subject: C=US,ST=WA,O=Example,CN=signer", True, id="the whole name"),
        pytest.param("x509.subject: C=US, ST=WA, O=Other", False, id="another name"),
    ],
)
async def test_notation_identities(identity: str, trusted: bool) -> None:
    async with image() as (server, registry, digest):
        notary = Notary()
        notary.sign(server, digest)
        verifier = notation(policy(trustedIdentities=[identity]), notary)
        if trusted:
            assert await verifier.verify(registry, digest)
            return
        with pytest.raises(VerificationFailed, match="none of the trustedIdentities"):
            await verifier.verify(registry, digest)


@pytest.mark.parametrize(
    ("sign", "told"),
    [
        pytest.param({"expiry": "2026-02-02T00:00:00Z"}, "expired on 2026-02-02", id="expired"),
        pytest.param({"crit": ["io.cncf.notary.signingScheme", "new"]}, "not supported: new", id="critical, unknown"),
        pytest.param({"crit": []}, "does not mark its scheme", id="scheme not critical"),
        pytest.param({"alg": "none"}, "algorithm 'none'", id="no algorithm"),
        pytest.param({"alg": "ES384"}, "algorithm 'ES384'", id="another algorithm"),
        pytest.param({"media_type": "text/plain"}, "'text/plain' are not supported", id="another envelope"),
        pytest.param(
            {"io.cncf.notary.signingScheme": "notary.x509.signingAuthority"}, "is not supported", id="another scheme"
        ),
        pytest.param({"cty": "text/plain"}, "of the type 'text/plain'", id="another payload"),
    ],
)
async def test_notation_signatures_that_do_not_count(sign: dict[str, Any], told: str) -> None:
    async with image() as (server, registry, digest):
        notary = Notary()
        notary.sign(server, digest, **sign)
        with pytest.raises(VerificationFailed) as caught:
            await notation(policy(), notary).verify(registry, digest)
        assert told in str(caught.value)


@pytest.mark.parametrize(
    ("notary", "told"),
    [
        pytest.param(Notary(days=30), "not valid now", id="an expired certificate"),
        pytest.param(Notary(usage=ExtendedKeyUsageOID.SERVER_AUTH), "not for signing code", id="for a web server"),
        pytest.param(Notary(revocation=True), "revoked is not supported", id="with a revocation list"),
    ],
)
async def test_notation_certificates_that_do_not_count(notary: Notary, told: str) -> None:
    async with image() as (server, registry, digest):
        notary.sign(server, digest)
        with pytest.raises(VerificationFailed, match=told):
            await notation(policy(), notary).verify(registry, digest)


async def test_notation_chains_must_hold() -> None:
    async with image() as (server, registry, digest):
        notary, other = Notary(), Notary()
        notary.chain = [notary.chain[0], other.chain[1]]
        notary.sign(server, digest)
        with pytest.raises(VerificationFailed, match="no chain"):
            await notation(policy(), other).verify(registry, digest)


async def test_notation_a_signature_moved_to_another_image_does_not_count() -> None:
    async with image() as (server, registry, digest):
        notary = Notary()
        notary.sign(server, digest)
        other = server.image({"a": "evil"})
        content = next(blob for blob in server.blobs.values() if b"x5c" in blob)
        attach(server, other, content, "application/jose+json", "application/vnd.cncf.notary.signature")
        with pytest.raises(VerificationFailed, match="over another image"):
            await notation(policy(), notary).verify(registry, other)


@pytest.mark.parametrize(
    ("level", "more", "result"),
    [
        pytest.param("permissive", {}, True, id="permissive lets an expired certificate pass"),
        pytest.param("audit", {}, True, id="audit too"),
        pytest.param("skip", {"trustStores": [], "trustedIdentities": []}, False, id="skip does not look"),
        pytest.param(
            "strict",
            {"signatureVerification": {"level": "strict", "override": {"authenticTimestamp": "log"}}},
            True,
            id="strict with an exception",
        ),
    ],
)
async def test_notation_levels(level: str, more: dict[str, Any], result: bool) -> None:
    async with image() as (server, registry, digest):
        notary = Notary(days=30)
        notary.sign(server, digest)
        assert await notation(policy(level, **more), notary).verify(registry, digest) is result


async def test_notation_audit_does_not_vouch_for_a_stranger() -> None:
    async with image() as (server, registry, digest):
        notary, other = Notary(), Notary()
        notary.sign(server, digest)
        assert not await notation(policy("audit"), other).verify(registry, digest)


async def test_notation_an_unsigned_image_is_refused() -> None:
    async with image() as (_, registry, digest):
        with pytest.raises(VerificationFailed, match="no signature is associated"):
            await notation(policy(), Notary()).verify(registry, digest)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({"a.crt": b""}, "'trustpolicy.json' not found in secret 'a/b'", id="no policy"),
        pytest.param({"trustpolicy.json": b"{}"}, "no certificates found in secret 'a/b'", id="no certificate"),
        pytest.param({"trustpolicy.json": b"{}", "a.pem": b"x"}, "failed to parse certificate 'a.pem'", id="no PEM"),
    ],
)
def test_notation_secrets_that_cannot_be_used(data: dict[str, bytes], told: str) -> None:
    with pytest.raises(VerificationFailed) as caught:
        from_secret(data, origin="secret 'a/b'")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        pytest.param(b"{", "error occurred while parsing", id="no JSON"),
        pytest.param(b'{"version": "2.0", "trustPolicies": []}', "only 1.0 is known", id="another version"),
        pytest.param(b'{"version": "1.0", "trustPolicies": []}', "no statement for the repository", id="no statement"),
        pytest.param(policy(registryScopes=["h.io/app"]), "no statement for the repository", id="another scope"),
        pytest.param(policy(registryScopes=["*", "h.io/app"]), "beside others", id="all and one"),
        pytest.param(policy(registryScopes=[]), "no registryScopes", id="no scope"),
        pytest.param(policy("paranoid"), "unknown level 'paranoid'", id="another level"),
        pytest.param(policy(trustStores=[]), "needs trustStores", id="no trust store"),
        pytest.param(policy(trustedIdentities=["me"]), "does not begin with", id="another identity"),
        pytest.param(
            policy(trustedIdentities=["x509.subject: CN=a"]), "at least C, ST and O", id="too little of a name"
        ),
    ],
)
async def test_notation_policies_that_cannot_be_used(document: bytes, told: str) -> None:
    async with image() as (_, registry, digest):
        with pytest.raises(VerificationFailed) as caught:
            await notation(document, Notary()).verify(registry, digest)
        assert told in str(caught.value)


def test_the_clock_of_notation_is_the_real_one() -> None:
    made = from_secret({"trustpolicy.json": policy(), "a.crt": Notary().authority}, origin="")
    assert abs(made.now() - datetime.now(UTC)) < timedelta(minutes=1)
