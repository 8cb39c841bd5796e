"""Tokens and keys for the storages that are clouds."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from penstock.sources.bucket.azure import AzureLogin
from penstock.sources.bucket.client import BucketError
from penstock.sources.bucket.secrets import BucketSecrets, post, refused, text_of
from penstock.sources.identity import NoIdentity, google_token, sdk
from penstock.sources.web import TooLarge, Unreachable, Web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from penstock.api.bucket import BucketSpec

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
_AZURE_SCOPE = "https://storage.azure.com/.default"


def gcs_token(secrets: BucketSecrets, web: Web) -> Callable[[], Awaitable[tuple[str, float]]] | None:
    """Gives tokens for the service account of the Secret, or for our own."""
    if secrets.data is None:
        return _own_gcs_token
    account = service_account(secrets.name, secrets.data)
    return lambda: _gcs_token(account, web)


def azure_login(spec: BucketSpec, secrets: BucketSecrets) -> AzureLogin:
    """The first of the ways that the Secret offers: an identity, the key of the account, a signed query."""
    data = secrets.data
    if data is None:
        own = bool(os.environ.get("AZURE_FEDERATED_TOKEN_FILE") or os.environ.get("AZURE_CLIENT_ID"))
        return AzureLogin(token=_azure_token({}) if own else None)
    if "clientId" in data or "clientCertificate" in data:
        return AzureLogin(token=_azure_token(data))
    if "accountKey" in data:
        try:
            key = base64.b64decode(data["accountKey"].strip(), validate=True)
        except binascii.Error:
            raise refused(f"invalid '{secrets.name}' secret data: 'accountKey' is not in base64") from None
        return AzureLogin(account=_account(spec.endpoint), account_key=key)
    if "sasKey" in data:
        return AzureLogin(sas=text_of(data["sasKey"]).strip())
    return AzureLogin(token=_azure_token(data))


class _ServiceAccount(msgspec.Struct, frozen=True):
    type: str
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = 3600


def service_account(name: str, data: Mapping[str, bytes]) -> _ServiceAccount:
    if "serviceaccount" not in data:
        raise refused(f"invalid '{name}' secret data: required fields 'serviceaccount'")
    try:
        account = msgspec.json.decode(data["serviceaccount"], type=_ServiceAccount)
    except msgspec.MsgspecError:
        raise refused(f"invalid '{name}' secret data: 'serviceaccount' is not the JSON key of one") from None
    if account.type != "service_account" or not account.client_email or not account.private_key:
        # Other types name programs to run and addresses to ask.
        raise refused(f"invalid '{name}' secret data: 'serviceaccount' must be the key of a service account")
    return account


async def _gcs_token(account: _ServiceAccount, web: Web) -> tuple[str, float]:
    now = time.time()
    assertion = await asyncio.to_thread(_assertion, account, int(now))
    form = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}
    try:
        token = msgspec.json.decode(await post(web, account.token_uri, form), type=_Token)
    except (BucketError, Unreachable, TooLarge) as error:
        raise refused(f"failed to get a token for the service account: {error}") from error
    except msgspec.MsgspecError:
        raise refused("failed to get a token for the service account: the answer holds none") from None
    return token.access_token, now + token.expires_in


def _assertion(account: _ServiceAccount, now: int) -> str:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(account.private_key.encode(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise refused("the private key of the service account is not an RSA key in PEM")
    header = {"alg": "RS256", "typ": "JWT", "kid": account.private_key_id}
    claims = {
        "iss": account.client_email,
        "scope": _SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + 3600,
    }
    signed = b".".join(_url(msgspec.json.encode(part)) for part in (header, claims))
    return (signed + b"." + _url(key.sign(signed, padding.PKCS1v15(), hashes.SHA256()))).decode()


async def _own_gcs_token() -> tuple[str, float]:
    try:
        token = await asyncio.to_thread(google_token, _SCOPE)
    except NoIdentity as error:
        raise refused(f"GCP authentication failed: {error}") from error
    return token.word, token.ends


def _azure_token(data: Mapping[str, bytes]) -> Callable[[], Awaitable[tuple[str, float]]]:
    async def token() -> tuple[str, float]:
        return await asyncio.to_thread(_azure_identity, data)

    return token


def _azure_identity(data: Mapping[str, bytes]) -> tuple[str, float]:
    try:
        sdk("azure.identity", "azure")
    except NoIdentity as error:
        raise refused(f"Azure authentication failed: {error}") from error
    from azure.core.exceptions import AzureError

    try:
        token = _azure_credential(data).get_token(_AZURE_SCOPE)
    except (AzureError, ValueError) as error:
        raise refused(f"Azure authentication failed: {type(error).__name__}") from error
    return str(token.token), float(token.expires_on)


def _azure_credential(data: Mapping[str, bytes]) -> Any:
    from azure import identity

    given = {key: text_of(value) for key, value in data.items() if key != "clientCertificate"}
    more: dict[str, Any] = {"disable_instance_discovery": True}
    if given.get("authorityHost"):
        more["authority"] = given["authorityHost"]
    if given.get("tenantId") and given.get("clientSecret"):
        return identity.ClientSecretCredential(given["tenantId"], given["clientId"], given["clientSecret"], **more)
    if given.get("tenantId") and "clientCertificate" in data:
        return identity.CertificateCredential(
            given["tenantId"],
            given["clientId"],
            certificate_data=data["clientCertificate"],
            password=given.get("clientCertificatePassword"),
            send_certificate_chain=given.get("clientCertificateSendChain", "") in ("1", "true"),
            **more,
        )
    if given.get("clientId"):
        return identity.ManagedIdentityCredential(client_id=given["clientId"])
    return identity.WorkloadIdentityCredential(**more)


def _account(endpoint: str) -> str:
    """The name of the account is the first part of the host, or of the path for an emulator."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    path = parts.path.strip("/")
    return path.partition("/")[0] if path else host.partition(".")[0]


def _url(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
