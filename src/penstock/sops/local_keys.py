"""The keys of the person at the keyboard: what SOPS' own environment variables and files say.

A controller never looks here. No command is run for an age key; for PGP the user's own GnuPG is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sops import age, pgp
from penstock.sops.age import AgeService, Identity
from penstock.sops.aws import AwsOwnIdentity, AwsService
from penstock.sops.azure import AzureOwnIdentity, AzureService
from penstock.sops.datakey import Keyring, KeyService
from penstock.sops.errors import KeyFileError
from penstock.sops.gcp import GcpOwnIdentity, GcpService
from penstock.sops.gnupg import GnuPgService
from penstock.sops.pgp import OpenPgpKey, PgpService
from penstock.sops.vault import VaultService, environment_token

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NO_COMMANDS = ("SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_CMD")


@dataclass(frozen=True, slots=True)
class LocalKeys:
    """age identities, and PGP keys from files; without such files, whatever GnuPG has."""

    age: tuple[Identity, ...]
    pgp: tuple[OpenPgpKey, ...]
    environment: Mapping[str, str]

    def keyring(self) -> Keyring:
        services: dict[str, KeyService] = {
            "age": AgeService(self.age),
            "pgp": PgpService(self.pgp) if self.pgp else GnuPgService(),
            "hc_vault": VaultService(environment_token(self.environment)),
            "kms": AwsService(AwsOwnIdentity()),
            "azure_kv": AzureService(AzureOwnIdentity()),
            "gcp_kms": GcpService(GcpOwnIdentity()),
        }
        return Keyring(services)


def find(
    environment: Mapping[str, str], *, home: Path, age_files: Sequence[Path] = (), pgp_files: Sequence[Path] = ()
) -> LocalKeys:
    """The keys in the files named, else where SOPS looks for them."""
    found = [identity for file in age_files for identity in _identities(file)]
    if not age_files:
        found = _usual(environment, home)
    return LocalKeys(tuple(found), tuple(pgp_keys(pgp_files)), environment)


def pgp_keys(files: Sequence[Path]) -> list[OpenPgpKey]:
    """The PGP keys, secret or public, in armored files."""
    return [key for file in files for key in _pgp_keys(file)]


def _usual(environment: Mapping[str, str], home: Path) -> list[Identity]:
    refused = next((name for name in _NO_COMMANDS if environment.get(name)), None)
    if refused:
        raise KeyFileError(f"{refused} names a program, and none is run for a key; use a key file instead")
    found: list[Identity] = []
    if environment.get("SOPS_AGE_KEY"):
        found += age.identities(environment["SOPS_AGE_KEY"])
    for name in ("SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"):
        if environment.get(name):
            found += _identities(Path(environment[name]))
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    for file in (config / "sops/age/keys.txt", home / ".ssh/id_ed25519", home / ".ssh/id_rsa"):
        found += _if_usable(file)
    return found


def _identities(file: Path) -> list[Identity]:
    try:
        return age.identities(_text(file))
    except KeyFileError as error:
        raise KeyFileError(f"{file}: {error}") from error


def _if_usable(file: Path) -> list[Identity]:
    """The keys in a file that nobody asked for by name: one with a passphrase is passed over."""
    try:
        return age.identities(_text(file)) if file.is_file() else []
    except KeyFileError:
        return []


def _pgp_keys(file: Path) -> list[OpenPgpKey]:
    try:
        return pgp.read_keys(_text(file))
    except KeyFileError as error:
        raise KeyFileError(f"{file}: {error}") from error


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"it cannot be read ({type(error).__name__})") from None
