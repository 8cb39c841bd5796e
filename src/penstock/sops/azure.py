"""Azure Key Vault, through Azure's SDK (extra `azure`)."""

from __future__ import annotations

import asyncio
import binascii
import codecs
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import yaml

from penstock.sops.errors import DataKeyError, KeyFileError
from penstock.sops.identity import quiet
from penstock.sops.keys import AzureKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.sops.identity import ServiceAccount
    from penstock.sops.keys import MasterKey

_SECONDS = 60

T = TypeVar("T")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class AzureIdentity(Protocol):
    """Who asks the vault."""

    async def credential(self) -> Any:
        """A token credential of azure-identity."""
        ...


@dataclass(frozen=True, slots=True)
class AzureCredentials:
    """An application, or a managed identity, from a Secret. What is empty was not given."""

    tenant_id: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_certificate: str = field(default="", repr=False)
    client_certificate_password: str = field(default="", repr=False)
    send_chain: bool = False
    authority_host: str = ""

    async def credential(self) -> Any:
        """The credential for the first of: secret, certificate, managed identity."""
        return await asyncio.to_thread(self._credential)

    def _credential(self) -> Any:
        _check_library()
        from azure.identity import CertificateCredential, ClientSecretCredential, ManagedIdentityCredential

        where = {"authority": self.authority_host} if self.authority_host else {}
        if self.tenant_id and self.client_id and self.client_secret:
            return ClientSecretCredential(self.tenant_id, self.client_id, self.client_secret, **where)
        if self.tenant_id and self.client_id and self.client_certificate:
            return CertificateCredential(
                self.tenant_id,
                self.client_id,
                certificate_data=self.client_certificate.encode(),
                password=self.client_certificate_password or None,
                send_certificate_chain=self.send_chain,
                **where,
            )
        return ManagedIdentityCredential(client_id=self.client_id)


@dataclass(frozen=True, slots=True)
class AzureOwnIdentity:
    """The identity of the process: what the SDK finds in its surroundings."""

    async def credential(self) -> Any:
        return await asyncio.to_thread(self._credential)

    def _credential(self) -> Any:
        _check_library()
        from azure.identity import DefaultAzureCredential

        return DefaultAzureCredential()


@dataclass(frozen=True, slots=True)
class AzureServiceAccount:
    """The application that trusts the tokens of a Kubernetes service account, as its annotations say."""

    account: ServiceAccount

    async def credential(self) -> Any:
        tenant = await self.account.annotation("azure.workload.identity/tenant-id")
        client = await self.account.annotation("azure.workload.identity/client-id")
        token = await self.account.token("api://AzureADTokenExchange")
        return await asyncio.to_thread(self._credential, tenant, client, token)

    @staticmethod
    def _credential(tenant: str, client: str, token: str) -> Any:
        _check_library()
        from azure.identity import ClientAssertionCredential

        return ClientAssertionCredential(tenant, client, lambda: token)


@dataclass(frozen=True, slots=True)
class AzureService:
    """Opens and seals data keys with RSA keys of a vault (OAEP with SHA-256)."""

    identity: AzureIdentity
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More arguments for the SDK's client, such as its transport."""

    async def open(self, key: MasterKey) -> bytes:
        def decrypt(client: Any, algorithm: Any, key: AzureKey) -> bytes:
            sealed = binascii.a2b_base64(key.enc.replace("-", "+").replace("_", "/") + "==")
            return bytes(client.decrypt(algorithm, sealed).plaintext)

        try:
            return await self._within(key, decrypt)
        except DataKeyError as error:
            raise DataKeyError(f"failed to decrypt sops data key with Azure Key Vault key: {error}") from error

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        if isinstance(key, AzureKey) and not key.version:
            raise DataKeyError("name a version of the key; sealed with the newest one, the file outlives its key")

        def encrypt(client: Any, algorithm: Any, _: AzureKey) -> str:
            sealed = bytes(client.encrypt(algorithm, data_key).ciphertext)
            return binascii.b2a_base64(sealed, newline=False).decode().rstrip("=").replace("+", "-").replace("/", "_")

        try:
            return await self._within(key, encrypt)
        except DataKeyError as error:
            raise DataKeyError(f"failed to encrypt sops data key with Azure Key Vault key: {error}") from error

    async def _within(self, key: MasterKey, ask: Callable[[Any, Any, AzureKey], T]) -> T:
        if not isinstance(key, AzureKey):
            raise DataKeyError("must provide a key of the kind azure_kv")
        try:
            async with asyncio.timeout(_SECONDS):
                return await asyncio.to_thread(self._ask, key, await self.identity.credential(), ask)
        except TimeoutError:
            raise DataKeyError(f"no answer in {_SECONDS} s") from None
        except ValueError as error:  # credentials that make no sense to the SDK
            raise DataKeyError(type(error).__name__) from None

    def _ask(self, key: AzureKey, credential: Any, ask: Callable[[Any, Any, AzureKey], T]) -> T:
        from azure.core.exceptions import AzureError
        from azure.keyvault.keys.crypto import CryptographyClient, EncryptionAlgorithm

        name = f"{key.vault_url.rstrip('/')}/keys/{key.key_name}" + (f"/{key.version}" if key.version else "")
        try:
            with closing(credential), CryptographyClient(name, credential, **self.options) as client:
                return ask(client, EncryptionAlgorithm.rsa_oaep_256, key)
        except (AzureError, ValueError, TypeError, AttributeError) as error:
            raise DataKeyError(f"{key.name} ({type(error).__name__})") from None


def credentials(text: bytes) -> AzureCredentials:
    """Credentials from the YAML or JSON of a Secret's entry; UTF-16 with a byte order mark is fine."""
    encoding = next((name for mark, name in _MARKS.items() if text.startswith(mark)), "utf-8")
    try:
        data: Any = yaml.safe_load(text.decode(encoding))
    except (yaml.YAMLError, UnicodeError):
        raise KeyFileError("it is neither YAML nor JSON") from None
    if not isinstance(data, dict):
        raise KeyFileError("it is not a mapping")

    found = AzureCredentials(
        tenant_id=_text(data, "tenantId"),
        client_id=_text(data, "clientId"),
        client_secret=_text(data, "clientSecret"),
        client_certificate=_text(data, "clientCertificate"),
        client_certificate_password=_text(data, "clientCertificatePassword"),
        send_chain=bool(data.get("clientCertificateSendChain")),
        authority_host=_text(data, "authorityHost"),
    )
    if found.tenant_id and found.client_id and (found.client_secret or found.client_certificate):
        return found
    if all(data.get(name) for name in ("tenant", "appId", "password")):  # what `az ad sp create-for-rbac` prints
        return replace(
            found,
            tenant_id=_text(data, "tenant"),
            client_id=_text(data, "appId"),
            client_secret=_text(data, "password"),
        )
    if not found.client_id:
        raise KeyFileError("it needs tenantId, clientId and clientSecret or clientCertificate; or clientId alone")
    return found


def _text(data: Mapping[str, Any], name: str) -> str:
    return str(data.get(name) or "")


def _check_library() -> None:
    if find_spec("azure") is None or find_spec("azure.keyvault") is None:
        raise DataKeyError("Azure Key Vault needs the extra 'azure': pip install 'penstock[azure]'")
    quiet("azure", "msal", "urllib3")
