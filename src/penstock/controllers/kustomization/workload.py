"""Another cluster without a stored secret: a ConfigMap says which one, and a token that ends soon logs in.

The keys are Flux's: `provider`, `cluster`, `address`, `ca.crt`, `audiences`, `serviceAccountName`. The provider
`generic` is a cluster that trusts the tokens of this one; the others are clouds, which know this process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from penstock.controllers.kustomization import clouds
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.kube import Resource, Settings
from penstock.kube.credentials import Credential
from penstock.kube.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.controllers.kustomization.settings import Settings as Flags
    from penstock.kube import Client

LIFETIME = 3600
"""Seconds for which a token is asked."""
FRESH = 0.8
"""The part of its life in which a token is used."""
_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
_ACCOUNT = "system:serviceaccount:"


REVIEWED = 900
"""Seconds after which a cloud is asked again where a cluster is: one of the same name may have been made anew."""


class Login(Protocol):
    """A cluster, and how to log in there."""

    @property
    def key(self) -> str:
        """What tells its connections from all others of the namespace."""
        ...

    async def settings(self, client: Client, namespace: str) -> Settings:
        """The settings of a connection that logs in this way; `namespace` is that of the Kustomization."""
        ...


@dataclass(frozen=True, slots=True)
class AccountLogin:
    """A cluster that trusts the tokens of this one."""

    origin: str
    address: str
    authority: bytes | None
    audiences: tuple[str, ...]
    account: str
    """A service account of the Kustomization's namespace; empty for the controller's own."""

    @property
    def key(self) -> str:
        return repr(self)

    async def settings(self, client: Client, namespace: str) -> Settings:
        name = self.account
        if not name:
            namespace, name = await _own(client, self.origin)
        credentials = AccountToken(client, namespace, name, self.audiences)
        return Settings(self.address, self.origin, authority=self.authority, credentials=credentials)


@dataclass(frozen=True, slots=True)
class CloudLogin:
    """A cluster of a cloud, in which this process is somebody."""

    origin: str
    provider: clouds.Provider
    cluster: str
    address: str
    """What the ConfigMap says; only the cloud's own word counts, and the two must not differ."""

    @property
    def key(self) -> str:
        return f"{self!r}/{time.monotonic() // REVIEWED}"

    async def settings(self, client: Client, namespace: str) -> Settings:
        del client, namespace
        found = await clouds.settings(self.origin, self.provider, self.cluster)
        if self.address and self.address != _address(self.origin, found.server):
            raise ConfigError(f"{self.origin}: address is not that of the cluster {self.cluster}; leave it out")
        return found


@dataclass(frozen=True, slots=True)
class AccountToken:
    """Fresh tokens of a service account, as credentials of a connection."""

    client: Client
    namespace: str
    name: str
    audiences: tuple[str, ...]

    async def fetch(self) -> Credential:
        spec = {"audiences": list(self.audiences), "expirationSeconds": LIFETIME}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        asked = time.monotonic()
        answer = await self.client.create(
            SERVICE_ACCOUNTS, body, namespace=self.namespace, name=self.name, subresource="token"
        )
        status = answer["status"]
        expires = datetime.fromisoformat(status["expirationTimestamp"])
        lifetime = (expires - datetime.now(UTC)).total_seconds()
        return Credential(authorization=f"Bearer {status['token']}", fresh_until=asked + lifetime * FRESH)


def read(place: str, data: Mapping[str, str], flags: Flags) -> Login:
    """What a ConfigMap says; ConfigError names the key that is wrong."""
    origin = f"ConfigMap {place}"
    provider = data.get("provider", "")
    account = data.get("serviceAccountName", "").strip() or flags.default_kubeconfig_service_account
    match provider:
        case "generic":
            return _generic(origin, data, account, gate=flags.gates.object_level_workload_identity)
        case "aws" | "azure" | "gcp":
            if account:
                raise ConfigError(f"{origin}: the service account '{account}' cannot log in to '{provider}' yet")
            address = _address(origin, data["address"]) if data.get("address") else ""
            cluster = clouds.check(origin, provider, data.get("cluster", "").strip())
            return CloudLogin(origin, provider, cluster, address)
        case _:
            raise ConfigError(f"{origin}: provider '{provider}' not implemented")


def _generic(origin: str, data: Mapping[str, str], account: str, *, gate: bool) -> AccountLogin:
    address = _address(origin, data.get("address", ""))
    if account and not gate:
        raise ConfigError(
            f"{origin}: to log in with the service account '{account}' please enable the ObjectLevelWorkloadIdentity "
            "feature gate in the controller"
        )
    audiences = tuple(filter(None, (line.strip() for line in data.get("audiences", "").splitlines())))
    if audiences and not account:
        # A token of the controller for an audience of the tenant's choice could open this very cluster to him.
        raise ConfigError(f"{origin}: audiences need a serviceAccountName; the controller's token is for its address")
    authority = data["ca.crt"].encode() if data.get("ca.crt") else None
    return AccountLogin(origin, address, authority, audiences or (address,), account)


def _address(origin: str, text: str) -> str:
    """The canonical form, with its port."""
    if not text:
        raise ConfigError(f"{origin}: address is missing; a generic cluster needs one, as https://host:port")
    try:
        parts = urlsplit(text.strip())
        port = parts.port or 443
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise ConfigError(f"{origin}: address has to be https://host:port")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}:{port}"


async def _own(client: Client, origin: str) -> tuple[str, str]:
    """Namespace and name of the account that this controller runs as."""
    body = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind}
    answer = await client.create(_REVIEWS, body)
    user = str(answer["status"]["userInfo"].get("username", ""))
    namespace, _, name = user.removeprefix(_ACCOUNT).partition(":")
    if not user.startswith(_ACCOUNT) or not name:
        raise ConfigError(f"{origin}: the controller is no service account itself, so name one as serviceAccountName")
    return namespace, name
