"""Whose rights, on which cluster: the client with which the objects of a Kustomization are read and written."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from penstock.apply import Applier
from penstock.controllers.kustomization import workload
from penstock.controllers.kustomization.halt import Halt
from penstock.controllers.kustomization.settings import CONTROLLER
from penstock.controllers.kustomization.tenant import account_of, acting
from penstock.errors import PenstockError
from penstock.kube import connect, load_hostile
from penstock.kube.errors import ConfigError, KubeError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from penstock.api.kustomization import Kustomization
    from penstock.api.references import KubeConfig
    from penstock.controllers.kustomization.references import References
    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Client
    from penstock.kube import Settings as ConnectionSettings

    Found = Callable[[], Awaitable[ConnectionSettings]]

MOST = 64
"""Connections to other clusters that are kept although nobody uses them; the least recently used is closed first."""


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
        self.users = 0


class Targets:
    """The clusters that Kustomizations apply to."""

    def __init__(self, client: Client, references: References, settings: Settings, *, most: int = MOST) -> None:
        self._client = client
        self._references = references
        self._settings = settings
        self._most = most
        self._remotes: OrderedDict[str, _Remote] = OrderedDict()
        self._opening = asyncio.Lock()

    def __len__(self) -> int:
        """The connections to other clusters that are open."""
        return len(self._remotes)

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

    @asynccontextmanager
    async def open(self, kustomization: Kustomization) -> AsyncGenerator[Target]:
        """The target of one Kustomization; its connection stays open while the body runs.

        A tenant that names an account never gets more than that account has: an odd name is refused, and an empty
        one means the operator's default, if there is one.
        """
        async with AsyncExitStack() as stack:
            try:
                cluster = await stack.enter_async_context(self._cluster(kustomization))
                client = acting(cluster, kustomization, self._settings)
            except PenstockError as error:
                raise Halt("ReconciliationFailed", str(error), event=f"failed to build kube client: {error}") from error
            yield Target(cluster, client, account_of(kustomization, self._settings), self._applier(client))

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

    @asynccontextmanager
    async def _cluster(self, kustomization: Kustomization) -> AsyncGenerator[Client]:
        if kustomization.spec.kube_config is None:
            yield self._client
            return
        remote = await self._opened(*await self._reached(kustomization, kustomization.spec.kube_config))
        remote.users += 1
        try:
            yield remote.client
        finally:
            remote.users -= 1
            await self._close_oldest()

    async def _reached(self, kustomization: Kustomization, named: KubeConfig) -> tuple[str, Found]:
        """What tells the other cluster from all others, and how it is reached, which may have to be asked."""
        namespace = kustomization.metadata.namespace
        if named.secret_ref is not None:
            origin, text = await self._references.kubeconfig(kustomization, named.secret_ref)
            load = partial(
                load_hostile,
                text,
                origin,
                allow_exec=self._settings.insecure_kubeconfig_exec,
                allow_insecure_tls=self._settings.insecure_kubeconfig_tls,
            )
            return hashlib.sha256(text).hexdigest(), lambda: asyncio.to_thread(load)
        if named.config_map_ref is not None:
            place, data = await self._references.cluster(kustomization, named.config_map_ref.name)
            login = workload.read(place, data, self._settings)
            return f"{namespace}/{login.key}", partial(login.settings, self._client, namespace)
        # The API server refuses this, but an object written before its rule was there may still say so.
        raise ConfigError("spec.kubeConfig names neither a Secret nor a ConfigMap")

    async def _opened(self, key: str, found: Found) -> _Remote:
        # Nobody else waits while a cloud thinks; two that ask at once get one connection all the same.
        settings = await found() if key not in self._remotes else None
        async with self._opening:
            if key in self._remotes:
                self._remotes.move_to_end(key)
                return self._remotes[key]
            stack = AsyncExitStack()
            try:
                client = await stack.enter_async_context(connect(settings or await found()))
            except KubeError:
                await stack.aclose()
                raise
            remote = self._remotes[key] = _Remote(client, stack)
            return remote

    async def _close_oldest(self) -> None:
        """Close what has not been used for longest; never what is in use, however many that are."""
        idle = [key for key, remote in self._remotes.items() if not remote.users]
        for key in idle[: max(len(self._remotes) - self._most, 0)]:
            await self._remotes.pop(key).stack.aclose()
