"""Keys and credentials out of a Secret: what each of its entries is, is said by the entry's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.sops import age, aws, azure, gcp, pgp
from penstock.sops.age import AgeService, Identity
from penstock.sops.datakey import Keyring, KeyService
from penstock.sops.errors import KeyFileError, SopsError
from penstock.sops.pgp import OpenPgpKey, PgpService
from penstock.sops.vault import VaultService, static_token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.sops.aws import AwsCredentials
    from penstock.sops.azure import AzureCredentials
    from penstock.sops.gcp import GcpCredentials

AGE_SUFFIX = ".agekey"
PGP_SUFFIX = ".asc"


@dataclass(slots=True)
class Credentials:
    """What was imported. It prints no secret."""

    age: list[Identity] = field(default_factory=list[Identity])
    pgp: list[OpenPgpKey] = field(default_factory=list[OpenPgpKey])
    vault_token: str = field(default="", repr=False)
    aws: AwsCredentials | None = None
    azure: AzureCredentials | None = None
    gcp: GcpCredentials | None = None

    def services(self) -> dict[str, KeyService]:
        """A key service for everything that was imported; age and PGP are always there, if without keys."""
        found: dict[str, KeyService] = {"age": AgeService(tuple(self.age)), "pgp": PgpService(tuple(self.pgp))}
        if self.vault_token:
            found["hc_vault"] = VaultService(static_token(self.vault_token))
        if self.aws:
            found["kms"] = aws.AwsService(self.aws)
        if self.azure:
            found["azure_kv"] = azure.AzureService(self.azure)
        if self.gcp:
            found["gcp_kms"] = gcp.GcpService(self.gcp)
        return found

    def keyring(self) -> Keyring:
        """A keyring of what was imported and nothing else."""
        return Keyring(self.services())


def import_keys(data: Mapping[str, bytes], *, secret: str, only_age: bool = False) -> Credentials:
    """The keys and credentials in a Secret's data; an entry with an unknown name is not ours.

    `secret` is the Secret's `namespace/name`, for the error.
    """
    found = Credentials()
    for name in sorted(data):
        reader = _reader(name, only_age=only_age)
        if reader is None:
            continue
        try:
            reader(found, data[name])
        except SopsError as error:
            raise KeyFileError(
                f"failed to import '{name}' data from sops decryption Secret '{secret}': {error}"
            ) from error
    return found


def _reader(name: str, *, only_age: bool) -> Callable[[Credentials, bytes], None] | None:
    if name.endswith(AGE_SUFFIX):
        return _read_age
    if only_age:
        return None
    return _read_pgp if name.endswith(PGP_SUFFIX) else _READERS.get(name)


def _read_age(found: Credentials, value: bytes) -> None:
    found.age += age.identities(_decoded(value))


def _read_pgp(found: Credentials, value: bytes) -> None:
    found.pgp += pgp.read_keys(_decoded(value))


def _read_vault(found: Credentials, value: bytes) -> None:
    found.vault_token = _decoded(value).strip()


def _read_aws(found: Credentials, value: bytes) -> None:
    found.aws = aws.credentials(value)


def _read_azure(found: Credentials, value: bytes) -> None:
    found.azure = azure.credentials(value)


def _read_gcp(found: Credentials, value: bytes) -> None:
    found.gcp = gcp.credentials(value)


_READERS: dict[str, Callable[[Credentials, bytes], None]] = {
    "sops.vault-token": _read_vault,
    "sops.aws-kms": _read_aws,
    "sops.azure-kv": _read_azure,
    "sops.gcp-kms": _read_gcp,
}


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise KeyFileError("it is not text") from None
