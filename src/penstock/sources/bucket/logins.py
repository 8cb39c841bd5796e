"""Who we are to a storage: what the Secrets of a Bucket say, checked before anything is sent."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import msgspec

from penstock.sources.access import Trust
from penstock.sources.bucket.azure import AzureLogin
from penstock.sources.bucket.client import BucketError, parse_xml, text
from penstock.sources.bucket.s3 import Keys
from penstock.sources.remote import SourceError, Stalled
from penstock.sources.web import TooLarge, Unreachable, Web, read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from penstock.api.bucket import BucketSpec, SecurityTokenService

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
_AZURE_SCOPE = "https://storage.azure.com/.default"
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class BucketSecrets:
    """What the references of a Bucket lead to."""

    name: str = ""
    """Of the Secret with the credentials, for messages."""
    data: Mapping[str, bytes] | None = field(default=None, repr=False)
    trust: Trust = field(default_factory=Trust, repr=False)
    proxy: str | None = field(default=None, repr=False)
    sts_name: str = ""
    sts: Mapping[str, bytes] | None = field(default=None, repr=False)
    sts_trust: Trust = field(default_factory=Trust, repr=False)


def check(spec: BucketSpec, secrets: BucketSecrets) -> None:
    """Refuse a combination that cannot work, before anything is sent."""
    if spec.service_account_name and spec.provider != "generic":
        raise Stalled(
            "to use spec.serviceAccountName for provider authentication please enable the "
            "ObjectLevelWorkloadIdentity feature gate in the controller",
            reason="FeatureGateDisabled",
        )
    if spec.sts is not None:
        _check_sts(spec, spec.sts)
        if spec.sts.provider == "ldap" and secrets.sts is not None:
            missing = [key for key in ("username", "password") if not secrets.sts.get(key)]
            if missing:
                raise _refused(
                    f"invalid '{secrets.sts_name}' secret data for 'ldap' STS provider: required fields "
                    "username, password"
                )
    if secrets.data is not None:
        _REQUIRED[spec.provider](secrets.name, secrets.data)


def _check_sts(spec: BucketSpec, sts: SecurityTokenService) -> None:
    wanted = {"aws": "aws", "generic": "ldap"}.get(spec.provider)
    told = ""
    if wanted is None:
        told = f"STS configuration is not supported for '{spec.provider}' bucket provider"
    elif sts.provider != wanted:
        told = f"STS provider '{sts.provider}' is not supported for '{spec.provider}' bucket provider"
    elif wanted == "aws" and sts.secret_ref is not None:
        told = "spec.sts.secretRef is not required for the 'aws' STS provider"
    elif wanted == "aws" and sts.cert_secret_ref is not None:
        told = "spec.sts.certSecretRef is not required for the 'aws' STS provider"
    if told:
        raise Stalled(told, reason="InvalidSTSConfiguration")


async def s3_keys(spec: BucketSpec, secrets: BucketSecrets) -> Keys:
    """The access key: of the Secret, of the token service, or of our own surroundings for the provider aws."""
    if secrets.data is not None:
        return Keys(_text(secrets.data["accesskey"]), _text(secrets.data["secretkey"]))
    if spec.provider == "aws":
        return await asyncio.to_thread(_own_keys)
    if spec.sts is not None:
        return await _ldap_keys(spec.sts, secrets)
    return Keys()


def gcs_token(secrets: BucketSecrets, web: Web) -> Callable[[], Awaitable[tuple[str, float]]] | None:
    """Gives tokens for the service account of the Secret, or for our own."""
    if secrets.data is None:
        return _own_gcs_token
    account = _service_account(secrets.name, secrets.data)
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
            raise _refused(f"invalid '{secrets.name}' secret data: 'accountKey' is not in base64") from None
        return AzureLogin(account=_account(spec.endpoint), account_key=key)
    if "sasKey" in data:
        return AzureLogin(sas=_text(data["sasKey"]).strip())
    return AzureLogin(token=_azure_token(data))


def _check_s3(name: str, data: Mapping[str, bytes]) -> None:
    if "accesskey" not in data or "secretkey" not in data:
        raise _refused(f"invalid '{name}' secret data: required fields 'accesskey' and 'secretkey'")


def _check_gcs(name: str, data: Mapping[str, bytes]) -> None:
    _service_account(name, data)


def _check_azure(name: str, data: Mapping[str, bytes]) -> None:
    if not {"clientId", "accountKey", "sasKey", "authorityHost"} & set(data):
        raise _refused(
            f"invalid '{name}' secret data: requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', "
            "'clientId' and 'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'"
        )


_REQUIRED: Mapping[str, Callable[[str, Mapping[str, bytes]], None]] = {
    "generic": _check_s3,
    "aws": _check_s3,
    "gcp": _check_gcs,
    "azure": _check_azure,
}


def _own_keys() -> Keys:
    if find_spec("boto3") is None:
        raise _refused("the provider 'aws' without a Secret needs the extra 'aws': pip install 'penstock[aws]'")
    import boto3

    found = boto3.Session().get_credentials()
    if found is None:
        raise _refused("AWS authentication failed: there are no credentials for this process")
    frozen = found.get_frozen_credentials()
    return Keys(frozen.access_key, frozen.secret_key, frozen.token or "")


async def _ldap_keys(sts: SecurityTokenService, secrets: BucketSecrets) -> Keys:
    """Temporary keys for a user of a directory, as MinIO hands them out."""
    data = secrets.sts or {}
    form = {
        "Action": "AssumeRoleWithLDAPIdentity",
        "Version": "2011-06-15",
        "LDAPUsername": _text(data.get("username", b"")),
        "LDAPPassword": _text(data.get("password", b"")),
    }
    try:
        async with Web(secrets.sts_trust, secrets.proxy) as web:
            page = parse_xml(await _post(web, sts.endpoint, form))
    except (BucketError, Unreachable, TooLarge) as error:
        raise _refused(f"failed to get credentials from the STS endpoint: {error}") from error
    where = ("AssumeRoleWithLDAPIdentityResult", "Credentials")
    keys = Keys(*(text(page, *where, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")))
    if not keys.access_key or not keys.secret_key:
        raise _refused("failed to get credentials from the STS endpoint: the answer holds none")
    return keys


class _ServiceAccount(msgspec.Struct, frozen=True):
    type: str
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = 3600


def _service_account(name: str, data: Mapping[str, bytes]) -> _ServiceAccount:
    if "serviceaccount" not in data:
        raise _refused(f"invalid '{name}' secret data: required fields 'serviceaccount'")
    try:
        account = msgspec.json.decode(data["serviceaccount"], type=_ServiceAccount)
    except msgspec.MsgspecError:
        raise _refused(f"invalid '{name}' secret data: 'serviceaccount' is not the JSON key of one") from None
    if account.type != "service_account" or not account.client_email or not account.private_key:
        # Other types name programs to run and addresses to ask.
        raise _refused(f"invalid '{name}' secret data: 'serviceaccount' must be the key of a service account")
    return account


async def _gcs_token(account: _ServiceAccount, web: Web) -> tuple[str, float]:
    now = time.time()
    assertion = await asyncio.to_thread(_assertion, account, int(now))
    form = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}
    try:
        token = msgspec.json.decode(await _post(web, account.token_uri, form), type=_Token)
    except (BucketError, Unreachable, TooLarge) as error:
        raise _refused(f"failed to get a token for the service account: {error}") from error
    except msgspec.MsgspecError:
        raise _refused("failed to get a token for the service account: the answer holds none") from None
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
        raise _refused("the private key of the service account is not an RSA key in PEM")
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
    return await asyncio.to_thread(_adc)


def _adc() -> tuple[str, float]:
    if find_spec("google.auth") is None:
        raise _refused("the provider 'gcp' without a Secret needs the extra 'gcp': pip install 'penstock[gcp]'")
    import google.auth
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    try:
        credentials: Any = google.auth.default(scopes=[_SCOPE])[0]
        credentials.refresh(Request())
    except GoogleAuthError as error:
        raise _refused(f"GCP authentication failed: {type(error).__name__}") from error
    return str(credentials.token), time.time() + 600


def _azure_token(data: Mapping[str, bytes]) -> Callable[[], Awaitable[tuple[str, float]]]:
    async def token() -> tuple[str, float]:
        return await asyncio.to_thread(_azure_identity, data)

    return token


def _azure_identity(data: Mapping[str, bytes]) -> tuple[str, float]:
    if find_spec("azure.identity") is None:
        raise _refused("Azure identities need the extra 'azure': pip install 'penstock[azure]'")
    from azure.core.exceptions import AzureError

    try:
        token = _azure_credential(data).get_token(_AZURE_SCOPE)
    except (AzureError, ValueError) as error:
        raise _refused(f"Azure authentication failed: {type(error).__name__}") from error
    return str(token.token), float(token.expires_on)


def _azure_credential(data: Mapping[str, bytes]) -> Any:
    from azure import identity

    given = {key: _text(value) for key, value in data.items() if key != "clientCertificate"}
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


async def _post(web: Web, url: str, form: Mapping[str, str]) -> bytes:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await web.send("POST", url, headers=headers, data=urlencode(form))
    try:
        if response.status != 200:
            raise BucketError(f"unexpected status code {response.status}", status=response.status)
        return await read(response, _LARGEST)
    finally:
        response.release()


def _account(endpoint: str) -> str:
    """The name of the account is the first part of the host, or of the path for an emulator."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    path = parts.path.strip("/")
    return path.partition("/")[0] if path else host.partition(".")[0]


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeError:
        raise _refused("a Secret holds bytes that are no text") from None


def _url(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _refused(told: str) -> SourceError:
    return SourceError(told, reason="AuthenticationFailed")
