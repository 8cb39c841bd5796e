"""Clusters of clouds: where one lies, which its cloud tells, and tokens of this process that open it.

The address and the certificate always come from the cloud, never from whoever wrote the ConfigMap alone: a token of
this process must not be sent to a place of their choice.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from penstock.kube import Settings
from penstock.kube.credentials import Credential
from penstock.kube.errors import ConfigError
from penstock.sources.access import Trust
from penstock.sources.identity import NoIdentity, Token, asked, azure_token, google_token, sdk
from penstock.sources.web import TooLarge, Unreachable, Web, read
from penstock.yaml import YAMLError, config

if TYPE_CHECKING:
    from collections.abc import Callable

Provider = Literal["aws", "azure", "gcp"]

GOOGLE = "https://container.googleapis.com"
AZURE = "https://management.azure.com"

_GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_AZURE_SCOPE = f"{AZURE}/.default"
_AKS_SCOPE = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"
_NAMES = {
    "aws": re.compile(r"arn:[a-z-]+:eks:(?P<region>[a-z0-9-]+):[0-9]+:cluster/(?P<name>[A-Za-z0-9_-]+)"),
    "azure": re.compile(
        r"/subscriptions/[A-Za-z0-9-]+/resourcegroups/[\w().-]+"
        r"/providers/microsoft\.containerservice/managedclusters/[\w-]+",
        re.IGNORECASE | re.ASCII,
    ),
    "gcp": re.compile(r"projects/[a-z0-9:.-]+/locations/[a-z0-9-]+/clusters/[a-z0-9-]+"),
}
_EXAMPLES = {
    "aws": "arn:aws:eks:REGION:ACCOUNT:cluster/NAME",
    "azure": "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.ContainerService/managedClusters/NAME",
    "gcp": "projects/PROJECT/locations/LOCATION/clusters/NAME",
}
_EKS_VALID = 840
"""Seconds in which a token for EKS is used; it ends after 15 minutes."""
_EKS_SIGNED = 60
"""Seconds that the signature in such a token names; EKS asks for no more."""
_FRESH = 0.8
"""The part of its life in which a token is used."""
_PATIENCE = 60
"""Seconds for all answers of a cloud."""
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where an API server is, and whose certificate it shows."""

    address: str
    authority: bytes


@dataclass(frozen=True, slots=True)
class CloudToken:
    """Fresh tokens of this process, as credentials of a connection."""

    origin: str
    ask: Callable[[], Token]

    async def fetch(self) -> Credential:
        try:
            token = await asyncio.to_thread(self.ask)
        except NoIdentity as error:
            raise ConfigError(f"{self.origin}: {error}") from error
        lifetime = max(token.ends - time.time(), 0)
        return Credential(authorization=f"Bearer {token.word}", fresh_until=time.monotonic() + lifetime * _FRESH)


def check(origin: str, provider: Provider, cluster: str) -> str:
    """The name of a cluster in the form of its cloud; ConfigError when it is none."""
    if not cluster:
        raise ConfigError(f"{origin}: cluster is missing; for '{provider}' it is {_EXAMPLES[provider]}")
    if not _NAMES[provider].fullmatch(cluster):
        raise ConfigError(f"{origin}: cluster has to be {_EXAMPLES[provider]}")
    return cluster


async def settings(origin: str, provider: Provider, cluster: str) -> Settings:
    """The settings of a connection; the cloud is asked where the cluster is, and nobody else."""
    try:
        async with asyncio.timeout(_PATIENCE):
            place, ask = await _CLOUDS[provider](cluster)
    except (NoIdentity, Unreachable, TooLarge) as error:
        raise ConfigError(f"{origin}: cluster {cluster} cannot be looked up: {error}") from error
    except TimeoutError:
        told = f"the cloud has not answered within {_PATIENCE} s"
        raise ConfigError(f"{origin}: cluster {cluster} cannot be looked up: {told}") from None
    return Settings(place.address, origin, authority=place.authority, credentials=CloudToken(origin, ask))


