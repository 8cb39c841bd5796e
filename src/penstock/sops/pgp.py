"""OpenPGP keys as text, used inside this process: no `gpg` program, no agent, no keyring, no temporary home.

The library is rPGP, through the extra `pgp`. Its error texts quote what it read, so they never leave this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from penstock.sops.errors import DataKeyError, KeyFileError
from penstock.sops.keys import PgpKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openpgp.composed import SignedPublicKey, SignedSecretKey

    from penstock.sops.keys import MasterKey

_BLOCK = re.compile(r"-----BEGIN PGP (PRIVATE|PUBLIC) KEY BLOCK-----.*?-----END PGP \1 KEY BLOCK-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OpenPgpKey:
    """A key and the fingerprints (upper case, the primary one first) by which files may name it."""

    public: SignedPublicKey
    secret: SignedSecretKey | None
    fingerprints: tuple[str, ...]

    def __repr__(self) -> str:
        return f"OpenPgpKey({self.fingerprints[0]}, {'secret' if self.secret else 'public'})"

    def is_named(self, fingerprint: str) -> bool:
        """True when a fingerprint, or the end of one, means this key."""
        wanted = fingerprint.replace(" ", "").upper().removeprefix("0X").removesuffix("!")
        return len(wanted) >= 8 and any(own.endswith(wanted) for own in self.fingerprints)


@dataclass(frozen=True, slots=True)
class PgpService:
    """Opens data keys with secret keys, seals them with public ones."""

    keys: Sequence[OpenPgpKey] = ()

    async def open(self, key: MasterKey) -> bytes:
        if not isinstance(key, PgpKey):
            raise DataKeyError("must provide a key of the kind pgp")
        # The named key first; the others too, for a file may name a key by a subkey of somebody else's copy.
        secrets = [own.secret for own in sorted(self.keys, key=lambda own: not own.is_named(key.fp)) if own.secret]
        for secret in secrets:
            opened = _opened(secret, key.enc)
            if opened is not None:
                return opened
        raise DataKeyError(f"none of the {len(secrets)} PGP secret keys opens it (one with a passphrase cannot)")

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        if not isinstance(key, PgpKey):
            raise DataKeyError("must provide a key of the kind pgp")
        own = next((own for own in self.keys if own.is_named(key.fp)), None)
        if own is None:
            raise DataKeyError("its public key is not at hand")
        _check_library()
        from openpgp.composed import MessageBuilder

        try:
            # The older container: GnuPG 2.2 reads no other.
            message = MessageBuilder.from_bytes("", data_key).seipd_v1("aes256").encrypt_to_key(own.public)
            return message.to_armored_string()
        except ValueError:
            raise DataKeyError("the key cannot encrypt: it is only for signatures") from None


def read_keys(text: str) -> list[OpenPgpKey]:
    """The keys in armored text, secret or public; several in one block are fine."""
    _check_library()
    found = [key for match in _BLOCK.finditer(text) for key in _keys(match[0], secret=match[1] == "PRIVATE")]
    if not found:
        raise KeyFileError("there is no armored PGP key in it")
    return found


def _keys(block: str, *, secret: bool) -> list[OpenPgpKey]:
    from openpgp.composed import SignedPublicKey, SignedSecretKey

    try:
        if secret:
            return [_secret(key) for key in SignedSecretKey.from_armor_many(block)[0]]
        return [OpenPgpKey(key, None, _names(key)) for key in SignedPublicKey.from_armor_many(block)[0]]
    except ValueError:
        raise KeyFileError("a PGP key is malformed or cut off") from None


def _secret(key: SignedSecretKey) -> OpenPgpKey:
    subkeys = tuple(subkey.key.fingerprint.upper() for subkey in key.secret_subkeys)
    return OpenPgpKey(key.to_public_key(), key, (key.fingerprint.upper(), *subkeys))


def _names(key: SignedPublicKey) -> tuple[str, ...]:
    return (key.fingerprint.upper(), *(subkey.key.fingerprint.upper() for subkey in key.public_subkeys))


def _opened(secret: SignedSecretKey, armored: str) -> bytes | None:
    from openpgp.composed import Message

    try:
        message, _ = Message.from_armor(armored)
        return message.decrypt(None, secret).as_data_vec()
    except ValueError:
        return None


def _check_library() -> None:
    if find_spec("openpgp") is None:
        raise KeyFileError("PGP keys need the extra 'pgp': pip install 'penstock[pgp]'")
