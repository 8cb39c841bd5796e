"""A whole file in and out of encryption: the door to everything else here."""

from __future__ import annotations

import hmac
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.sops import formats, tree
from penstock.sops.cipher import Cipher
from penstock.sops.datakey import Keyring, new_data_key
from penstock.sops.errors import EmitError, IntegrityError, LoadError, SopsError, TreeError
from penstock.sops.keys import dated
from penstock.sops.metadata import VERSION

if TYPE_CHECKING:
    from collections.abc import Generator

    from penstock.sops.formats import Format
    from penstock.sops.metadata import Metadata
    from penstock.sops.values import Branch


@dataclass(frozen=True, slots=True)
class Opened:
    """A decrypted file that can be written again; where nothing changed, its ciphertext stays what it was."""

    documents: list[Branch] = field(repr=False)
    metadata: Metadata
    data_key: bytes = field(repr=False)
    cipher: Cipher = field(repr=False)


async def decrypt(
    data: bytes, keyring: Keyring, *, form: Format, output: Format | None = None, verify: bool = True
) -> bytes:
    """The plain text of an encrypted file, in its own format or another one.

    Without `verify` the MAC is not looked at: each value is still proven to belong under its key, but values may have
    been added, left out or taken from an older version of the file.
    """
    output = output or form
    opened = await open_file(data, keyring, form=form, verify=verify)
    with _saying(f"failed to emit encrypted {form.value} file as decrypted {output.value}", EmitError):
        return formats.emit_plain(opened.documents, output)


async def open_file(data: bytes, keyring: Keyring, *, form: Format, verify: bool = True) -> Opened:
    """The documents of an encrypted file, decrypted."""
    with _saying(f"failed to load encrypted {form.value} data", LoadError):
        documents, metadata = formats.load_encrypted(data, form)
    with _saying("cannot get sops data key"):
        data_key = await keyring.open(metadata)
    with _saying("error decrypting sops tree", TreeError):
        cipher = Cipher(data_key)
        plain, macs = tree.decrypt(documents, cipher, metadata.rules, mac_only=metadata.mac_only_encrypted)
    if verify:
        with _saying("failed to verify sops data integrity", IntegrityError):
            _verify(metadata, cipher, macs)
    return Opened(plain, metadata, data_key, cipher)


async def encrypt(
    data: bytes, keyring: Keyring, metadata: Metadata, *, form: Format, now: datetime | None = None
) -> bytes:
    """A plain file, encrypted with a new data key for everybody the metadata names."""
    with _saying(f"failed to load plain {form.value} data", LoadError):
        documents = formats.load_plain(data, form)
    if not documents or not any(documents):
        raise LoadError("the file is empty; there is nothing to encrypt")
    reserved = [str(key) for document in documents for key, _ in document if formats.is_reserved(key, form)]
    if reserved:
        raise LoadError(f"the file has the key {reserved[0]!r}, so it is encrypted already; decrypt or edit it instead")
    data_key = new_data_key()
    sealed = await keyring.seal(replace(metadata, groups=dated(metadata.groups, _moment(now))), data_key)
    return close_file(Opened(documents, sealed, data_key, Cipher(data_key)), form=form, now=now)


def close_file(opened: Opened, *, form: Format, now: datetime | None = None) -> bytes:
    """The encrypted file; `now` is when it was changed, for the metadata."""
    metadata = opened.metadata
    sealed, mac = tree.encrypt(
        opened.documents, opened.cipher, metadata.rules.or_default(), mac_only=metadata.mac_only_encrypted
    )
    moment = _moment(now)
    metadata = replace(
        metadata,
        rules=metadata.rules.or_default(),
        last_modified=moment,
        version=VERSION,
        mac=opened.cipher.encrypt(mac, moment),
    )
    return formats.emit_encrypted(sealed, metadata, form)


async def reseal(
    opened: Opened, keyring: Keyring, metadata: Metadata, *, new_key: bool, now: datetime | None = None
) -> Opened:
    """The same content for other keys; with a new data key, everything is encrypted anew."""
    data_key = new_data_key() if new_key else opened.data_key
    sealed = await keyring.seal(replace(metadata, groups=dated(metadata.groups, _moment(now))), data_key)
    return Opened(opened.documents, sealed, data_key, Cipher(data_key) if new_key else opened.cipher)


def _moment(now: datetime | None) -> str:
    return (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _verify(metadata: Metadata, cipher: Cipher, macs: frozenset[str]) -> None:
    try:
        expected = cipher.decrypt(metadata.mac, metadata.last_modified)
    except TreeError:
        raise IntegrityError("the MAC itself, or the time of the last change, was altered") from None
    if not expected:
        raise IntegrityError("expected mac 'no MAC': the file's MAC was removed")
    text = str(expected).encode()
    if not any(hmac.compare_digest(text, mac.encode()) for mac in macs):
        raise IntegrityError("the MAC does not fit: a value was added, removed or changed after encryption")


@contextmanager
def _saying(what: str, kind: type[SopsError] | None = None) -> Generator[None]:
    """Put what was being done before what went wrong; an odd file that trips a library is an error like others."""
    try:
        yield
    except SopsError as error:
        raise type(error)(f"{what}: {error}") from error
    except (RecursionError, ValueError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
        raise (kind or SopsError)(f"{what}: the file is malformed ({type(error).__name__})") from None
