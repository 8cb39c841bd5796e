"""One signature over some bytes, and what those bytes say: simple signing, DSSE envelopes and in-toto statements."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from penstock.sources.oci.verification.errors import NotSigned

if TYPE_CHECKING:
    from collections.abc import Sequence

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey

IN_TOTO = "application/vnd.in-toto+json"
_STATEMENTS = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
_SIMPLE_SIGNING = "cosign container image signature"
_SMALLEST_RSA = 2048


class _Image(msgspec.Struct, frozen=True, rename="kebab"):
    docker_manifest_digest: str


class _Critical(msgspec.Struct, frozen=True):
    image: _Image
    type: str


class _SimpleSigning(msgspec.Struct, frozen=True):
    critical: _Critical


class _Subject(msgspec.Struct, frozen=True):
    digest: dict[str, str] = msgspec.field(default_factory=dict)


class _Statement(msgspec.Struct, frozen=True):
    subject: tuple[_Subject, ...]
    type: str = msgspec.field(name="_type")


class EnvelopeSignature(msgspec.Struct, frozen=True):
    """One signature of an envelope."""

    sig: str


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """A DSSE envelope: a payload with its type, signed together."""

    payload: str
    payload_type: str
    signatures: tuple[EnvelopeSignature, ...]

    def content(self) -> bytes:
        return decode(self.payload)

    def signed(self) -> bytes:
        """The bytes that the signatures are over."""
        kind, payload = self.payload_type.encode(), self.content()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def load_key(pem: bytes) -> PublicKey:
    """A public key of a kind that cosign makes; ValueError for any other."""
    key = load_pem_public_key(pem)
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < _SMALLEST_RSA:
        raise ValueError(f"an RSA key of {key.key_size} bits is too small")
    if not isinstance(key, PublicKey):
        raise ValueError("only ECDSA, RSA and Ed25519 keys are known")  # noqa: TRY004 - it is the PEM that is wrong
    return key


def check(key: PublicKey, signature: bytes, content: bytes) -> None:
    """NotSigned unless this key signed these bytes."""
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, content, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, content, padding.PKCS1v15(), hashes.SHA256())
        else:
            key.verify(signature, content)
    except InvalidSignature:
        raise NotSigned("the signature is of another key, or over other bytes") from None


def check_any(keys: Sequence[PublicKey], signature: bytes, content: bytes) -> None:
    """NotSigned unless one of the keys signed these bytes."""
    for key in keys:
        try:
            return check(key, signature, content)
        except NotSigned:
            continue
    raise NotSigned("the signature is of none of the keys, or over other bytes")


def check_simple_signing(payload: bytes, digest: str) -> None:
    """NotSigned unless the payload of an old signature is about this image."""
    try:
        critical = msgspec.json.decode(payload, type=_SimpleSigning).critical
    except msgspec.MsgspecError as error:
        raise NotSigned("the payload of the signature is damaged") from error
    if critical.type != _SIMPLE_SIGNING:
        raise NotSigned(f"the payload is of the type '{critical.type}'")
    if critical.image.docker_manifest_digest != digest:
        raise NotSigned("the signature is over another image")


def check_statement(payload_type: str, payload: bytes, digest: str) -> None:
    """NotSigned unless a statement is about this image; what else it says is not looked at, as in Flux."""
    if payload_type != IN_TOTO:
        raise NotSigned(f"the payload is of the type '{payload_type}'")
    try:
        statement = msgspec.json.decode(payload, type=_Statement)
    except msgspec.MsgspecError as error:
        raise NotSigned("the statement of the signature is damaged") from error
    algorithm, _, value = digest.partition(":")
    if statement.type not in _STATEMENTS:
        raise NotSigned(f"the statement is of the type '{statement.type}'")
    if not any(subject.digest.get(algorithm) == value for subject in statement.subject):
        raise NotSigned("the signature is over another image")


def decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotSigned("the signature is not in base64") from None
