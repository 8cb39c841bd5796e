"""The `sops` block of a file: who can open it, by which rules it was encrypted, and the MAC."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from penstock.sops.errors import LoadError
from penstock.sops.keys import TYPES, KeyGroup, MasterKey, read_key, write_key
from penstock.sops.rules import Rules
from penstock.sops.tree import plain_data
from penstock.sops.values import Branch, Timestamp, Value

VERSION = "3.13.2"  # the SOPS whose file format we write
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)\Z")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Everything SOPS keeps beside the values."""

    groups: tuple[KeyGroup, ...]
    rules: Rules = Rules()  # noqa: RUF009 - frozen, so one for all is fine
    threshold: int = 0
    mac_only_encrypted: bool = False
    mac: str = ""
    last_modified: str = ""
    version: str = VERSION

    @property
    def keys(self) -> tuple[MasterKey, ...]:
        """All master keys of all groups."""
        return tuple(key for group in self.groups for key in group)

    @property
    def needed(self) -> int:
        """How many key groups must be opened."""
        return (self.threshold or len(self.groups)) if len(self.groups) > 1 else 1


def read(block: Value) -> Metadata:
    """The metadata of a file, from its `sops` block."""
    data = _texts(plain_data(block))
    if not isinstance(data, dict):
        raise LoadError("the sops entry is not a mapping")
    return Metadata(
        groups=_groups(data),
        rules=Rules(**{rule.name: _text(data, rule.name) for rule in fields(Rules)}).or_default(),
        threshold=_whole_number(data, "shamir_threshold"),
        mac_only_encrypted=_flag(data, "mac_only_encrypted"),
        mac=_text(data, "mac"),
        last_modified=_moment(data),
        version=_text(data, "version"),
    )


def write(metadata: Metadata) -> Branch:
    """The `sops` block of a file, names sorted."""
    data: dict[str, Any] = {
        "lastmodified": metadata.last_modified,
        "mac": metadata.mac,
        "version": metadata.version,
    }
    data |= {rule.name: text for rule in fields(Rules) if (text := getattr(metadata.rules, rule.name))}
    if metadata.threshold:
        data["shamir_threshold"] = metadata.threshold
    if metadata.mac_only_encrypted:
        data["mac_only_encrypted"] = True
    if len(metadata.groups) == 1:
        data |= _by_kind(metadata.groups[0])
    else:
        data["key_groups"] = [{"hc_vault": [], "age": []} | _by_kind(group) for group in metadata.groups]
    block = _branch(data)
    if not isinstance(block, Branch):
        raise TypeError("metadata is a mapping")
    return block


def _groups(data: dict[str, Any]) -> tuple[KeyGroup, ...]:
    whole = _group(data)
    if whole:
        return (whole,)
    groups = data.get("key_groups") or []
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise LoadError("key_groups in the SOPS metadata is not a list of mappings")
    if not groups:
        raise LoadError("the SOPS metadata names no keys")
    return tuple(_group(group) for group in groups)


def _group(data: dict[str, Any]) -> KeyGroup:
    keys: list[MasterKey] = []
    for kind in TYPES:
        entries = data.get(kind) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise LoadError(f"{kind} in the SOPS metadata is not a list of mappings")
        keys.extend(read_key(kind, entry) for entry in entries)
    return tuple(keys)


def _by_kind(group: KeyGroup) -> dict[str, Any]:
    kinds = {key.kind for key in group}
    return {kind: [write_key(key) for key in group if key.kind == kind] for kind in sorted(kinds)}


def _branch(value: Any) -> Value:
    if isinstance(value, dict):
        return Branch((name, _branch(value[name])) for name in sorted(value))
    if isinstance(value, list):
        return [_branch(item) for item in value]
    return value  # type: ignore[no-any-return]  # a scalar that we put there ourselves


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return value.text if isinstance(value, Timestamp) else value


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise LoadError(f"{name} in the SOPS metadata is not text")
    return str(value)


def _whole_number(data: dict[str, Any], name: str) -> int:
    text = _text(data, name) or "0"
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise LoadError(f"{name} in the SOPS metadata is not a number")
    return int(text)


def _flag(data: dict[str, Any], name: str) -> bool:
    text = _text(data, name).lower()
    if text not in ("", "true", "false", "1", "0"):
        raise LoadError(f"{name} in the SOPS metadata is neither true nor false")
    return text in ("true", "1")


def _moment(data: dict[str, Any]) -> str:
    match = _TIME.match(_text(data, "lastmodified"))
    if not match:
        raise LoadError("lastmodified in the SOPS metadata is not a time")
    return match[1] + ("Z" if match[2] == "+00:00" else match[2])
