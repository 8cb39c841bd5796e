"""Writes one object that has been validated: what is in the way first, then the apply itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.apply.changes import Change
from penstock.apply.gone import until_gone
from penstock.apply.managers import JSONPatch, cleanup, migration
from penstock.apply.refusals import public
from penstock.health import status_of
from penstock.kube.errors import Conflict, KubeError, NotFound

if TYPE_CHECKING:
    from penstock.apply.plan import Step, Write
    from penstock.apply.validate import Terms
    from penstock.kube import Client, Object, Resource

TRIES = 5
"""How often a take-over is tried against somebody who writes at the same time."""


class WriteFailed(Exception):
    """One object could not be written; the text is the sentence for the user."""


class Writer:
    """Writes objects to one cluster, on the terms of one run."""

    def __init__(self, client: Client, terms: Terms, *, patience: float) -> None:
        self._client = client
        self._terms = terms
        self._patience = patience

    async def write(self, step: Step, write: Write) -> Change:
        """Apply the object; WriteFailed says what the server would not do."""
        resource = step.resource
        assert resource is not None, "an object is validated before it is written"  # noqa: S101
        self._terms.guard()
        if write.replaces:
            await self._make_way(step, resource, write.replaces)
        if write.live is not None:
            await self._take_over(step, resource, write.live)
        self._terms.guard()
        try:
            answer = await self._client.apply(resource, write.payload, manager=self._terms.manager, force=True)
        except KubeError as error:
            raise WriteFailed(f"{step.ref} apply failed: {public(str(error), step.desired)}") from error
        if self._terms.ledger is not None:
            self._terms.ledger.applied(step.ref, step.desired, answer)
        uid = str((answer.get("metadata") or {}).get("uid") or "")
        health = status_of(answer, expressions=self._terms.expressions).status
        return Change(step.ref, write.action, step.version, uid, health, write.rival)

    async def migrate(self, step: Step, live: Object) -> None:
        """Say of every field manager that it used the version of the desired object."""
        assert step.resource is not None  # noqa: S101
        self._terms.guard()
        try:
            await self._patch(step, step.resource, live, takes_over=False)
        except KubeError as error:
            raise WriteFailed(
                f"{step.ref} failed to migrate API version: {public(str(error), step.desired)}"
            ) from error

    async def _take_over(self, step: Step, resource: Resource, live: Object) -> None:
        takes_over = not self._terms.owner.merges(step.desired, live)
        try:
            await self._patch(step, resource, live, takes_over=takes_over)
        except KubeError as error:
            problem = public(str(error), step.desired)
            raise WriteFailed(f"{step.ref} metadata.managedFields cleanup failed: {problem}") from error

    async def _patch(self, step: Step, resource: Resource, live: Object, *, takes_over: bool) -> None:
        for remaining in reversed(range(TRIES)):
            patch = self._composed(step, live, takes_over=takes_over)
            if not patch:
                return
            name, namespace = step.ref.name, step.ref.namespace or None
            try:
                await self._client.patch(resource, name, namespace, patch, kind="json", manager=self._terms.manager)
            except NotFound:
                return  # gone meanwhile: the apply creates it
            except Conflict:
                if not remaining:
                    raise
                live = await self._client.get(resource, name, namespace)
            else:
                return

    def _composed(self, step: Step, live: Object, *, takes_over: bool) -> JSONPatch:
        """One patch for both jobs: the new version of all field managers, and the take-over."""
        patch: JSONPatch = []
        if self._terms.migrate:
            patch = migration(live, str(step.desired.get("apiVersion")))
        if patch:
            metadata = {**live["metadata"], "managedFields": patch[0]["value"]}
            live = {**live, "metadata": metadata}
        taken = cleanup(live, self._terms.manager, self._terms.rivals) if takes_over else []
        return [*patch[:1], *taken] if taken else patch

    async def _make_way(self, step: Step, resource: Resource, uid: str) -> None:
        """Delete what cannot be changed, and wait until it is gone."""
        name, namespace = step.ref.name, step.ref.namespace or None
        found = f"{step.ref} immutable field detected, failed to"
        try:
            await self._client.delete(resource, name, namespace, propagation="Background", uid=uid)
        except NotFound:
            return
        except KubeError as error:
            raise WriteFailed(f"{found} delete object: {public(str(error), step.desired)}") from error
        if await until_gone(self._client, {step.ref: uid}, timeout=self._patience):
            raise WriteFailed(
                f"{found} wait for object to be deleted: it is still there after {self._patience:g}s, "
                f"look at its finalizers"
            )
