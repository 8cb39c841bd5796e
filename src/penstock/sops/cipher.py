"""One value in and out of `ENC[AES256_GCM,…]`."""

from __future__ import annotations

import binascii
import os
import re
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.sops.errors import LoadError, TreeError
from penstock.sops.values import Comment, Timestamp, decoded, integer, plain_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

_NONCE = 32  # bytes; SOPS has always used more than the usual 12
_TAG = 16
_ENCRYPTED = re.compile(r"ENC\[AES256_GCM,data:([^,]+),iv:([^,]+),tag:([^,]+),type:([^\]]+)\]")
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf|Inf|infinity)|NaN|nan"
)

Plain = str | int | float | bool | Timestamp | Comment


class Cipher:
    """Encrypts and decrypts the values of one file with its data key.

    A value that was decrypted and comes back unchanged under the same path gets its old ciphertext back, so that an
    edit changes only the lines it touched.
    """

    def __init__(self, data_key: bytes) -> None:
        if len(data_key) != 32:
            raise TreeError("the data key is not 32 bytes long; the file was encrypted by something else")
        self._aead = AESGCM(data_key)
        self._nonces: dict[tuple[str, type, Plain], bytes] = {}

    def decrypt(self, text: str, path: str) -> Plain:
        """The value in an `ENC[…]`; the path it was encrypted under is part of the proof."""
        if not text:
            return ""
        match = _ENCRYPTED.match(text)
        if not match:
            raise TreeError("Input string <redacted> does not match sops' data format")
        data, nonce, tag = (_base64(part) for part in match.groups()[:3])
        try:
            plain = self._aead.decrypt(nonce, data + tag, path.encode("utf-8", "surrogateescape"))
        except (InvalidTag, ValueError, OverflowError) as error:
            raise TreeError(
                "the ciphertext was changed, moved from another key, or belongs to another data key"
            ) from error
        value = _typed(match[4], plain)
        self._nonces[(path, type(value), value)] = nonce
        return value

    def encrypt(self, value: Plain, path: str) -> str:
        """The `ENC[…]` of a value; empty text stays empty."""
        if value == "" or value == Comment(""):
            return ""
        nonce = self._nonces.get((path, type(value), value))
        if nonce is None or len(nonce) != _NONCE:
            nonce = os.urandom(_NONCE)
        sealed = self._aead.encrypt(nonce, plain_bytes(value), path.encode("utf-8", "surrogateescape"))
        parts = (sealed[:-_TAG], nonce, sealed[-_TAG:])
        data, iv, tag = (binascii.b2a_base64(part, newline=False).decode() for part in parts)
        return f"ENC[AES256_GCM,data:{data},iv:{iv},tag:{tag},type:{_name(value)}]"


def looks_encrypted(text: str) -> bool:
    """True for a text in the form of a value that SOPS encrypted."""
    return _ENCRYPTED.match(text) is not None


def _base64(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise TreeError("the ciphertext is cut off or is not base64") from error


def _name(value: Plain) -> str:
    match value:
        case str():
            return "str"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case Timestamp():
            return "time"
        case Comment():
            return "comment"


def _typed(name: str, plain: bytes) -> Plain:
    reader = _READERS.get(name)
    if reader is None:
        raise TreeError(f"the value has the type {name!r}, which is not one of SOPS' types")
    try:
        return reader(decoded(plain))
    except LoadError as error:
        raise TreeError(str(error)) from None


def _float(text: str) -> float:
    if not _FLOAT.fullmatch(text):
        raise TreeError("an encrypted float is no number")
    return float(text)


def _bool(text: str) -> bool:
    if text not in _TRUE and text not in _FALSE:
        raise TreeError("an encrypted boolean is neither true nor false")
    return text in _TRUE


_READERS: dict[str, Callable[[str], Plain]] = {
    "str": str,
    "bytes": str,
    "int": integer,
    "float": _float,
    "bool": _bool,
    "time": Timestamp,
    "comment": Comment,
}
