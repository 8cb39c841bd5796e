"""age keys, with no plug-in program and no file path: identities come as text and stay in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from penstock.sops import age_hybrid
from penstock.sops.age_hybrid import HybridIdentity
from penstock.sops.errors import DataKeyError, KeyFileError
from penstock.sops.keys import AgeKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.sops.keys import MasterKey

pyrage: Any = import_module("pyrage")  # a Rust module without types

_PLUGIN_IDENTITY = re.compile(r"AGE-PLUGIN-([A-Z0-9.-]+)-1")
_PLUGIN_RECIPIENT = re.compile(r"age1([a-z0-9.-]+)1[a-z0-9]+\Z")
_SSH_KEY = re.compile(
    r"-----BEGIN (?:OPENSSH |RSA )?PRIVATE KEY-----.*?-----END (?:OPENSSH |RSA )?PRIVATE KEY-----\n?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Identity:
    """A secret key and the recipient it answers to."""

    key: Any
    recipient: str

    def __repr__(self) -> str:
        return f"Identity({self.recipient})"


@dataclass(frozen=True, slots=True)
class AgeService:
    """Opens data keys with the given identities; seals for any recipient."""

    identities: Sequence[Identity] = ()

    async def open(self, key: MasterKey) -> bytes:
        if not isinstance(key, AgeKey):
            raise DataKeyError("must provide a key of the kind age")
        if not self.identities:
            raise DataKeyError("no age identity is at hand")
        if key.recipient.startswith(f"{age_hybrid.RECIPIENT_PREFIX}1"):
            return self._open_hybrid(key)
        native = [identity.key for identity in self.identities if not isinstance(identity.key, HybridIdentity)]
        try:
            return bytes(pyrage.decrypt(key.enc.encode(), native))
        except pyrage.DecryptError as error:
            raise DataKeyError(f"none of the {len(self.identities)} age identities opens it") from error

    def _open_hybrid(self, key: AgeKey) -> bytes:
        hybrid = [identity.key for identity in self.identities if isinstance(identity.key, HybridIdentity)]
        opened = age_hybrid.decrypt(key.enc.encode(), hybrid)
        if opened is None:
            raise DataKeyError(f"none of the {len(self.identities)} age identities opens it")
        return opened

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        if not isinstance(key, AgeKey):
            raise DataKeyError("must provide a key of the kind age")
        if key.recipient.startswith(f"{age_hybrid.RECIPIENT_PREFIX}1"):
            return age_hybrid.encrypt(data_key, key.recipient).decode()
        armored: bytes = pyrage.encrypt(data_key, [_recipient(key.recipient)], armored=True)
        return armored.decode()


def identities(text: str) -> list[Identity]:
    """The secret keys in a key file: native ones a line each, SSH keys as they are; KeyFileError for any other."""
    found = [_ssh(match[0]) for match in _SSH_KEY.finditer(text)]
    for line in _SSH_KEY.sub("", text).splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            found.append(_native(stripped))
    if not found:
        raise KeyFileError("there is no age key in it")
    return found


def _native(line: str) -> Identity:
    plugin = _PLUGIN_IDENTITY.match(line)
    if plugin:
        raise KeyFileError(f"the age plug-in {plugin[1].lower()!r} is not supported: no program is run to decrypt")
    if line.startswith(age_hybrid.IDENTITY_PREFIX):
        hybrid = HybridIdentity.parse(line)
        return Identity(hybrid, hybrid.recipient)
    if not line.startswith("AGE-SECRET-KEY-1"):
        raise KeyFileError("a line is no age key; they begin with AGE-SECRET-KEY-")
    try:
        key = pyrage.x25519.Identity.from_str(line)
    except pyrage.IdentityError as error:
        raise KeyFileError(f"an age key is malformed: {error}") from None
    return Identity(key, str(key.to_public()))


def _ssh(block: str) -> Identity:
    try:
        load = load_ssh_private_key if "OPENSSH" in block else load_pem_private_key
        public: Any = load(block.encode(), password=None).public_key()
        recipient = public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        return Identity(pyrage.ssh.Identity.from_buffer(block.encode()), recipient)
    except (ValueError, TypeError, UnsupportedAlgorithm, pyrage.IdentityError):
        raise KeyFileError("an SSH key is malformed, has a passphrase, or is neither Ed25519 nor RSA") from None


def check_recipient(text: str) -> None:
    """Raise KeyFileError unless a data key can be sealed for this recipient."""
    if not text.startswith(f"{age_hybrid.RECIPIENT_PREFIX}1"):
        _recipient(text)


def holds(identity: Identity, recipient: str) -> bool:
    """True when the identity answers to a recipient; the comment of an SSH key does not count."""
    return identity.recipient.split(" ")[:2] == recipient.strip().split(" ")[:2]


def _recipient(text: str) -> Any:
    try:
        if text.startswith("ssh-"):
            return pyrage.ssh.Recipient.from_str(text)
        plugin = _PLUGIN_RECIPIENT.match(text)
        if plugin:
            raise KeyFileError(f"the age plug-in {plugin[1]!r} is not supported: no program is run to encrypt")
        return pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError as error:
        raise KeyFileError(f"the age recipient is malformed: {error}") from None
