"""Secrets for TLS: the server looks at the pair, takes it anyway, and says what is odd."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.embedded.server.playing import Request, apply, patch, post
from tests.embedded.server.scenarios.objects import AS_METADATA

SECRETS = "/api/v1/namespaces/{ns}/secrets"
Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def _pem(key: Key, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def _certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example.com")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2024, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2034, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM)


def _secret(certificate: bytes, key: bytes, **fields: Any) -> dict[str, Any]:
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    return {"metadata": {"name": "pair"}, "type": "kubernetes.io/tls", "data": data, **fields}


_OWN, _OTHER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
_CERTIFICATE, _KEY = _certificate(_OWN), _pem(_OWN)
_REQUEST = b"-----BEGIN CERTIFICATE REQUEST-----\nYQ==\n-----END CERTIFICATE REQUEST-----\n"
_PAIRS = (
    (_CERTIFICATE, _KEY),
    (_CERTIFICATE + _CERTIFICATE, _pem(_OWN, PrivateFormat.TraditionalOpenSSL)),
    (
        b"text before it\n" + _CERTIFICATE,
        b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + _KEY,
    ),
    (b"a", b"b"),
    (_CERTIFICATE, b"b"),
    (_KEY, _CERTIFICATE),
    (_CERTIFICATE, _CERTIFICATE),
    (_CERTIFICATE, _REQUEST),
    (_REQUEST, _KEY),
    (_CERTIFICATE, _pem(_OTHER)),
    (_CERTIFICATE, _pem(ed25519.Ed25519PrivateKey.generate())),
    (b"-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n", _KEY),
    (_CERTIFICATE, b"-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n"),
)

TLS_SECRETS: dict[str, list[Request]] = {
    "secrets for TLS": [
        *(post(f"{SECRETS}?dryRun=All", _secret(*pair), accept=AS_METADATA) for pair in _PAIRS),
        post(SECRETS, _secret(b"a", b"b"), accept=AS_METADATA),
        patch(f"{SECRETS}/pair", {"metadata": {"labels": {"a": "b"}}}),
        apply(f"{SECRETS}/new?fieldManager=m", {"apiVersion": "v1", "kind": "Secret", "data": {"a": "not base64!"}}),
    ],
}
