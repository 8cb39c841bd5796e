"""The master keys a file names: who can open its data key, and what each of them was given."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from penstock.sops.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class AgeKey:
    """An age recipient: a native, post-quantum or SSH public key."""

    kind: ClassVar[str] = "age"
    recipient: str
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return self.recipient


@dataclass(frozen=True, slots=True)
class PgpKey:
    """An OpenPGP key by its fingerprint."""

    kind: ClassVar[str] = "pgp"
    fp: str
    created_at: str = ""
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return self.fp


@dataclass(frozen=True, slots=True)
class VaultKey:
    """A key of HashiCorp Vault's (or OpenBao's) transit engine."""

    kind: ClassVar[str] = "hc_vault"
    vault_address: str
    engine_path: str
    key_name: str
    created_at: str = ""
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return f"{self.vault_address}/v1/{self.engine_path}/keys/{self.key_name}"


@dataclass(frozen=True, slots=True)
class AwsKey:
    """A key of AWS KMS."""

    kind: ClassVar[str] = "kms"
    arn: str
    role: str = ""
    context: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    aws_profile: str = ""
    created_at: str = ""
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return self.arn


@dataclass(frozen=True, slots=True)
class GcpKey:
    """A key of Google Cloud KMS."""

    kind: ClassVar[str] = "gcp_kms"
    resource_id: str
    created_at: str = ""
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return self.resource_id


@dataclass(frozen=True, slots=True)
class AzureKey:
    """A key of Azure Key Vault."""

    kind: ClassVar[str] = "azure_kv"
    vault_url: str
    # SOPS' own field is called `name`, which is taken here.
    key_name: str
    version: str = ""
    created_at: str = ""
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return f"{self.vault_url}/keys/{self.key_name}/{self.version}"


@dataclass(frozen=True, slots=True)
class HuaweiKey:
    """A key of Huawei Cloud KMS: kept when a file is written again, never used."""

    kind: ClassVar[str] = "hckms"
    key_id: str
    created_at: str = ""
    enc: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return self.key_id


MasterKey: TypeAlias = AgeKey | PgpKey | VaultKey | AwsKey | GcpKey | AzureKey | HuaweiKey
KeyGroup: TypeAlias = tuple[MasterKey, ...]

# In the order in which SOPS reads them from a file: it is the order in which they are tried.
TYPES: dict[str, type[MasterKey]] = {
    kind.kind: kind for kind in (AwsKey, GcpKey, HuaweiKey, AzureKey, VaultKey, PgpKey, AgeKey)
}
_OPTIONAL = frozenset(("role", "context"))
_RENAMED: dict[tuple[type[MasterKey], str], str] = {(AzureKey, "key_name"): "name"}


def sealed(key: MasterKey, enc: str) -> MasterKey:
    """The same key with another sealed copy of the data key."""
    return replace(key, enc=enc)


def dated(groups: tuple[KeyGroup, ...], moment: str) -> tuple[KeyGroup, ...]:
    """The keys with the moment at which they were given the data key; age keys have no place for it."""
    return tuple(
        tuple(key if isinstance(key, AgeKey) else replace(key, created_at=moment) for key in group) for group in groups
    )


def read_key(kind: str, data: Mapping[str, Any]) -> MasterKey:
    """A master key from the metadata of a file."""
    made = TYPES[kind]
    given = {
        field.name: data[wire] for field in fields(made) if data.get(wire := _wire(made, field.name)) not in (None, "")
    }
    wrong = [name for name, value in given.items() if not isinstance(value, dict if name == "context" else str)]
    if wrong:
        raise LoadError(f"{kind}.{wrong[0]} in the SOPS metadata is not text")
    try:
        return made(**given)
    except TypeError as error:
        missing = next(f.name for f in fields(made) if f.name not in given)
        raise LoadError(f"a key under {kind} in the SOPS metadata has no {_wire(made, missing)}") from error


def write_key(key: MasterKey) -> dict[str, Any]:
    """The metadata of a master key, names sorted."""
    made = type(key)
    values = {_wire(made, field.name): getattr(key, field.name) for field in fields(key)}
    return {name: values[name] for name in sorted(values) if values[name] or name not in _OPTIONAL}


def _wire(made: type[MasterKey], name: str) -> str:
    return _RENAMED.get((made, name), name)