async def _eks(cluster: str) -> tuple[Place, Callable[[], Token]]:
    found = _NAMES["aws"].fullmatch(cluster)
    region, name = (found["region"], found["name"]) if found else ("", "")

    def describe() -> Any:
        boto3 = sdk("boto3", "aws")
        return asked(lambda: boto3.client("eks", region_name=region).describe_cluster(name=name))["cluster"]

    told = await asyncio.to_thread(describe)
    place = _place(told.get("endpoint"), (told.get("certificateAuthority") or {}).get("data"))
    return place, lambda: eks_token(region, name)


def eks_token(region: str, name: str) -> Token:
    """A signed request to tell who we are, which the cluster will send in our place."""
    sdk("boto3", "aws")
    import boto3
    from botocore.signers import RequestSigner

    def sign() -> str:
        session = boto3.Session(region_name=region)
        client = session.client("sts", region_name=region)
        signer = RequestSigner(
            client.meta.service_model.service_id, region, "sts", "v4", session.get_credentials(), session.events
        )
        request = {
            "method": "GET",
            "url": f"{client.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": name},
            "context": {},
        }
        signed = signer.generate_presigned_url(request, operation_name="", expires_in=_EKS_SIGNED, region_name=region)
        return base64.urlsafe_b64encode(str(signed).encode()).decode().rstrip("=")

    ends = time.time() + _EKS_VALID
    return Token(f"k8s-aws-v1.{asked(sign)}", ends)


class _Gke(msgspec.Struct, frozen=True, rename="camel"):
    endpoint: str
    master_auth: dict[str, Any]


async def _gke(cluster: str) -> tuple[Place, Callable[[], Token]]:
    def token() -> Token:
        return google_token(_GOOGLE_SCOPE)

    word = (await asyncio.to_thread(token)).word
    told = await _answer("GET", f"{GOOGLE}/v1/{cluster}", word, _Gke)
    return _place(told.endpoint, told.master_auth.get("clusterCaCertificate")), token


class _Kubeconfig(msgspec.Struct, frozen=True):
    value: bytes


class _Kubeconfigs(msgspec.Struct, frozen=True):
    kubeconfigs: list[_Kubeconfig]


async def _aks(cluster: str) -> tuple[Place, Callable[[], Token]]:
    word = (await asyncio.to_thread(azure_token, _AZURE_SCOPE)).word
    url = f"{AZURE}{cluster}/listClusterUserCredential?api-version=2024-02-01"
    told = await _answer("POST", url, word, _Kubeconfigs)
    try:
        named: Any = config(told.kubeconfigs[0].value)["clusters"][0]["cluster"]
        place = _place(named["server"], named["certificate-authority-data"])
    except (YAMLError, LookupError, TypeError):
        raise Unreachable("the cloud gave no kubeconfig that could be read") from None
    return place, lambda: azure_token(_AKS_SCOPE)


_CLOUDS = {"aws": _eks, "azure": _aks, "gcp": _gke}


def _place(endpoint: Any, authority: Any) -> Place:
    try:
        certificate = base64.b64decode(str(authority or ""), validate=True)
    except binascii.Error:
        certificate = b""
    if not endpoint or not certificate:
        # A cluster that is being created has none yet.
        raise Unreachable("the cloud gave no address, or no certificate, of an API server")
    address = str(endpoint)
    return Place(address if "://" in address else f"https://{address}", certificate)


async def _answer(method: str, url: str, word: str, form: type[Any]) -> Any:
    headers = {"Authorization": f"Bearer {word}"}
    async with Web(Trust(), None) as web:
        answer = await web.send(method, url, headers=headers, data=b"" if method == "POST" else None)
        try:
            if answer.status != 200:
                raise Unreachable(f"the cloud answered with the status {answer.status}")
            return msgspec.json.decode(await read(answer, _LARGEST), type=form)
        except msgspec.MsgspecError:
            raise Unreachable("the cloud's answer cannot be read") from None
        finally:
            answer.release()
