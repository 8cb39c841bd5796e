"""What a Kustomization reads besides its source: variables, decryption keys and kubeconfigs, of its own namespace."""

from __future__ import annotations

import base64
import binascii
import os
from typing import TYPE_CHECKING

from penstock.controllers.kustomization.accounts import Accounts
from penstock.controllers.kustomization.tenant import acting
from penstock.errors import PenstockError
from penstock.kube.errors import KubeError, NotFound
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from penstock.render import KeyMaterial, merge_variables, verifies_mac
from penstock.sops.granted import grant
from penstock.sops.identity import ServiceAccount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.api.kustomization import Kustomization, SubstituteReference
    from penstock.api.references import SecretKeyReference
    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Client, Object
    from penstock.sops.granted import Granted


class BadReference(PenstockError):
    """An object that the spec names does not hold what it should."""


class References:
    """Reads with the controller's rights, or with the tenant's where the operator wants that."""

    def __init__(self, client: Client, settings: Settings, *, environment: Mapping[str, str] = os.environ) -> None:
        self._client = client
        self._settings = settings
        self._environment = {key: value for key, value in environment.items() if key.startswith("VAULT_")}

    async def variables(self, kustomization: Kustomization) -> dict[str, str]:
        """Everything that `spec.postBuild` gives a value, the later over the earlier."""
        post_build = kustomization.spec.post_build
        if post_build is None:
            return {}
        sources = [await self._data(kustomization, reference) for reference in post_build.substitute_from]
        return merge_variables(sources, post_build.substitute)

    async def keys(self, kustomization: Kustomization) -> KeyMaterial | None:
        """What opens encrypted files: the Secret that the spec names, or else the operator's age keys."""
        decryption, namespace = kustomization.spec.decryption, kustomization.metadata.namespace
        if decryption is None:
            return None
        own = decryption.secret_ref.name if decryption.secret_ref else ""
        data: dict[str, bytes] = {}
        place = ""
        if own:
            place, data = f"{namespace}/{own}", await self._secret(self._reader(kustomization), namespace, own)
        elif shared := self._settings.age_secret:
            # The operator's own Secret is never the tenant's to read.
            namespace = self._settings.runtime_namespace
            place, data = f"{namespace}/{shared}", await self._secret(self._client, namespace, shared)
        return KeyMaterial(
            provider=decryption.provider,
            secret=place,
            data=data,
            only_age=not own,
            verify=verifies_mac(kustomization.metadata.annotations),
            account=self._decryption_account(kustomization),
            granted=await self._granted(kustomization),
            environment=self._environment,
        )

    async def _granted(self, kustomization: Kustomization) -> Granted | None:
        """What the cluster says of the account that asks for keys, if there is one. It is asked anew for every run."""
        name = self._decryption_account(kustomization)
        if not name:
            return None
        return await grant(ServiceAccount(Accounts(self._client), kustomization.metadata.namespace, name))

    def _decryption_account(self, kustomization: Kustomization) -> str:
        """The account that asks for keys: the one of the spec, or else the operator's default."""
        decryption = kustomization.spec.decryption
        if decryption is None:
            return ""
        return decryption.service_account_name or self._settings.default_decryption_service_account

    async def _secret(self, reader: Client, namespace: str, name: str) -> dict[str, bytes]:
        try:
            return _bytes(await reader.get(SECRETS, name, namespace))
        except NotFound:
            raise
        except KubeError as error:
            raise BadReference(f"cannot get sops decryption Secret '{namespace}/{name}': {error}") from error

    async def kubeconfig(self, kustomization: Kustomization, reference: SecretKeyReference) -> tuple[str, bytes]:
        """Where a kubeconfig comes from, for errors, and its text."""
        place = f"{kustomization.metadata.namespace}/{reference.name}"
        try:
            obj = await self._reader(kustomization).get(SECRETS, reference.name, kustomization.metadata.namespace)
        except KubeError as error:
            raise BadReference(f"unable to read KubeConfig secret '{place}' error: {error}") from error
        data = _bytes(obj)
        for key in (reference.key,) if reference.key else ("value", "value.yaml"):
            if key in data:
                return f"Secret {place}", data[key]
        wanted = reference.key or "value"
        raise BadReference(f"KubeConfig secret '{place}' does not contain a '{wanted}' key with a kubeconfig")

    async def cluster(self, kustomization: Kustomization, name: str) -> tuple[str, Mapping[str, str]]:
        """Where a ConfigMap about another cluster lies, for errors, and what it says."""
        place = f"{kustomization.metadata.namespace}/{name}"
        try:
            obj = await self._reader(kustomization).get(CONFIG_MAPS, name, kustomization.metadata.namespace)
        except KubeError as error:
            raise BadReference(f"unable to read KubeConfig ConfigMap '{place}' error: {error}") from error
        return place, {str(key): str(value) for key, value in (obj.get("data") or {}).items()}

    async def _data(self, kustomization: Kustomization, reference: SubstituteReference) -> Mapping[str, str | bytes]:
        resource = SECRETS if reference.kind == "Secret" else CONFIG_MAPS
        try:
            obj = await self._reader(kustomization).get(resource, reference.name, kustomization.metadata.namespace)
        except NotFound as error:
            if reference.optional:
                return {}
            raise BadReference(f"substitute from '{reference.kind}/{reference.name}' error: {error}") from error
        except KubeError as error:
            raise BadReference(f"substitute from '{reference.kind}/{reference.name}' error: {error}") from error
        if reference.kind == "ConfigMap":
            return {str(key): str(value) for key, value in (obj.get("data") or {}).items()}
        return _bytes(obj)

    def _reader(self, kustomization: Kustomization) -> Client:
        return acting(self._client, kustomization, self._settings) if self._settings.tenant_reads else self._client


def _bytes(obj: Object) -> dict[str, bytes]:
    data = obj.get("data") or {}
    try:
        return {str(key): base64.b64decode(value or "", validate=True) for key, value in data.items()}
    except (binascii.Error, TypeError, ValueError):
        name = (obj.get("metadata") or {}).get("name")
        raise BadReference(f"Secret {name!r} has data that is no base64") from None
