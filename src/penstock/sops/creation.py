"""`.sops.yaml`: for whom, and by which rules, a new file is encrypted."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from penstock.sops import age
from penstock.sops.errors import KeyFileError, LoadError, RuleError
from penstock.sops.keys import AgeKey, AwsKey, AzureKey, GcpKey, HuaweiKey, MasterKey, PgpKey, VaultKey
from penstock.sops.metadata import Metadata
from penstock.sops.rules import Rules, compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAME = ".sops.yaml"
_AZURE = re.compile(r"(https://[^/]+)/keys/([^/]+)(?:/([^/]*))?\Z")
_VAULT = re.compile(r"/v1/(.+)/keys/([^/]+)/?\Z")


@dataclass(frozen=True, slots=True)
class CreationRule:
    """One rule; without a pattern it is for every file."""

    path_regex: str
    metadata: Metadata

    def matches(self, path: str) -> bool:
        return not self.path_regex or bool(compiled(self.path_regex).search(path))


@dataclass(frozen=True, slots=True)
class CreationRules:
    """A `.sops.yaml`: its rules in order, and the folder that paths are relative to."""

    file: Path
    rules: tuple[CreationRule, ...]

    def rule_for(self, path: Path) -> CreationRule | None:
        """The first rule whose pattern is found in the file's path, seen from the folder of `.sops.yaml`."""
        folder = self.file.resolve().parent
        absolute = path.resolve()
        name = str(absolute.relative_to(folder) if absolute.is_relative_to(folder) else absolute)
        return next((rule for rule in self.rules if rule.matches(name)), None)


def find(path: Path) -> Path | None:
    """The nearest `.sops.yaml`, from a file's folder upwards."""
    return next((file for folder in path.resolve().parents if (file := folder / NAME).is_file()), None)


def read(file: Path) -> CreationRules:
    """The rules of a `.sops.yaml`; RuleError says which one makes no sense."""
    try:
        content: Any = yaml.safe_load(file.read_bytes())
    except (OSError, yaml.YAMLError, UnicodeError) as error:
        raise RuleError(f"{file} cannot be read ({type(error).__name__})") from None
    entries = content.get("creation_rules") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        return CreationRules(file, ())
    return CreationRules(file, tuple(_rule(entry, f"{file}: rule {at}") for at, entry in enumerate(entries, start=1)))


def _rule(entry: Any, where: str) -> CreationRule:
    if not isinstance(entry, dict):
        raise RuleError(f"{where} is not a mapping")
    try:
        pattern = str(entry.get("path_regex") or "")
        if pattern:
            compiled(pattern)
        metadata = Metadata(
            groups=tuple(_groups(entry)),
            rules=Rules(**{rule.name: str(entry.get(rule.name) or "") for rule in fields(Rules)}),
            threshold=int(entry.get("shamir_threshold") or 0),
            mac_only_encrypted=bool(entry.get("mac_only_encrypted")),
        )
    except (KeyFileError, LoadError, ValueError, TypeError) as error:
        raise RuleError(f"{where}: {error}") from error
    return CreationRule(pattern, metadata)


def _groups(entry: dict[str, Any]) -> Iterator[tuple[MasterKey, ...]]:
    groups = entry.get("key_groups")
    if isinstance(groups, list) and groups:
        for group in groups:
            yield _unique(_group(group))
        return
    yield _unique(
        [key for name, make in _SHORT.items() for text in _texts(entry.get(name), name) for key in make(text)]
    )


def _group(group: Any) -> list[MasterKey]:
    if not isinstance(group, dict):
        raise KeyFileError("a key group is not a mapping")
    keys: list[MasterKey] = [key for part in group.get("merge") or [] for key in _group(part)]
    for name, make in _LONG.items():
        for item in group.get(name) or []:
            keys.extend(make(item))
    return keys


def _unique(keys: list[MasterKey]) -> tuple[MasterKey, ...]:
    return tuple({(key.kind, key.name): key for key in keys}.values())


def _texts(value: Any, name: str) -> list[str]:
    """A list, or one text with commas."""
    items = value.split(",") if isinstance(value, str) else value or []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise KeyFileError(f"{name} is neither text nor a list of texts")
    return [item.strip() for item in items if item.strip()]


def age_keys(text: str) -> list[MasterKey]:
    """age recipients, with commas between them."""
    recipients = [item.strip() for item in text.split(",") if item.strip()]
    for recipient in recipients:
        age.check_recipient(recipient)
    return [AgeKey(recipient) for recipient in recipients]


def pgp_keys(text: str) -> list[MasterKey]:
    """PGP fingerprints, with commas between them; spaces inside do not count."""
    return [PgpKey("".join(item.split())) for item in text.split(",") if item.strip()]


def _aws_keys(item: Any) -> list[MasterKey]:
    if isinstance(item, str):
        arn, _, role = item.partition("+")
        return [AwsKey(arn.strip(), role=role.strip())]
    context = {str(name): str(value) for name, value in (item.get("context") or {}).items()}
    return [AwsKey(str(item["arn"]), role=str(item.get("role") or ""), context=context)]


def _gcp_keys(item: Any) -> list[MasterKey]:
    return [GcpKey(item.replace(" ", "") if isinstance(item, str) else str(item["resource_id"]))]


def _azure_keys(item: Any) -> list[MasterKey]:
    if not isinstance(item, str):
        return [AzureKey(str(item["vaultUrl"]), str(item["key"]), str(item.get("version") or ""))]
    match = _AZURE.match(item)
    if not match:
        raise KeyFileError(f"{item!r} is not the address of an Azure Key Vault key")
    return [AzureKey(match[1], match[2], match[3] or "")]


def _vault_keys(item: Any) -> list[MasterKey]:
    parts = urlsplit(str(item))
    match = _VAULT.search(parts.path)
    if not match or not parts.scheme:
        raise KeyFileError(f"{item!r} is not of the form https://vault/v1/transit/keys/name")
    return [VaultKey(f"{parts.scheme}://{parts.netloc}", match[1], match[2])]


def _huawei_keys(item: Any) -> list[MasterKey]:
    return [HuaweiKey(item if isinstance(item, str) else str(item["key_id"]))]


_BOTH: dict[str, Callable[[Any], list[MasterKey]]] = {
    "age": age_keys,
    "pgp": pgp_keys,
    "kms": _aws_keys,
    "gcp_kms": _gcp_keys,
    "hckms": _huawei_keys,
    "azure_keyvault": _azure_keys,
}
_SHORT = {**_BOTH, "hc_vault_transit_uri": _vault_keys}
_LONG = {**_BOTH, "hc_vault": _vault_keys}
