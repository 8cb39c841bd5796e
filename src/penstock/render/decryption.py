"""Which objects of a build are decrypted, and how: whole ones, and single values of a Secret."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

import orjson

from penstock import sops
from penstock.errors import PenstockError
from penstock.sops import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Object = dict[str, Any]

PROVIDER = "sops"
_DISABLED = "kustomize.toolkit.fluxcd.io/decrypt"
_MAC = "penstock.dev/sops-mac"


class DecryptionFailed(PenstockError):
    """An object or a file of a build cannot be decrypted; the sentence names it, never its content."""


def format_of(name: str) -> Format:
    """The format that a key of a Secret or a file of a generator promises; any other is binary."""
    return Format.JSON if name.endswith(".dockerconfigjson") else sops.by_name(name)


def verifies_mac(annotations: Mapping[str, str] | None) -> bool:
    """True when a Kustomization asks, by `penstock.dev/sops-mac: verify`, that MACs are looked at."""
    return (annotations or {}).get(_MAC, "").lower() == "verify"


def is_disabled(obj: Object) -> bool:
    """True when the object's annotation keeps it from being decrypted."""
    annotations = _metadata(obj).get("annotations")
    value = annotations.get(_DISABLED) if isinstance(annotations, dict) else None
    return isinstance(value, str) and value.lower() == "disabled"


def is_encrypted(obj: Object) -> bool:
    """True for an object that SOPS encrypted as a whole, of whatever kind."""
    block = obj.get("sops")
    return isinstance(block, dict) and bool(block.get("mac"))


def is_encrypted_secret(obj: Object) -> bool:
    """True for a Secret that carries SOPS' metadata."""
    return obj.get("apiVersion") == "v1" and obj.get("kind") == "Secret" and "sops" in obj


def require_decrypted(objects: Iterable[Object]) -> None:
    """Raise DecryptionFailed for the first Secret that would be applied as ciphertext.

    To be asked before `stringData` is moved to `data`: that move drops the metadata, and with it the evidence.
    """
    for obj in objects:
        if is_encrypted_secret(obj) and not is_disabled(obj):
            place = "/".join(filter(None, ("Secret", _metadata(obj).get("namespace"), _metadata(obj).get("name"))))
            raise DecryptionFailed(
                f"{place} is SOPS encrypted, configuring decryption is required for this secret to be reconciled"
            )


async def decrypt_objects(
    objects: Iterable[Object], keyring: sops.Keyring, *, provider: str | None, verify: bool = False
) -> list[Object]:
    """The objects of a build with everything decrypted that is encrypted, in the same order."""
    result: list[Object] = []
    for obj in objects:
        try:
            result.append(await decrypt_object(obj, keyring, provider=provider, verify=verify) or obj)
        except DecryptionFailed as error:
            raise DecryptionFailed(
                f"decryption failed for '{_kind(obj)}/{_metadata(obj).get('name', '')}': {error}"
            ) from error
    return result


async def decrypt_object(
    obj: Object | None, keyring: sops.Keyring, *, provider: str | None, verify: bool = False
) -> Object | None:
    """The decrypted object, or None when there is nothing to do for it.

    The MAC of an object that was encrypted as a whole is never looked at here: a build adds names and labels, and
    these break it. `verify_resources` looks at the files instead. `verify` is for the values of a Secret.
    """
    if obj is None or provider != PROVIDER or is_disabled(obj):
        return None
    if is_encrypted(obj):
        return await _decrypt_whole(obj, keyring)
    return await _decrypt_values(obj, keyring, verify=verify) if obj.get("kind") == "Secret" else None


async def _decrypt_whole(obj: Object, keyring: sops.Keyring) -> Object:
    try:
        plain = await sops.decrypt(orjson.dumps(obj), keyring, form=Format.JSON, verify=False)
    except sops.SopsError as error:
        raise DecryptionFailed(
            f"failed to decrypt and format '{_name(obj)}' {obj.get('kind', '')} data: {error}"
        ) from error
    decrypted: Object = orjson.loads(plain)
    return decrypted


async def _decrypt_values(obj: Object, keyring: sops.Keyring, *, verify: bool) -> Object:
    data = obj.get("data")
    if not isinstance(data, dict):
        return obj
    plain = dict(data)
    for key, value in data.items():
        form, ciphertext = _ciphertext(value)
        if form is None:
            continue
        try:
            text = await sops.decrypt(ciphertext, keyring, form=form, output=format_of(key), verify=verify)
        except sops.SopsError as error:
            raise DecryptionFailed(
                f"failed to decrypt and format '{_name(obj)}' Secret field '{key}': {error}"
            ) from error
        plain[key] = binascii.b2a_base64(text, newline=False).decode()
    return obj | {"data": plain}


def _ciphertext(value: object) -> tuple[Format | None, bytes]:
    """The format and the bytes of an encrypted value; what is no base64 is for the API server to refuse."""
    if not isinstance(value, str):
        return None, b""
    try:
        data = binascii.a2b_base64(value.replace("\n", "").replace("\r", ""), strict_mode=True)
    except ValueError:
        return None, b""
    return sops.by_mark(data), data


def _metadata(obj: Object) -> dict[str, Any]:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _name(obj: Object) -> str:
    return f"{_metadata(obj).get('namespace') or ''}/{_metadata(obj).get('name') or ''}"


def _kind(obj: Object) -> str:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{obj.get('kind', '')}.{version}.{group or '[noGrp]'}"
