"""Notary's signature envelope in JSON: a JWS with the certificates of the signer."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from penstock.sources.oci.verification.errors import NotSigned

if TYPE_CHECKING:
    from collections.abc import Sequence

PAYLOAD = "application/vnd.cncf.notary.payload.v1+json"
SCHEME = "io.cncf.notary.signingScheme"
EXPIRY = "io.cncf.notary.expiry"
_KNOWN_SCHEME = "notary.x509"
_UNDERSTOOD = frozenset((SCHEME, EXPIRY))
_MOST_CERTIFICATES = 16

_RSA = {2048: ("PS256", hashes.SHA256), 3072: ("PS384", hashes.SHA384), 4096: ("PS512", hashes.SHA512)}
_EC = {256: ("ES256", hashes.SHA256), 384: ("ES384", hashes.SHA384), 521: ("ES512", hashes.SHA512)}


@dataclass(frozen=True, slots=True)
class Signed:
    """What a valid envelope says, and by which certificates; whether those are trusted is another question."""

    digest: str
    expiry: datetime | None
    chain: tuple[x509.Certificate, ...]
    """The signer's first, then its issuers."""


class _Header(msgspec.Struct, frozen=True):
    x5c: tuple[str, ...]


class _Envelope(msgspec.Struct, frozen=True):
    payload: str
    protected: str
    header: _Header
    signature: str


class Protected(msgspec.Struct, frozen=True):
    """What the signer has signed besides the payload."""

    alg: str
    cty: str
    crit: tuple[str, ...]
    scheme: str = msgspec.field(name=SCHEME)
    expiry: datetime | None = msgspec.field(name=EXPIRY, default=None)


class _Target(msgspec.Struct, frozen=True):
    digest: str


class _Payload(msgspec.Struct, frozen=True, rename="camel"):
    target_artifact: _Target


def read(content: bytes) -> Signed:
    """The envelope, if its signature fits its first certificate; NotSigned otherwise."""
    try:
        envelope = msgspec.json.decode(content, type=_Envelope)
        protected = msgspec.json.decode(_url(envelope.protected), type=Protected)
        chain = certificates([base64.b64decode(text, validate=True) for text in envelope.header.x5c])
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise NotSigned("the signature envelope is damaged") from error
    understand(protected)
    check_signature(
        chain[0], protected.alg, f"{envelope.protected}.{envelope.payload}".encode(), _url(envelope.signature)
    )
    return Signed(target(_url(envelope.payload)), protected.expiry, chain)


def target(payload: bytes) -> str:
    """The digest of the image that a payload is about."""
    try:
        return msgspec.json.decode(payload, type=_Payload).target_artifact.digest
    except msgspec.MsgspecError as error:
        raise NotSigned("the payload of the signature is damaged") from error


def understand(protected: Protected) -> None:
    """What the signer marked as critical must be understood, or the signature does not count."""
    if protected.cty != PAYLOAD:
        raise NotSigned(f"the payload is of the type '{protected.cty}'")
    if protected.scheme != _KNOWN_SCHEME:
        raise NotSigned(f"the signing scheme '{protected.scheme}' is not supported, only '{_KNOWN_SCHEME}' is")
    if unknown := set(protected.crit) - _UNDERSTOOD:
        raise NotSigned(f"the signature needs what is not supported: {', '.join(sorted(unknown))}")
    if SCHEME not in protected.crit or (protected.expiry and EXPIRY not in protected.crit):
        raise NotSigned("the signature does not mark its scheme and expiry as critical")
    if protected.expiry and protected.expiry.tzinfo is None:
        raise NotSigned("the expiry of the signature has no time zone")


def check_signature(certificate: x509.Certificate, algorithm: str, content: bytes, signature: bytes) -> None:
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        name, kind = _RSA.get(key.key_size, ("", hashes.SHA256))
    elif isinstance(key, ec.EllipticCurvePublicKey):
        name, kind = _EC.get(key.key_size, ("", hashes.SHA256))
    else:
        name, kind = "", hashes.SHA256
    if not name or name != algorithm:
        raise NotSigned(f"the algorithm '{algorithm}' does not fit the key of the certificate")
    digest = kind()
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, content, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(_dss(signature, key.key_size), content, ec.ECDSA(digest))
    except InvalidSignature:
        raise NotSigned("the signature does not fit its certificate") from None


def _dss(raw: bytes, bits: int) -> bytes:
    half = (bits + 7) // 8
    if len(raw) != 2 * half:
        raise NotSigned("the signature has the wrong length")
    return encode_dss_signature(int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))


def certificates(chain: Sequence[bytes]) -> tuple[x509.Certificate, ...]:
    """The certificates of an envelope; ValueError unless there are some, and not too many."""
    if not 0 < len(chain) <= _MOST_CERTIFICATES:
        raise ValueError("no or too many certificates")
    return tuple(x509.load_der_x509_certificate(der) for der in chain)


def _url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
