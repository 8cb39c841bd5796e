"""A Sigstore of one's own: a certificate authority, its log, the log of signatures, and bundles that they vouch for."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.sources.oci.signing import BUNDLE, envelope, signature

_SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
SIGNED_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Sigstore:
    """Everything that a public Sigstore runs, as four keys."""

    def __init__(self) -> None:
        self._root_key, self._ct_key, self._log_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        self._root = self._authority()

    def trusted_root(self, log_address: str = "https://log.example") -> bytes:
        start = {"start": "2026-01-01T00:00:00Z"}

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            public = {"rawBytes": _b64(_spki(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": start}
            return {
                "baseUrl": log_address,
                "hashAlgorithm": "SHA2_256",
                "publicKey": public,
                "logId": {"keyId": _b64(_id(key))},
            }

        authority = {
            "subject": {"organization": "example", "commonName": "root"},
            "uri": "https://ca.example",
            "certChain": {"certificates": [{"rawBytes": _b64(self._root.public_bytes(Encoding.DER))}]},
            "validFor": start,
        }
        return orjson.dumps(
            {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [log(self._log_key)],
                "certificateAuthorities": [authority],
                "ctlogs": [log(self._ct_key)],
                "timestampAuthorities": [],
            }
        )

    def bundle(self, payload: bytes, *, issuer: str, subject: str, logged: bool = True) -> bytes:
        """A signature over a statement by somebody; without `logged`, what the log vouches for is another one."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key, issuer, subject)
        signed = envelope(key, payload)
        entry = self._entry(_dsse(certificate, payload if logged else b"other", signed["signatures"][0]["sig"]), "dsse")
        return orjson.dumps(
            {
                "mediaType": BUNDLE,
                "verificationMaterial": {
                    "certificate": {"rawBytes": _b64(certificate.public_bytes(Encoding.DER))},
                    "tlogEntries": [entry],
                    "timestampVerificationData": None,
                },
                "dsseEnvelope": signed,
            }
        )

    def legacy(self, payload: bytes, *, issuer: str, subject: str) -> tuple[dict[str, str], dict[str, Any]]:
        """A signature as cosign 2 makes it: its annotations, and what the log answers when it is asked."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key, issuer, subject)
        signed = signature(key, payload)
        entry = self._entry(_hashed(certificate, payload, signed), "hashedrekord")
        proof = entry["inclusionProof"]
        answer: dict[str, Any] = {
            "body": entry["canonicalizedBody"],
            "integratedTime": int(entry["integratedTime"]),
            "logID": base64.b64decode(entry["logId"]["keyId"]).hex(),
            "logIndex": 0,
            "verification": {
                "inclusionProof": {
                    "checkpoint": proof["checkpoint"]["envelope"],
                    "hashes": [],
                    "logIndex": 0,
                    "rootHash": base64.b64decode(proof["rootHash"]).hex(),
                    "treeSize": 1,
                },
                "signedEntryTimestamp": entry["inclusionPromise"]["signedEntryTimestamp"],
            },
        }
        noted = {key: answer[key] for key in ("body", "integratedTime", "logID", "logIndex")}
        bundle = {"SignedEntryTimestamp": answer["verification"]["signedEntryTimestamp"], "Payload": noted}
        annotations = {
            "dev.cosignproject.cosign/signature": signed,
            "dev.sigstore.cosign/certificate": certificate.public_bytes(Encoding.PEM).decode(),
            "dev.sigstore.cosign/bundle": json.dumps(bundle),
        }
        return annotations, {"a-uuid": answer}

    def _authority(self) -> x509.Certificate:
        name = x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "example"), x509.NameAttribute(NameOID.COMMON_NAME, "root")]
        )
        return (
            _builder(name, name, self._root_key, SIGNED_AT - timedelta(days=100), timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._root_key.public_key()), critical=False)
            .sign(self._root_key, hashes.SHA256())
        )

    def _certificate(self, key: ec.EllipticCurvePrivateKey, issuer: str, subject: str) -> x509.Certificate:
        text = issuer.encode()
        builder = (
            _builder(x509.Name([]), self._root.subject, key, SIGNED_AT - timedelta(minutes=5), timedelta(minutes=10))
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._root_key.public_key()), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(subject)]), critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, b"\x0c" + bytes([len(text)]) + text), critical=False)
        )
        plain = builder.sign(self._root_key, hashes.SHA256()).tbs_certificate_bytes
        return builder.add_extension(
            x509.UnrecognizedExtension(_SCT_LIST, self._timestamps(plain)), critical=False
        ).sign(self._root_key, hashes.SHA256())

    def _timestamps(self, certificate: bytes) -> bytes:
        """The promise of the certificates' log (RFC 6962)."""
        stamp = int(SIGNED_AT.timestamp() * 1000)
        issuer = _id(self._root_key)
        signed = struct.pack("!BBQH", 0, 0, stamp, 1) + issuer + len(certificate).to_bytes(3, "big") + certificate
        signature = self._ct_key.sign(signed + b"\0\0", ec.ECDSA(hashes.SHA256()))
        one = struct.pack("!B32sQHBBH", 0, _id(self._ct_key), stamp, 0, 4, 3, len(signature)) + signature
        several = struct.pack("!H", len(one) + 2) + struct.pack("!H", len(one)) + one
        return b"\x04" + _length(len(several)) + several

    def _entry(self, body: bytes, kind: str) -> dict[str, Any]:
        """One entry of the log of signatures, the first and only one."""
        moment, log = int(SIGNED_AT.timestamp()), _id(self._log_key)
        promise = {"body": _b64(body), "integratedTime": moment, "logID": log.hex(), "logIndex": 0}
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"log.example\n1\n{_b64(root)}\n"
        checkpoint = f"{note}\n\u2014 log.example {_b64(log[:4] + self._logged(note.encode()))}\n"
        return {
            "logIndex": "0",
            "logId": {"keyId": _b64(log)},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": str(moment),
            "inclusionPromise": {"signedEntryTimestamp": _b64(self._logged(_canonical(promise)))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": _b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": checkpoint},
            },
            "canonicalizedBody": _b64(body),
        }

    def _logged(self, content: bytes) -> bytes:
        return self._log_key.sign(content, ec.ECDSA(hashes.SHA256()))


def _dsse(certificate: x509.Certificate, payload: bytes, signature: str) -> bytes:
    spec = {
        "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
        "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
        "signatures": [{"signature": signature, "verifier": _b64(certificate.public_bytes(Encoding.PEM))}],
    }
    return _canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})


def _hashed(certificate: x509.Certificate, payload: bytes, signature: str) -> bytes:
    key = {"content": _b64(certificate.public_bytes(Encoding.PEM))}
    spec = {
        "data": {"hash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()}},
        "signature": {"content": signature, "publicKey": key},
    }
    return _canonical({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": spec})


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, start: datetime, valid: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + valid)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(not authority, False, False, False, False, authority, authority, False, False)


def _spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(_spki(key)).digest()


def _length(size: int) -> bytes:
    return bytes([size]) if size < 128 else b"\x81" + bytes([size])


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode()
