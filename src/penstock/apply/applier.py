"""The door: one target cluster with one identity, into which sets are applied and from which they are pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.apply.ignore import IgnoreRules
from penstock.apply.inventory import identities, readable
from penstock.apply.managers import Rival, rivals
from penstock.apply.plan import Ledger, steps
from penstock.apply.preview import Discretion, Preview, Pruning, preview
from penstock.apply.prune import prune
from penstock.apply.run import Run
from penstock.apply.validate import Terms
from penstock.kube.resources import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

    from penstock.api.inventory import Inventory, InventoryEntry
    from penstock.api.references import IgnoreRule
    from penstock.apply.changes import ChangeSet
    from penstock.apply.policy import Owner
    from penstock.health import Expressions
    from penstock.kube import Client, GroupKind, Object

PATIENCE = 300.0
"""Seconds for an object with finalizers to go, before the one that replaces it is made."""


class Applier:
    """One target cluster, seen with one identity."""

    def __init__(
        self,
        client: Client,
        *,
        manager: str = "kustomize-controller",
        override_managers: Iterable[str | Rival] = (),
        stage_kinds: Collection[GroupKind] = (),
        concurrency: int = 16,
        migrate_api_version: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        """`concurrency` objects are worked on at a time; the client's limiter may allow fewer requests."""
        self._client = client
        self._manager = manager
        self._rivals = rivals(manager, override_managers)
        self._stage_kinds = stage_kinds
        self._concurrency = concurrency
        self._migrate = migrate_api_version
        self._patience = patience

    async def apply(
        self,
        objects: Iterable[Object],
        *,
        owner: Owner,
        force: bool = False,
        ignore: Iterable[IgnoreRule] = (),
        expressions: Expressions | None = None,
        expected: Collection[ObjectRef] = (),
        ledger: Ledger | None = None,
        write_ahead: Callable[[Sequence[InventoryEntry]], Awaitable[None]] | None = None,
        guard: Callable[[], None] = lambda: None,
    ) -> ChangeSet:
        """Apply the set; ApplyFailed tells every problem of a stage, and what was done before it.

        `expected` are objects that are probably there, as the last inventory has them: it only saves time. `ledger` may
        spare objects all requests. `write_ahead` is awaited with everything that is going to be written, before the
        first write, and `guard` is called before every write; what they raise ends the run.
        """
        terms = self._terms(
            owner, force=force, ignore=ignore, expressions=expressions, expected=expected, ledger=ledger, guard=guard
        )
        return await Run(self._client, terms, self._concurrency, self._patience).run(
            steps(objects, self._stage_kinds), write_ahead
        )

    async def prune(
        self, entries: Iterable[InventoryEntry], *, owner: Owner, guard: Callable[[], None] = lambda: None
    ) -> ChangeSet:
        """Delete what an inventory has and nobody wants any more; PruneFailed when some of it may still be there.

        `guard` is called before every delete; what it raises ends the run.
        """
        return await prune(self._client, entries, owner=owner, concurrency=self._concurrency, guard=guard)

    async def preview(
        self,
        objects: Iterable[Object],
        *,
        owner: Owner,
        force: bool = False,
        ignore: Iterable[IgnoreRule] = (),
        before: Inventory | None = None,
        prunes: bool = False,
        discretion: Discretion | None = None,
    ) -> Preview:
        """What `apply`, and then `prune` of what `before` has and the set lacks, would do. Nothing is written.

        ApplyFailed and PruneFailed as there.
        """
        before = readable(before)
        expected = [ObjectRef(*one) for one in identities(before)]
        terms = self._terms(owner, force=force, ignore=ignore, expected=expected)
        return await preview(
            self._client,
            steps(objects, self._stage_kinds),
            terms,
            Pruning(before, prunes),
            discretion or Discretion(),
            concurrency=self._concurrency,
        )

    def _terms(
        self,
        owner: Owner,
        *,
        force: bool,
        ignore: Iterable[IgnoreRule],
        expected: Collection[ObjectRef],
        expressions: Expressions | None = None,
        ledger: Ledger | None = None,
        guard: Callable[[], None] = lambda: None,
    ) -> Terms:
        return Terms(
            owner,
            self._manager,
            self._rivals,
            IgnoreRules(ignore),
            force=force,
            migrate=self._migrate,
            expressions=expressions,
            expected=frozenset(expected),
            ledger=ledger,
            guard=guard,
        )
