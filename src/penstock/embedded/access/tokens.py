"""Service account tokens: JSON Web Tokens that the cluster signs with its own key (ES256)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_HALF = 32
"""Bytes of each of the two numbers of a P-256 signature."""


class ForeignToken(PenstockError):
    """Not a token of this cluster at all."""


class BadToken(PenstockError):
    """A token that claims to be of this cluster and is not good; the sentence says why."""


class Signer:
    """Signs and checks tokens with one key."""

    def __init__(self, key: bytes, issuer: str) -> None:
        private = load_pem_private_key(key, None)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise PenstockError("The signing key for service account tokens must be an EC P-256 key.")
        self._private = private
        self._public = private.public_key()
        self._issuer = issuer
        der = self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.key_id = _encode(hashlib.sha256(der).digest())
        self._header = _encode(orjson.dumps({"alg": "ES256", "kid": self.key_id}))

    def public_keys(self) -> Object:
        """The public key as a set of JSON Web Keys, for those who check tokens by themselves."""
        numbers = self._public.public_numbers()
        point = {name: _encode(getattr(numbers, name).to_bytes(_HALF, "big")) for name in ("x", "y")}
        return {"keys": [{"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": "ES256", **point}]}

    def sign(self, claims: Object) -> str:
        """A token with these claims; the issuer is added."""
        body = _encode(orjson.dumps({**claims, "iss": self._issuer}, option=orjson.OPT_SORT_KEYS))
        signed = f"{self._header}.{body}"
        first, second = decode_dss_signature(self._private.sign(signed.encode(), ec.ECDSA(SHA256())))
        return f"{signed}.{_encode(first.to_bytes(_HALF, 'big') + second.to_bytes(_HALF, 'big'))}"

    def verify(self, token: str) -> Object:
        """The claims of a token that this cluster signed; times are not looked at."""
        parts = token.split(".")
        if len(parts) != 3:
            raise ForeignToken("this is not a JSON Web Token")
        claims = _decode_json(parts[1])
        if claims.get("iss") != self._issuer:
            raise ForeignToken("the token is from another issuer")
        if _decode_json(parts[0]).get("alg") != "ES256":
            raise BadToken('go-jose/go-jose: unexpected signature algorithm; expected ["ES256"]')
        signature = _decode(parts[2])
        if len(signature) != 2 * _HALF:
            raise BadToken("go-jose/go-jose: error in cryptographic primitive")
        first, second = (int.from_bytes(half, "big") for half in (signature[:_HALF], signature[_HALF:]))
        try:
            self._public.verify(
                encode_dss_signature(first, second), f"{parts[0]}.{parts[1]}".encode(), ec.ECDSA(SHA256())
            )
        except InvalidSignature:
            raise BadToken("go-jose/go-jose: error in cryptographic primitive") from None
        return claims


def discovery_document(issuer: str) -> Object:
    """What OpenID Connect clients ask an issuer first."""
    return {
        "issuer": issuer,
        "jwks_uri": f"{issuer}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ForeignToken("this is not a JSON Web Token") from None


def _decode_json(text: str) -> dict[str, Any]:
    try:
        decoded = orjson.loads(_decode(text))
    except orjson.JSONDecodeError:
        raise ForeignToken("this is not a JSON Web Token") from None
    if not isinstance(decoded, dict):
        raise ForeignToken("this is not a JSON Web Token")
    return decoded
