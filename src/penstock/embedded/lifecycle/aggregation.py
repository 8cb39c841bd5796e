"""Aggregated ClusterRoles: their rules are those of all roles that their selectors choose."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from penstock.embedded.status import StatusError
from penstock.labels import selects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.embedded.server.ports import Api
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

GROUP = "rbac.authorization.k8s.io"
COLLECTION = f"{GROUP}/clusterroles"
MANAGER = "clusterrole-aggregation-controller"
_DEEPEST = 10
"""How many aggregated roles may stand on each other's shoulders."""

log = logging.getLogger("penstock.embedded")


class Aggregator:
    """Keeps aggregated roles in step with the roles that they gather."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def run(self, api: Api) -> None:
        """Aggregate for as long as the server runs."""
        await self._settle()
        async for change in api.watch(COLLECTION, initial=False):
            if self._matters(change):
                await self._settle()

    async def _settle(self) -> None:
        """Gather until nothing changes: an aggregated role can be part of another one."""
        for _ in range(_DEEPEST):
            if not await self._gather():
                return

    def _matters(self, change: Change) -> bool:
        """Whether a role is aggregated, or could be part of one that is."""
        role = change.object()
        if _selectors(role):
            return True
        labels = [each["metadata"].get("labels") for each in (role, change.old.object() if change.old else role)]
        return any(labels)

    async def _gather(self) -> bool:
        """Whether a role had to be changed."""
        resource = self._api.catalog.find(GROUP, "v1", "clusterroles")
        if resource is None:
            return False
        changed = False
        roles = self._api.list(resource)
        for role in roles:
            if not _selectors(role) or role["metadata"].get("deletionTimestamp"):
                continue
            rules = gathered(role, roles)
            if rules == (role.get("rules") or []):
                continue
            applied: Object = {
                "apiVersion": f"{GROUP}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": role["metadata"]["name"]},
                "rules": rules,
            }
            try:
                await self._api.apply(resource, applied, manager=MANAGER)
                changed = True
            except StatusError as error:
                log.warning("cannot aggregate role %s: %s", role["metadata"]["name"], error.message)
        return changed


def gathered(role: Object, roles: Iterable[Object]) -> list[Object]:
    """The rules of an aggregated role: those of the chosen roles, by name, each rule once."""
    rules: list[Object] = []
    for selector in _selectors(role):
        for each in sorted(roles, key=lambda other: str(other["metadata"]["name"])):
            if each["metadata"]["name"] == role["metadata"]["name"]:
                continue
            if selects(selector, each["metadata"].get("labels") or {}):
                rules += [rule for rule in each.get("rules") or () if rule not in rules]
    return rules


def _selectors(role: Object) -> list[Object]:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
