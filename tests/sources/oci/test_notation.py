"""Signatures by notation: a policy says whom to trust, and how strictly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from penstock.sources.oci.verification import Notation, VerificationFailed
from penstock.sources.oci.verification.notation import from_secret
from tests.sources.oci.images import image
from tests.sources.oci.signing import (
    START,
    Notary,
    attach,
    new_key,
)

OURS, THEIRS = new_key(), new_key()


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
