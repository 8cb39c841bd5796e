"""An SSH agent with one key, inside this process: `ssh` asks it for signatures, and the key never lies in a file."""

from __future__ import annotations

import asyncio
import socket
import struct
from base64 import b64decode
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_FAILURE = b"\x05"
_IDENTITIES, _IDENTITIES_ANSWER = 11, b"\x0c"
_SIGN, _SIGN_ANSWER = 13, b"\x0e"
_SHA256, _SHA512 = 2, 4
_LONGEST = 256 << 10
_CURVES: dict[str, tuple[str, hashes.HashAlgorithm]] = {
    "secp256r1": ("nistp256", hashes.SHA256()),
    "secp384r1": ("nistp384", hashes.SHA384()),
    "secp521r1": ("nistp521", hashes.SHA512()),
}


class SigningKey:
    """A private key that signs as SSH wants it."""

    def __init__(self, key: PrivateKeyTypes) -> None:
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
            raise TypeError("'identity' is a key that SSH does not use any more: take ed25519, ECDSA or RSA")
        self._key = key
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        self.public_line = public
        self.blob = b64decode(public.split(b" ")[1])

    def sign(self, data: bytes, flags: int) -> bytes:
        """The signature with its name before it."""
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            return text(b"ssh-ed25519") + text(self._key.sign(data))
        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            name, algorithm = _CURVES[self._key.curve.name]
            first, second = decode_dss_signature(self._key.sign(data, ec.ECDSA(algorithm)))
            return text(b"ecdsa-sha2-" + name.encode()) + text(_number(first) + _number(second))
        # Without a wish it would be SHA-1, which nobody accepts any more.
        if flags & _SHA256 and not flags & _SHA512:
            return text(b"rsa-sha2-256") + text(self._key.sign(data, padding.PKCS1v15(), hashes.SHA256()))
        return text(b"rsa-sha2-512") + text(self._key.sign(data, padding.PKCS1v15(), hashes.SHA512()))


class Agent:
    """Answers `ssh` at a socket."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key
        self._open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def serving(self, path: Path) -> AsyncGenerator[None]:
        """Answer until the caller is done."""
        listening = await asyncio.to_thread(_bound, path)
        server = await asyncio.start_unix_server(self._talk, sock=listening, limit=_LONGEST)
        try:
            yield
        finally:
            server.close()
            for writer in list(self._open):
                writer.close()
            await server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while True:
                (length,) = struct.unpack(">I", await reader.readexactly(4))
                if not 0 < length <= _LONGEST:
                    return
                writer.write(text(self._answer(await reader.readexactly(length))))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self._open.discard(writer)
            writer.close()

    def _answer(self, request: bytes) -> bytes:
        if request[0] == _IDENTITIES:
            return _IDENTITIES_ANSWER + struct.pack(">I", 1) + text(self._key.blob) + text(b"")
        if request[0] != _SIGN:
            return _FAILURE
        try:
            blob, rest = taken(request[1:])
            data, rest = taken(rest)
            (flags,) = struct.unpack(">I", rest)
        except (ValueError, struct.error):
            return _FAILURE
        return _SIGN_ANSWER + text(self._key.sign(data, flags)) if blob == self._key.blob else _FAILURE


def _bound(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    return listening


def text(content: bytes) -> bytes:
    """Bytes with their length before them, as everything in SSH is written."""
    return struct.pack(">I", len(content)) + content


def taken(raw: bytes) -> tuple[bytes, bytes]:
    """The first bytes that were written with their length before them, and the rest."""
    if len(raw) < 4 or len(raw) < 4 + (length := int.from_bytes(raw[:4], "big")):
        raise ValueError("it is cut off")
    return raw[4 : 4 + length], raw[4 + length :]


def _number(value: int) -> bytes:
    return text(value.to_bytes(value.bit_length() // 8 + 1, "big"))
