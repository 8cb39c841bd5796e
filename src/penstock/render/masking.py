"""Secret values, put out of sight: what a person is shown of a build with secrets in it.

A build is made twice, with the keys and without, with the variables of Secrets and with placeholders. What differs is
secret, wherever it landed: in a Secret, in a ConfigMap that shares a file with one, in an object that an encrypted
patch changed, or in a text around a variable.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from penstock import sops

if TYPE_CHECKING:
    from collections.abc import Sequence

Object = dict[str, Any]

MASK = "**SOPS**"
ENCODED_MASK = base64.b64encode(MASK.encode()).decode()
"""The mask where base64 is expected."""

_CIPHERTEXT = "ENC["
_IDENTITY = frozenset({"apiVersion", "kind"})


def masked(objects: Sequence[Object], without_keys: Sequence[Object] | None) -> list[Object]:
    """The objects of a build as they may be shown.

    `without_keys` is the same build made without keys, whose objects stand in the same order. None when it could not
    be made: then nothing is known to be public, and everything but the identity of objects is masked.
    """
    if without_keys is None or len(objects) != len(without_keys):
        return [_object(obj, None) for obj in objects]
    return [_object(obj, other) for obj, other in zip(objects, without_keys, strict=True)]


def masked_ciphertext(objects: Sequence[Object]) -> list[Object]:
    """The objects of a build without keys: ciphertext is masked, and what SOPS wrote beside it is left out."""
    return [
        {key: _without_ciphertext(value, encoded=_is_encoded(obj, key)) for key, value in _bare(obj).items()}
        for obj in objects
    ]


def is_masked(obj: Any) -> bool:
    """Whether something in it is masked."""
    if isinstance(obj, dict):
        return any(map(is_masked, obj.values()))
    if isinstance(obj, list):
        return any(map(is_masked, obj))
    return obj in (MASK, ENCODED_MASK)


def hidden_values(objects: Sequence[Object], shown: Sequence[Object]) -> frozenset[str]:
    """The texts that a mask stands for, so that they can be kept out of messages."""
    found: set[str] = set()
    for obj, masked_obj in zip(objects, shown, strict=True):
        _collect(obj, masked_obj, found)
    return frozenset(found)


def _collect(value: Any, shown: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _collect(item, shown.get(key), found)
    elif isinstance(value, list):
        for item, other in zip(value, shown, strict=True):
            _collect(item, other, found)
    elif shown in (MASK, ENCODED_MASK) and value != shown:
        found.add(str(value))


def _object(obj: Object, other: Object | None) -> Object:
    """The identity is never masked: a suffix in a name is a digest of the content, and no secret."""
    known = other if other is not None and obj.get("kind") == other.get("kind") else {}
    shown = {
        key: value if key in _IDENTITY else _masked(value, known.get(key), encoded=_is_encoded(obj, key))
        for key, value in obj.items()
    }
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and isinstance(shown["metadata"], dict):
        shown["metadata"] |= {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return shown


def _is_encoded(obj: Object, key: str) -> bool:
    """Whether values below that key are base64."""
    return key == "data" and obj.get("kind") == "Secret"


def _masked(value: Any, other: Any, *, encoded: bool) -> Any:
    """The value, with everything masked that is not just so in the other one."""
    if isinstance(value, dict):
        known = other if isinstance(other, dict) else {}
        return {key: _masked(item, known.get(key), encoded=encoded) for key, item in value.items()}
    if isinstance(value, list):
        items = other if isinstance(other, list) and len(other) == len(value) else [None] * len(value)
        return [_masked(item, known, encoded=encoded) for item, known in zip(value, items, strict=True)]
    if value is None or (type(value) is type(other) and value == other):
        return value
    return ENCODED_MASK if encoded else MASK


def _without_ciphertext(value: Any, *, encoded: bool) -> Any:
    if isinstance(value, dict):
        return {key: _without_ciphertext(item, encoded=encoded) for key, item in _bare(value).items()}
    if isinstance(value, list):
        return [_without_ciphertext(item, encoded=encoded) for item in value]
    if isinstance(value, str) and (value.startswith(_CIPHERTEXT) or (encoded and _is_sealed(value))):
        return ENCODED_MASK if encoded else MASK
    return value


def _bare(value: Object) -> Object:
    """Without what SOPS writes beside ciphertext: a block, or in a dotenv file keys of that name."""
    block, dotenv = value.get("sops"), "sops_mac" in value
    return {
        key: item
        for key, item in value.items()
        if not (key == "sops" and isinstance(block, dict) and "mac" in block)
        and not (dotenv and str(key).startswith("sops_"))
    }


def _is_sealed(value: str) -> bool:
    """Whether a text in base64 is ciphertext, or an encrypted file."""
    try:
        data = binascii.a2b_base64(value.replace("\n", ""), strict_mode=True)
    except ValueError:
        return False
    return data.startswith(_CIPHERTEXT.encode()) or sops.by_mark(data) is not None
