"""Signatures for tests, made as cosign and notation make them."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import cbor2
import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from penstock.sources.oci.manifest import MANIFEST

if TYPE_CHECKING:
    from tests.sources.oci.stand_in import StandIn

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
START = datetime(2026, 1, 1, tzinfo=UTC)


def new_key(kind: str = "ecdsa") -> PrivateKey:
    match kind:
        case "rsa":
            return rsa.generate_private_key(65537, 2048)
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
        case _:
            return ec.generate_private_key(ec.SECP256R1())


def public(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def signature(key: PrivateKey, content: bytes) -> str:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        raw = key.sign(content, ec.ECDSA(hashes.SHA256()))
    elif isinstance(key, rsa.RSAPrivateKey):
        raw = key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    else:
        raw = key.sign(content)
    return base64.b64encode(raw).decode()


def simple_signing(digest: str, kind: str = "cosign container image signature") -> bytes:
    image = {"docker-manifest-digest": digest}
    return orjson.dumps(
        {"critical": {"identity": {"docker-reference": ""}, "image": image, "type": kind}, "optional": None}
    )


def sign_legacy(server: StandIn, digest: str, key: PrivateKey, payload: bytes | None = None, **more: str) -> None:
    """A signature under the tag that cosign 2 uses; `more` are annotations."""
    content = simple_signing(digest) if payload is None else payload
    notes = {"dev.cosignproject.cosign/signature": signature(key, content), **more}
    layer = server.layer(content, "application/vnd.dev.cosign.simplesigning.v1+json", annotations=notes)
    server.image({}, f"{digest.replace(':', '-')}.sig", layers=[layer])


def statement(digest: str) -> bytes:
    return orjson.dumps(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"digest": {"sha256": digest.removeprefix("sha256:")}}],
            "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "predicate": {},
        }
    )


def pae(payload: bytes, kind: str = "application/vnd.in-toto+json") -> bytes:
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)


def envelope(key: PrivateKey, payload: bytes, kind: str = "application/vnd.in-toto+json") -> dict[str, Any]:
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [{"sig": signature(key, pae(payload, kind))}],
    }


def attach(server: StandIn, digest: str, content: bytes, kind: str = BUNDLE, artifact_type: str = "") -> None:
    """A manifest that refers to the image and holds this content."""
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": artifact_type or kind,
        "config": server.layer(b"{}", "application/vnd.oci.empty.v1+json"),
        "layers": [server.layer(content, kind)],
        "subject": {"mediaType": MANIFEST, "digest": digest, "size": 1},
    }
    server.put(document)


def sign_bundle(server: StandIn, digest: str, key: PrivateKey, payload: bytes | None = None) -> None:
    """A bundle as cosign 3 makes it for a key."""
    content = {
        "mediaType": BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": "x"}, "tlogEntries": []},
        "dsseEnvelope": envelope(key, statement(digest) if payload is None else payload),
    }
    attach(server, digest, orjson.dumps(content))


@dataclass
class Notary:
    """An authority and a signer it knows."""

    subject: str = "CN=signer,O=Example,ST=WA,C=US"
    start: datetime = START
    days: int = 3650
    curve: ec.EllipticCurve = field(default_factory=ec.SECP256R1)
    usage: Any = ExtendedKeyUsageOID.CODE_SIGNING
    revocation: bool = False
    key: ec.EllipticCurvePrivateKey = field(init=False)
    chain: list[x509.Certificate] = field(init=False)

    def __post_init__(self) -> None:
        root = ec.generate_private_key(ec.SECP256R1())
        self.key = ec.generate_private_key(self.curve)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "root")])
        ca = _certificate(name, name, root, root, self.start, self.days, authority=True)
        leaf = _certificate(
            x509.Name.from_rfc4514_string(self.subject), name, self.key, root, self.start, self.days,
            usage=self.usage, revocation=self.revocation,
        )  # fmt: skip
        self.chain = [leaf, ca]

    @property
    def authority(self) -> bytes:
        return self.chain[-1].public_bytes(Encoding.PEM)

    def sign(
        self, server: StandIn, digest: str, *, expiry: str = "", crit: list[str] | None = None,
        alg: str = "ES256", media_type: str = "application/jose+json", **protected: Any,
    ) -> None:  # fmt: skip
        """Attach a signature as `notation sign` makes it."""
        scheme = "io.cncf.notary.signingScheme"
        header: dict[str, Any] = {
            "alg": alg,
            "cty": "application/vnd.cncf.notary.payload.v1+json",
            "crit": crit if crit is not None else [scheme, *(["io.cncf.notary.expiry"] if expiry else [])],
            scheme: "notary.x509",
            "io.cncf.notary.signingTime": "2026-02-01T00:00:00Z",
            **({"io.cncf.notary.expiry": expiry} if expiry else {}),
            **protected,
        }
        payload = orjson.dumps({"targetArtifact": {"mediaType": MANIFEST, "digest": digest, "size": 1}})
        content = self._jws(header, payload)
        attach(server, digest, content, media_type, "application/vnd.cncf.notary.signature")

    def sign_cose(self, server: StandIn, digest: str, **change: Any) -> None:
        """Attach a signature as `notation sign --signature-format cose` makes it; `change` replaces its parts."""
        scheme, expiry = "io.cncf.notary.signingScheme", "io.cncf.notary.expiry"
        headers: dict[Any, Any] = {
            1: change.get("alg", -7),
            2: change.get("crit", [scheme, *([expiry] if "expiry" in change else [])]),
            3: "application/vnd.cncf.notary.payload.v1+json",
            scheme: "notary.x509",
            "io.cncf.notary.signingTime": cbor2.CBORTag(1, 1769904000),
            **({expiry: cbor2.CBORTag(1, change["expiry"])} if "expiry" in change else {}),
        }
        payload = orjson.dumps({"targetArtifact": {"mediaType": MANIFEST, "digest": digest, "size": 1}})
        raw = cbor2.dumps(headers)
        signature = self._signature(cbor2.dumps(["Signature1", raw, b"", payload]))
        chain = [one.public_bytes(Encoding.DER) for one in self.chain]
        body = [raw, {33: chain}, change.get("payload", payload), signature]
        content = change.get("content") or cbor2.dumps(cbor2.CBORTag(change.get("tag", 18), body))
        attach(server, digest, content, "application/cose", "application/vnd.cncf.notary.signature")

    def _jws(self, header: dict[str, Any], payload: bytes) -> bytes:
        first, second = _url(orjson.dumps(header)), _url(payload)
        signature = _url(self._signature(f"{first}.{second}".encode()))
        x5c = [base64.b64encode(one.public_bytes(Encoding.DER)).decode() for one in self.chain]
        return orjson.dumps({"payload": second, "protected": first, "header": {"x5c": x5c}, "signature": signature})

    def _signature(self, content: bytes) -> bytes:
        raw = self.key.sign(content, ec.ECDSA(_HASHES[self.key.key_size]()))
        size = (self.key.key_size + 7) // 8
        return b"".join(number.to_bytes(size, "big") for number in decode_dss_signature(raw))


_HASHES: dict[int, type[hashes.SHA256 | hashes.SHA384]] = {256: hashes.SHA256, 384: hashes.SHA384}


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey,
    start: datetime, days: int, *, authority: bool = False, usage: Any = None, revocation: bool = False,
) -> x509.Certificate:  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(not authority, False, False, False, False, authority, authority, False, False), critical=True
        )
    )
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if revocation:
        point = x509.DistributionPoint([x509.UniformResourceIdentifier("http://crl.example")], None, None, None)
        builder = builder.add_extension(x509.CRLDistributionPoints([point]), critical=False)
    return builder.sign(by, hashes.SHA256())


def _url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
