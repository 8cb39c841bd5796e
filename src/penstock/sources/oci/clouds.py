"""Logins at registries of clouds with the identity of this process, through their SDKs (extras)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from penstock.sources.identity import NoIdentity, asked, azure_token, google_token, sdk
from penstock.sources.oci.credentials import Credential, CredentialsError
from penstock.sources.web import TooLarge, Unreachable, Web, read

if TYPE_CHECKING:
    from collections.abc import Generator

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
    with _told():
        match provider:
            case "aws":
                return await asyncio.to_thread(_aws, repository.registry)
            case "gcp":
                token = await asyncio.to_thread(google_token, _GCP_SCOPE)
                return Credential("oauth2accesstoken", token.word)
            case "azure":
                token = await asyncio.to_thread(azure_token, _AZURE_SCOPE)
                return await exchange(token.word, repository, trust=trust, proxy=proxy)
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
    boto3 = sdk("boto3", "aws")

    def ask() -> Any:
        if found is None:
            client = boto3.client("ecr-public", region_name="us-east-1")
            return client.get_authorization_token()["authorizationData"]
        client = boto3.client("ecr", region_name=found["region"])
        return client.get_authorization_token()["authorizationData"][0]

    try:
        username, _, password = base64.b64decode(asked(ask)["authorizationToken"]).decode().partition(":")
    except (binascii.Error, UnicodeError, KeyError):
        raise CredentialsError("the answer of Amazon holds no login") from None
    return Credential(username, password)


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except NoIdentity as error:
        raise CredentialsError(str(error)) from error
