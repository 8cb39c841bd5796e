"""Signatures made with SSH keys (`ssh-keygen -Y sign`), checked without a program."""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature as WrongSignature
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from penstock.sources.git.agent import taken, text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.ssh import SSHPublicKeyTypes

_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_MAGIC, _VERSION = b"SSHSIG", b"\0\0\0\1"
_DIGESTS = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_KINDS = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-")
_CURVES: dict[bytes, hashes.HashAlgorithm] = {
    b"ecdsa-sha2-nistp256": hashes.SHA256(),
    b"ecdsa-sha2-nistp384": hashes.SHA384(),
    b"ecdsa-sha2-nistp521": hashes.SHA512(),
}
_SMALLEST_RSA = 2048
_USER_PRESENT = 1


class InvalidSignature(Exception):
    """Why a signature does not count."""


def signer(armored: bytes, payload: bytes, authorized_keys: str, *, namespace: str) -> str:
    """The fingerprint (`SHA256:...`) of the authorized key that signed a payload for this purpose."""
    blob, name, digest, signature = _parsed(armored)
    if name != namespace.encode():
        raise InvalidSignature("its SSH signature was made for another purpose")
    if blob not in authorized(authorized_keys):
        raise InvalidSignature("unable to verify payload with any of the given authorized keys")
    signed = _MAGIC + text(name) + text(b"") + text(digest) + text(_DIGESTS[digest](payload).digest())
    try:
        _verify(blob, signature, signed)
    except (WrongSignature, ValueError, UnsupportedAlgorithm):
        raise InvalidSignature("its SSH signature is not one of these bytes") from None
    return "SHA256:" + b64encode(hashlib.sha256(blob).digest()).decode("ascii").rstrip("=")


def authorized(lines: str) -> set[bytes]:
    """The keys in lines of an `authorized_keys` file; a line that is none is an error, not a key less."""
    found: set[bytes] = set()
    for line in map(str.strip, lines.splitlines()):
        if not line or line.startswith("#"):
            continue
        words = line.split()
        # Options may stand before the kind of the key.
        at = next((number for number, word in enumerate(words) if word.startswith(_KINDS)), None)
        try:
            blob = b64decode(words[at + 1], validate=True) if at is not None else b""
            kind, _ = taken(blob)
        except (IndexError, ValueError):
            kind, blob = b"", b""
        if at is None or kind != words[at].encode():
            raise InvalidSignature("unable to parse authorized keys: a line of the Secret is not an SSH public key")
        found.add(blob)
    return found


def _parsed(armored: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Key, namespace, name of the digest, and signature."""
    body = armored.strip()
    if not body.startswith(_BEGIN) or not body.endswith(_END):
        raise InvalidSignature("its SSH signature cannot be read")
    try:
        raw = b64decode(b"".join(body[len(_BEGIN) : -len(_END)].split()), validate=True)
        blob, rest = taken(raw[len(_MAGIC + _VERSION) :])
        name, rest = taken(rest)
        _, rest = taken(rest)
        digest, rest = taken(rest)
        signature, rest = taken(rest)
    except (ValueError, binascii.Error):
        raise InvalidSignature("its SSH signature cannot be read") from None
    if rest or digest not in _DIGESTS or not raw.startswith(_MAGIC + _VERSION):
        raise InvalidSignature("its SSH signature cannot be read")
    return blob, name, digest, signature


def _verify(blob: bytes, signature: bytes, signed: bytes) -> None:
    kind, rest = taken(signature)
    raw, extra = taken(rest)
    own, _ = taken(blob)
    if own.startswith(b"sk-"):
        _verify_hardware(own, kind, blob, raw, extra, signed)
        return
    if extra:
        raise ValueError("more than a signature")
    key = load_ssh_public_key(own + b" " + b64encode(blob))
    _verify_with(key, own, kind, raw, signed)


def _verify_with(key: SSHPublicKeyTypes, own: bytes, kind: bytes, raw: bytes, signed: bytes) -> None:
    if isinstance(key, ed25519.Ed25519PublicKey) and kind == own:
        key.verify(raw, signed)
    elif isinstance(key, ec.EllipticCurvePublicKey) and kind == own:
        key.verify(_pair(raw), signed, ec.ECDSA(_CURVES[kind]))
    elif isinstance(key, rsa.RSAPublicKey) and key.key_size >= _SMALLEST_RSA and kind == b"rsa-sha2-512":
        key.verify(raw, signed, padding.PKCS1v15(), hashes.SHA512())
    elif isinstance(key, rsa.RSAPublicKey) and key.key_size >= _SMALLEST_RSA and kind == b"rsa-sha2-256":
        key.verify(raw, signed, padding.PKCS1v15(), hashes.SHA256())
    else:
        raise ValueError("key and signature are of different kinds")


def _verify_hardware(own: bytes, kind: bytes, blob: bytes, raw: bytes, extra: bytes, signed: bytes) -> None:
    """A key in a security token: it signs a digest, who asked, whether somebody was there, and a counter."""
    _, rest = taken(blob)
    if kind != own or len(extra) != 5 or not extra[0] & _USER_PRESENT:
        raise ValueError("nobody touched the token")
    if own == b"sk-ssh-ed25519@openssh.com":
        point, rest = taken(rest)
        application, _ = taken(rest)
        message = hashlib.sha256(application).digest() + extra + hashlib.sha256(signed).digest()
        ed25519.Ed25519PublicKey.from_public_bytes(point).verify(raw, message)
        return
    curve, rest = taken(rest)
    point, rest = taken(rest)
    application, _ = taken(rest)
    if curve != b"nistp256":
        raise ValueError("an unknown curve")
    message = hashlib.sha256(application).digest() + extra + hashlib.sha256(signed).digest()
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    key.verify(_pair(raw), message, ec.ECDSA(hashes.SHA256()))


def _pair(raw: bytes) -> bytes:
    first, rest = taken(raw)
    second, rest = taken(rest)
    if rest:
        raise ValueError("more than two numbers")
    return encode_dss_signature(int.from_bytes(first, "big"), int.from_bytes(second, "big"))
