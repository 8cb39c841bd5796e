"""Another cluster without a stored secret: a ConfigMap says where it is, and a service account's token logs in.

The keys are Flux's: `provider`, `address`, `ca.crt`, `audiences`, `serviceAccountName`. The provider `generic` is a
cluster that trusts the tokens of this one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.kube import Resource, Settings
from penstock.kube.credentials import Credential
from penstock.kube.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.controllers.kustomization.settings import Settings as Flags
    from penstock.kube import Client

CLOUDS = frozenset({"aws", "azure", "gcp"})
LIFETIME = 3600
"""Seconds for which a token is asked."""
FRESH = 0.8
"""The part of its life in which a token is used."""
_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Login:
    """A cluster and whose token opens it."""

    origin: str
    address: str
    authority: bytes | None = field(repr=False)
    audiences: tuple[str, ...]
    account: str
    """A service account of the Kustomization's namespace; empty for the controller's own."""


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
    if provider in CLOUDS:
        raise ConfigError(f"{origin}: provider '{provider}' is not supported yet; use generic, or a kubeconfig Secret")
    if provider != "generic":
        raise ConfigError(f"{origin}: provider '{provider}' not implemented")
    address = _address(origin, data.get("address", ""))
    account = data.get("serviceAccountName", "").strip() or flags.default_kubeconfig_service_account
    if account and not flags.gates.object_level_workload_identity:
        raise ConfigError(
            f"{origin}: to log in with the service account '{account}' please enable the ObjectLevelWorkloadIdentity "
            "feature gate in the controller"
        )
    audiences = tuple(filter(None, (line.strip() for line in data.get("audiences", "").splitlines())))
    if audiences and not account:
        # A token of the controller for an audience of the tenant's choice could open this very cluster to him.
        raise ConfigError(f"{origin}: audiences need a serviceAccountName; the controller's token is for its address")
    authority = data["ca.crt"].encode() if data.get("ca.crt") else None
    return Login(origin, address, authority, audiences or (address,), account)


async def settings(login: Login, client: Client, namespace: str) -> Settings:
    """The settings of a connection that logs in this way; `namespace` is that of the Kustomization."""
    name = login.account
    if not name:
        namespace, name = await _own(client, login.origin)
    credentials = AccountToken(client, namespace, name, login.audiences)
    return Settings(login.address, login.origin, authority=login.authority, credentials=credentials)


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
