"""Whose rights, on which cluster: the client with which the objects of a Kustomization are read and written."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.apply import Applier
from penstock.controllers.kustomization.halt import Halt
from penstock.controllers.kustomization.settings import CONTROLLER
from penstock.controllers.kustomization.tenant import account_of, acting
from penstock.errors import PenstockError
from penstock.kube import connect, load_hostile
from penstock.kube.errors import ConfigError, KubeError

if TYPE_CHECKING:
    from penstock.api.kustomization import Kustomization
    from penstock.controllers.kustomization.references import References
    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Client

MOST = 64
"""Connections to other clusters that are kept; the least recently used one is closed first.

A run that still works with it fails and is tried again.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster as one Kustomization may use it."""

    cluster: Client
    """With the rights that the connection itself has."""
    client: Client
    """With the rights of the account to act as, if there is one."""
    account: str
    applier: Applier


class _Remote:
    """One other cluster, open while somebody needs it."""

    def __init__(self, client: Client, stack: AsyncExitStack) -> None:
        self.client, self.stack = client, stack


class Targets:
    """The clusters that Kustomizations apply to."""

    def __init__(self, client: Client, references: References, settings: Settings) -> None:
        self._client = client
        self._references = references
        self._settings = settings
        self._remotes: OrderedDict[str, _Remote] = OrderedDict()
        self._opening = asyncio.Lock()

    async def run(self) -> None:
        """Keep connections until cancelled, then close them."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        while self._remotes:
            _, remote = self._remotes.popitem()
            await remote.stack.aclose()

    async def open(self, kustomization: Kustomization) -> Target:
        """The target of one Kustomization.

        A tenant that names an account never gets more than that account has: an odd name is refused, and an empty
        one means the operator's default, if there is one.
        """
        try:
            cluster = await self._cluster(kustomization)
            client = acting(cluster, kustomization, self._settings)
        except PenstockError as error:
            raise Halt("ReconciliationFailed", str(error), event=f"failed to build kube client: {error}") from error
        return Target(cluster, client, account_of(kustomization, self._settings), self._applier(client))

    def _applier(self, client: Client) -> Applier:
        settings = self._settings
        return Applier(
            client,
            manager=CONTROLLER,
            override_managers=settings.override_managers,
            stage_kinds=settings.stage_kinds,
            concurrency=settings.concurrent_ssa,
            migrate_api_version=settings.gates.migrate_api_version,
        )

    async def _cluster(self, kustomization: Kustomization) -> Client:
        kube_config = kustomization.spec.kube_config
        if kube_config is None:
            return self._client
        if kube_config.secret_ref is not None:
            origin, text = await self._references.kubeconfig(kustomization, kube_config.secret_ref)
            return await self._open(origin, text)
        if kube_config.config_map_ref is not None:
            raise ConfigError("spec.kubeConfig.configMapRef is not supported yet; use spec.kubeConfig.secretRef")
        # The API server refuses this, but an object written before its rule was there may still say so.
        raise ConfigError("spec.kubeConfig names neither a Secret nor a ConfigMap")

    async def _open(self, origin: str, text: bytes) -> Client:
        key = hashlib.sha256(text).hexdigest()
        async with self._opening:
            if key in self._remotes:
                self._remotes.move_to_end(key)
                return self._remotes[key].client
            settings = await asyncio.to_thread(
                load_hostile,
                text,
                origin,
                allow_exec=self._settings.insecure_kubeconfig_exec,
                allow_insecure_tls=self._settings.insecure_kubeconfig_tls,
            )
            stack = AsyncExitStack()
            try:
                client = await stack.enter_async_context(connect(settings))
            except KubeError:
                await stack.aclose()
                raise
            self._remotes[key] = _Remote(client, stack)
            await self._close_oldest()
            return client

    async def _close_oldest(self) -> None:
        while len(self._remotes) > MOST:
            _, remote = self._remotes.popitem(last=False)
            await remote.stack.aclose()
