"""Logins at registries of clouds with the identity of this process, through their SDKs (extras)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from penstock.sources.oci.credentials import Credential, CredentialsError
from penstock.sources.web import TooLarge, Unreachable, Web, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.sources.access import Trust
    from penstock.sources.oci.reference import Repository

_ECR = re.compile(r"[0-9]{12}\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)")
_PUBLIC_ECR = "public.ecr.aws"
_GCP_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_AZURE_SCOPE = "https://management.azure.com/.default"
_AZURE_USER = "00000000-0000-0000-0000-000000000000"  # who logs in with a token
_LARGEST = 1 << 20


class _Refresh(msgspec.Struct, frozen=True):
    refresh_token: str


async def cloud_credential(provider: str, repository: Repository, *, trust: Trust, proxy: str | None) -> Credential:
    """The login that a cloud gives to this process; CredentialsError when it gives none."""
    match provider:
        case "aws":
            return await asyncio.to_thread(_aws, repository.registry)
        case "gcp":
            return await asyncio.to_thread(_gcp)
        case "azure":
            token = await asyncio.to_thread(_azure_token)
            return await exchange(token, repository, trust=trust, proxy=proxy)
        case _:
            raise CredentialsError(f"the provider '{provider}' is not known")


async def exchange(token: str, repository: Repository, *, trust: Trust, proxy: str | None) -> Credential:
    """The login at an Azure registry for an access token of Azure."""
    host = repository.host
    form = urlencode({"grant_type": "access_token", "service": host, "access_token": token})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        async with Web(trust, proxy) as web:
            answer = await web.send("POST", f"https://{host}/oauth2/exchange", headers=headers, data=form)
            try:
                if answer.status != 200:
                    raise CredentialsError(f"the registry {host} does not take the token: status {answer.status}")
                refresh = msgspec.json.decode(await read(answer, _LARGEST), type=_Refresh)
            finally:
                answer.release()
    except (Unreachable, TooLarge) as error:
        raise CredentialsError(str(error)) from error
    except msgspec.MsgspecError:
        raise CredentialsError(f"the registry {host} gave no token in exchange") from None
    return Credential(_AZURE_USER, refresh.refresh_token)


def _aws(registry: str) -> Credential:
    found = _ECR.fullmatch(registry)
    if found is None and registry != _PUBLIC_ECR:
        raise CredentialsError(f"'{registry}' is not the name of a registry of Amazon")
    boto3 = _sdk("boto3", "aws")

    def ask() -> Any:
        if found is None:
            client = boto3.client("ecr-public", region_name="us-east-1")
            return client.get_authorization_token()["authorizationData"]
        client = boto3.client("ecr", region_name=found["region"])
        return client.get_authorization_token()["authorizationData"][0]

    try:
        username, _, password = base64.b64decode(_asked(ask)["authorizationToken"]).decode().partition(":")
    except (binascii.Error, UnicodeError, KeyError):
        raise CredentialsError("the answer of Amazon holds no login") from None
    return Credential(username, password)


def _gcp() -> Credential:
    _sdk("google.auth", "gcp")
    import google.auth
    from google.auth.transport.requests import Request

    def ask() -> Any:
        credentials: Any = google.auth.default(scopes=[_GCP_SCOPE])[0]
        credentials.refresh(Request())
        return credentials.token

    return Credential("oauth2accesstoken", str(_asked(ask)))


def _azure_token() -> str:
    identity = _sdk("azure.identity", "azure")
    # Without the programs and developers' tools that the default one would ask.
    chain = identity.ChainedTokenCredential(identity.EnvironmentCredential(), identity.ManagedIdentityCredential())
    return str(_asked(lambda: chain.get_token(_AZURE_SCOPE).token))


def _sdk(name: str, extra: str) -> Any:
    if find_spec(name.partition(".")[0]) is None or find_spec(name) is None:
        raise CredentialsError(f"the provider '{extra}' needs the extra '{extra}': pip install 'penstock[{extra}]'")
    from importlib import import_module

    return import_module(name)


def _asked(ask: Callable[[], Any]) -> Any:
    """What an SDK answers; its errors may quote requests, so only their names go on."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - each SDK has its own family of errors
        code = getattr(error, "response", {}).get("Error", {}).get("Code")
        raise CredentialsError(f"the cloud gave no login: {code or type(error).__name__}") from None
