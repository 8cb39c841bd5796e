"""The events about one Kustomization, as the cluster keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.kube import Object, WatchCache
from penstock.kube.resources import EVENTS
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.clusters import Cluster

REVISION = "kustomize.toolkit.fluxcd.io/revision"


@dataclass(frozen=True, slots=True)
class Told:
    """What was told about a Kustomization, at one revision of its source if that is given."""

    cluster: Cluster
    name: str
    revision: str | None = None

    async def now(self) -> list[Object]:
        """In the order in which it was told."""
        return self._ours((await self.cluster.client.list(EVENTS, self.cluster.namespace)).items)

    async def once(self, enough: Callable[[list[Object]], bool]) -> list[Object]:
        """The same, once it is enough: events come after the status, so each new one is looked at."""
        cache: WatchCache[Object] = WatchCache(self.cluster.client, EVENTS, namespace=self.cluster.namespace)
        async with following(cache) as until:
            found: list[Object] = []

            def look() -> bool:
                found[:] = self._ours(cache.values())
                return enough(found)

            try:
                await until(look)
            except TimeoutError:
                told = [(one["type"], one["reason"], one["message"]) for one in found]
                raise AssertionError(f"waited for events of {self.name}; there are {told}") from None
            return found

    def _ours(self, events: Iterable[Object]) -> list[Object]:
        return sorted(filter(self._is_ours, events), key=lambda one: int(one["metadata"]["resourceVersion"]))

    def _is_ours(self, event: Object) -> bool:
        about = event["involvedObject"]
        at = (event["metadata"].get("annotations") or {}).get(REVISION)
        return (about["kind"], about["name"]) == (KUSTOMIZATIONS.kind, self.name) and self.revision in (None, at)
