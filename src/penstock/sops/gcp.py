"""Google Cloud KMS: google-auth for the identity (extra `gcp`), and two REST calls."""

from __future__ import annotations

import asyncio
import binascii
import re
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from penstock.sops.errors import DataKeyError, KeyFileError
from penstock.sops.identity import quiet
from penstock.sops.keys import GcpKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sops.identity import ServiceAccount
    from penstock.sops.keys import MasterKey

_RESOURCE = re.compile(r"projects/[^/?#]+/locations/[^/?#]+/keyRings/[^/?#]+/cryptoKeys/[^/?#]+\Z")
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/cloudkms")
_SECONDS = 30
# An external account would read files, run programs or ask addresses of the author's choice.
_KINDS = ("service_account", "authorized_user")


class GcpIdentity(Protocol):
    """Who asks KMS."""

    async def credentials(self) -> Any:
        """Credentials of google-auth."""
        ...


@dataclass(frozen=True, slots=True)
class GcpCredentials:
    """The JSON of a service account or of a user, from a Secret."""

    info: Mapping[str, Any] = field(repr=False)

    async def credentials(self) -> Any:
        return await asyncio.to_thread(self._credentials)

    def _credentials(self) -> Any:
        if self.info.get("type") == "service_account":
            made = _library("google.oauth2.service_account").Credentials.from_service_account_info
        else:
            made = _library("google.oauth2.credentials").Credentials.from_authorized_user_info
        return made(dict(self.info), scopes=_SCOPES)


@dataclass(frozen=True, slots=True)
class GcpOwnIdentity:
    """The identity of the process: what the SDK finds in its surroundings."""

    async def credentials(self) -> Any:
        return await asyncio.to_thread(lambda: _library("google.auth").default(scopes=_SCOPES)[0])


@dataclass(frozen=True, slots=True)
class GcpServiceAccount:
    """The Google identity that trusts the tokens of a Kubernetes service account, as its annotations say."""

    account: ServiceAccount
    token_url: str = "https://sts.googleapis.com/v1/token"  # noqa: S105 - an address

    async def credentials(self) -> Any:
        provider = await self.account.annotation("gcp.auth.fluxcd.io/workload-identity-provider")
        audience = f"//iam.googleapis.com/{provider}"
        return await asyncio.to_thread(self._credentials, audience, await self.account.token(audience))

    def _credentials(self, audience: str, token: str) -> Any:
        return _library("google.auth.identity_pool").Credentials(
            audience=audience,
            subject_token_type="urn:ietf:params:oauth:token-type:jwt",  # noqa: S106 - the kind of token
            token_url=self.token_url,
            subject_token_supplier=_Supplier(token),
            scopes=_SCOPES,
        )


@dataclass(frozen=True, slots=True)
class _Supplier:
    """What google-auth asks for the token to exchange."""

    token: str = field(repr=False)

    def get_subject_token(self, context: Any, request: Any) -> str:  # noqa: ARG002 - google-auth's signature
        return self.token


@dataclass(frozen=True, slots=True)
class GcpService:
    """Opens and seals data keys with KMS keys."""

    identity: GcpIdentity
    endpoint: str = "https://cloudkms.googleapis.com"

    async def open(self, key: MasterKey) -> bytes:
        try:
            return binascii.a2b_base64(await self._call(key, "decrypt", "ciphertext", key.enc, "plaintext"))
        except (DataKeyError, ValueError) as error:
            raise DataKeyError(f"failed to decrypt sops data key with GCP KMS key: {error}") from error

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        plain = binascii.b2a_base64(data_key, newline=False).decode()
        try:
            return await self._call(key, "encrypt", "plaintext", plain, "ciphertext")
        except DataKeyError as error:
            raise DataKeyError(f"failed to encrypt sops data key with GCP KMS key: {error}") from error

    async def _call(self, key: MasterKey, verb: str, sent: str, value: str, wanted: str) -> str:
        if not isinstance(key, GcpKey):
            raise DataKeyError("must provide a key of the kind gcp_kms")
        if not _RESOURCE.match(key.resource_id):
            raise DataKeyError(f"{key.resource_id!r} is not the resource id of a KMS key")
        url = f"{self.endpoint}/v1/{key.resource_id}:{verb}"
        try:
            async with asyncio.timeout(2 * _SECONDS):
                credentials = await self.identity.credentials()
                return await asyncio.to_thread(self._post, credentials, url, {sent: value}, wanted)
        except TimeoutError:
            raise DataKeyError(f"no answer in {2 * _SECONDS} s") from None
        except (ValueError, OSError) as error:  # google-auth on credentials that make no sense
            raise DataKeyError(type(error).__name__) from None

    @staticmethod
    def _post(credentials: Any, url: str, body: Mapping[str, str], wanted: str) -> str:
        refused = (_library("google.auth.exceptions").GoogleAuthError, OSError, ValueError, KeyError, TypeError)
        try:
            with _library("google.auth.transport.requests").AuthorizedSession(credentials) as session:
                response = session.post(url, json=dict(body), timeout=_SECONDS, allow_redirects=False)
                if response.status_code != 200:
                    raise DataKeyError(f"KMS answered {response.status_code}")
                return str(response.json()[wanted])
        except refused as error:  # what requests raises is an OSError
            raise DataKeyError(type(error).__name__) from None


def _library(name: str) -> Any:
    if find_spec("google") is None or find_spec("google.auth") is None:
        raise DataKeyError("GCP KMS needs the extra 'gcp': pip install 'penstock[gcp]'")
    quiet("google", "urllib3", "requests")
    return import_module(name)


def credentials(text: bytes) -> GcpCredentials:
    """Credentials from the JSON of a Secret's entry; kinds that would look outside of it are refused by name."""
    try:
        info = orjson.loads(text.strip(b"\n"))
    except orjson.JSONDecodeError:
        raise KeyFileError("it is not JSON") from None
    kind = info.get("type") if isinstance(info, dict) else None
    if kind not in _KINDS:
        raise KeyFileError(
            f"credentials of the type {kind!r} are not accepted from a Secret; use {' or '.join(_KINDS)}"
        )
    return GcpCredentials(info)
