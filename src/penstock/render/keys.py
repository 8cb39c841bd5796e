"""With which keys a Kustomization is decrypted: its own Secret's, else the operator's age keys, else an identity."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.render.decryption import PROVIDER
from penstock.render.recipe import KeyMaterial
from penstock.sops import KeyFileError, Keyring, KeyService
from penstock.sops.aws import AwsOwnIdentity, AwsService, AwsServiceAccount
from penstock.sops.azure import AzureOwnIdentity, AzureService, AzureServiceAccount
from penstock.sops.credentials import Credentials, import_keys
from penstock.sops.gcp import GcpOwnIdentity, GcpService, GcpServiceAccount
from penstock.sops.identity import ServiceAccount, ServiceAccounts
from penstock.sops.vault import VaultService, environment_token
from penstock.sops.vault_login import VaultLogin

if TYPE_CHECKING:
    from penstock.render.decryption import Object

ReadSecretData = Callable[[str, str], Awaitable[Mapping[str, bytes]]]
"""Reads the decoded data of a Secret by namespace and name; raises when it is not there."""


@dataclass(frozen=True, slots=True)
class Decryption:
    """What a Kustomization says about decryption."""

    provider: str
    secret_name: str = ""
    service_account: str = ""

    @classmethod
    def of(cls, spec: Object) -> Decryption | None:
        """From `spec.decryption`; None when there is none."""
        decryption: Any = spec.get("decryption")
        if not isinstance(decryption, dict):
            return None
        secret = decryption.get("secretRef") or {}
        return cls(
            str(decryption.get("provider") or ""),
            str(secret.get("name") or ""),
            str(decryption.get("serviceAccountName") or ""),
        )


@dataclass(frozen=True, slots=True)
class DecryptionSettings:
    """What the operator configured for all Kustomizations."""

    age_secret: tuple[str, str] | None = None
    """Namespace and name of a Secret with age keys for those who name no Secret of their own."""
    default_service_account: str = ""
    service_accounts: ServiceAccounts | None = None
    vault_logins: Mapping[str, str] | None = None
    """Login path by Vault address; None: no login with service accounts."""
    vault_config_map: str = ""
    own_account: ServiceAccount | None = None
    """The controller's own service account, for logins to Vault where a Kustomization names none."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


async def open_keyring(
    decryption: Decryption | None, namespace: str, read: ReadSecretData, settings: DecryptionSettings
) -> Keyring:
    """All key services that a Kustomization may use; none when it asks for no decryption or for another provider."""
    if decryption is None or decryption.provider != PROVIDER:
        return Keyring()
    credentials = await _imported(decryption, namespace, read, settings)
    account = _account(decryption, namespace, settings)
    return Keyring(identities(account) | _vault(account, settings) | credentials.services())


async def read_keys(
    decryption: Decryption | None,
    namespace: str,
    read: ReadSecretData,
    settings: DecryptionSettings,
    *,
    verify: bool = False,
) -> KeyMaterial | None:
    """What opens a Kustomization's encrypted files, as plain data for a recipe; None when it asks for no decryption."""
    if decryption is None or decryption.provider != PROVIDER:
        return None
    place = _place(decryption, namespace, settings)
    account = decryption.service_account or settings.default_service_account
    return KeyMaterial(
        provider=decryption.provider,
        secret="/".join(place) if place else "",
        data=dict(await read(*place)) if place else {},
        only_age=not decryption.secret_name,
        verify=verify,
        account=account or ("vault" if settings.vault_logins is not None else ""),
        environment={name: value for name, value in settings.environment.items() if name.startswith("VAULT_")},
    )


def keyring_of(keys: KeyMaterial) -> Keyring:
    """All key services that key material opens; clouds are asked as its account, or else as the controller itself."""
    if keys.provider != PROVIDER:
        return Keyring()
    if not keys.travels:
        raise KeyFileError(f"the keys of the service account {keys.account!r} cannot be used away from the cluster")
    credentials = import_keys(keys.data, secret=keys.secret, only_age=keys.only_age)
    settings = DecryptionSettings(environment=keys.environment)
    granted = keys.granted
    account = ServiceAccount(granted, granted.namespace, granted.name) if granted is not None else None
    return Keyring(identities(account) | _vault(account, settings) | credentials.services())


async def _imported(
    decryption: Decryption, namespace: str, read: ReadSecretData, settings: DecryptionSettings
) -> Credentials:
    place = _place(decryption, namespace, settings)
    if place is None:
        return Credentials()
    data = await read(*place)
    # In a thread: the libraries for PGP and SSH keys are loaded by the first such key.
    return await asyncio.to_thread(import_keys, data, secret="/".join(place), only_age=not decryption.secret_name)


def _place(decryption: Decryption, namespace: str, settings: DecryptionSettings) -> tuple[str, str] | None:
    """Namespace and name of the Secret with the keys: the own one, else the operator's."""
    return (namespace, decryption.secret_name) if decryption.secret_name else settings.age_secret


def _account(decryption: Decryption, namespace: str, settings: DecryptionSettings) -> ServiceAccount | None:
    name = decryption.service_account or settings.default_service_account
    if not name:
        return None
    if settings.service_accounts is None:
        raise KeyFileError(f"decryption as the service account {name!r} is not enabled in the controller")
    return ServiceAccount(settings.service_accounts, namespace, name)


def identities(account: ServiceAccount | None) -> dict[str, KeyService]:
    """Clouds asked without a Secret: on behalf of a service account, or of the controller itself."""
    if account is None:
        return {
            "kms": AwsService(AwsOwnIdentity()),
            "azure_kv": AzureService(AzureOwnIdentity()),
            "gcp_kms": GcpService(GcpOwnIdentity()),
        }
    return {
        "kms": AwsService(AwsServiceAccount(account)),
        "azure_kv": AzureService(AzureServiceAccount(account)),
        "gcp_kms": GcpService(GcpServiceAccount(account)),
    }


def _vault(account: ServiceAccount | None, settings: DecryptionSettings) -> dict[str, KeyService]:
    environment = settings.environment
    more = {"namespace": environment.get("VAULT_NAMESPACE", ""), "ca_file": environment.get("VAULT_CACERT", "")}
    account = account or settings.own_account
    if settings.vault_logins is not None and account is not None:
        login = VaultLogin(settings.vault_logins, settings.vault_config_map, account)
        return {"hc_vault": VaultService(login, **more)}
    return {"hc_vault": VaultService(environment_token(environment), **more)}
