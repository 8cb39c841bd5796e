"""age's post-quantum keys (ML-KEM-768 with X25519), which the age library at hand does not know.

An age file is a header of stanzas, one a recipient, each with the file key sealed for it; an HMAC over the header;
and the content in chunks of 64 KiB. A data key of SOPS is always one chunk.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
import re
import textwrap
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from penstock.sops import bech32
from penstock.sops.errors import KeyFileError, LoadError

RECIPIENT_PREFIX = "age1pq"
IDENTITY_PREFIX = "AGE-SECRET-KEY-PQ-"
_LABEL = b"age-encryption.org/mlkem768x25519"
_STANZA = "mlkem768x25519"
_VERSION = "age-encryption.org/v1"
_SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_MLKEM_PUBLIC = 1184  # bytes
_ENCAPSULATED = 1120  # bytes
_CHUNK = 64 * 1024
_ARMOR = re.compile(rb"-----BEGIN AGE ENCRYPTED FILE-----\n([A-Za-z0-9+/=\n]+)-----END AGE ENCRYPTED FILE-----\s*\Z")


@dataclass(frozen=True, slots=True)
class HybridIdentity:
    """A secret key; its text begins with AGE-SECRET-KEY-PQ-1."""

    key: MLKEM768X25519PrivateKey
    recipient: str

    @classmethod
    def parse(cls, text: str) -> HybridIdentity:
        try:
            prefix, seed = bech32.decode(text)
        except ValueError as error:
            raise KeyFileError(f"a post-quantum age key is malformed: {error}") from None
        if prefix != IDENTITY_PREFIX or len(seed) != 32:
            raise KeyFileError("a post-quantum age key is malformed: it has the wrong length")
        expanded = hashlib.shake_256(seed).digest(96)
        mlkem = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
        x25519 = X25519PrivateKey.from_private_bytes(expanded[64:])
        public = mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw()
        return cls(MLKEM768X25519PrivateKey(mlkem, x25519), bech32.encode(RECIPIENT_PREFIX, public))

    @staticmethod
    def generate() -> str:
        """The text of a new secret key."""
        return bech32.encode(IDENTITY_PREFIX, os.urandom(32)).upper()


def decrypt(armored: bytes, identities: list[HybridIdentity]) -> bytes | None:
    """The content of a file, or None when it is for none of these identities."""
    header, payload = _split(_unarmored(armored))
    for sealed in _stanzas(header):
        for identity in identities:
            file_key = _opened(sealed, identity)
            if file_key is not None:
                return _content(file_key, header, payload)
    return None


def encrypt(data: bytes, recipient: str) -> bytes:
    """An armored file for one recipient."""
    file_key = os.urandom(16)
    sealed = _SUITE.encrypt(file_key, _public(recipient), _LABEL)
    stanza = f"-> {_STANZA} {_base64(sealed[:_ENCAPSULATED])}\n{_base64(sealed[_ENCAPSULATED:])}\n"
    header = f"{_VERSION}\n{stanza}---".encode()
    nonce = os.urandom(16)
    chunk = ChaCha20Poly1305(_derived(file_key, b"payload", nonce)).encrypt(_last_chunk(), data, None)
    whole = header + b" " + _base64(_header_mac(file_key, header)).encode() + b"\n" + nonce + chunk
    lines = "\n".join(textwrap.wrap(binascii.b2a_base64(whole, newline=False).decode(), 64))
    return f"-----BEGIN AGE ENCRYPTED FILE-----\n{lines}\n-----END AGE ENCRYPTED FILE-----\n".encode()


def _public(recipient: str) -> MLKEM768X25519PublicKey:
    try:
        _, data = bech32.decode(recipient)
        mlkem = MLKEM768PublicKey.from_public_bytes(data[:_MLKEM_PUBLIC])
        return MLKEM768X25519PublicKey(mlkem, X25519PublicKey.from_public_bytes(data[_MLKEM_PUBLIC:]))
    except ValueError as error:
        raise KeyFileError(f"the recipient is not a post-quantum age key: {error}") from None


def _unarmored(data: bytes) -> bytes:
    match = _ARMOR.match(data.replace(b"\r\n", b"\n").strip() + b"\n")
    if not match:
        raise LoadError("the sealed data key is not an armored age file")
    return _unbase64(match[1].replace(b"\n", b""))


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The header up to its MAC, and what follows the header's `---`."""
    mark = data.find(b"\n---")
    end = data.find(b"\n", mark + 1)
    if not data.startswith(f"{_VERSION}\n".encode()) or mark < 0 or end < 0:
        raise LoadError("the sealed data key is not an age file")
    return data[: mark + 4], data[mark + 4 :]


def _stanzas(header: bytes) -> list[bytes]:
    """What was sealed for post-quantum recipients; other stanzas are not ours."""
    sealed: list[bytes] = []
    for stanza in header.decode("ascii", "replace").split("\n-> ")[1:]:
        first, *body = stanza.removesuffix("\n---").split("\n")
        name, *arguments = first.split(" ")
        if name == _STANZA and len(arguments) == 1:
            sealed.append(_unbase64(arguments[0].encode()) + _unbase64("".join(body).encode()))
    return sealed


def _opened(sealed: bytes, identity: HybridIdentity) -> bytes | None:
    try:
        return _SUITE.decrypt(sealed, identity.key, _LABEL)
    except (InvalidTag, ValueError):
        return None


def _content(file_key: bytes, header: bytes, payload: bytes) -> bytes:
    mac, _, rest = payload.lstrip(b" ").partition(b"\n")
    if not hmac.compare_digest(_unbase64(mac), _header_mac(file_key, header)):
        raise LoadError("the sealed data key was changed: its header does not fit its MAC")
    nonce, chunk = rest[:16], rest[16:]
    if len(chunk) > _CHUNK + 16:
        raise LoadError("the sealed data key is far too long")
    try:
        return ChaCha20Poly1305(_derived(file_key, b"payload", nonce)).decrypt(_last_chunk(), chunk, None)
    except InvalidTag:
        raise LoadError("the sealed data key was changed or cut off") from None


def _header_mac(file_key: bytes, header: bytes) -> bytes:
    return hmac.digest(_derived(file_key, b"header", None), header, "sha256")


def _derived(file_key: bytes, purpose: bytes, salt: bytes | None) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, purpose).derive(file_key)


def _last_chunk() -> bytes:
    return b"\0" * 11 + b"\1"


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode().rstrip("=")


def _unbase64(data: bytes) -> bytes:
    try:
        return binascii.a2b_base64(data.rstrip(b"=") + b"=" * (-len(data.rstrip(b"=")) % 4), strict_mode=True)
    except ValueError:
        raise LoadError("the sealed data key is not an age file") from None
