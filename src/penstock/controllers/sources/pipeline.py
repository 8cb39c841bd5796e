"""The way from a source object to its artifact, for all kinds: look, fetch, include, store.

Each step either moves on or raises: SourceError is tried again with growing pauses, Stalled waits for a change of
the object, Waiting is tried again after a fixed time. What that means for the status is said once, in `reconciler`.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.controllers.pins import Pins
from penstock.controllers.sources import revisions
from penstock.controllers.sources.kind import Outdated, W
from penstock.controllers.sources.ready import FETCH_FAILED, IN_STORAGE, INCLUDE_UNAVAILABLE, OUTDATED, VERIFIED
from penstock.paths import IgnoreError
from penstock.runtime.redaction import redact_text
from penstock.sources import SourceError
from penstock.sources.store import ArtifactDamaged, ArtifactMissing, RevisionMissing, StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from penstock.api.meta import Artifact
    from penstock.controllers.sources.draft import Draft
    from penstock.controllers.sources.kind import SourceKind
    from penstock.controllers.sources.surroundings import Surroundings
    from penstock.kube.resources import Object
    from penstock.runtime.announcing import Severity
    from penstock.runtime.run import Run
    from penstock.sources import Fetched, Remote
    from penstock.sources.store import ArtifactStore
    from penstock.sources.store.scratch import Scratch

T = TypeVar("T")

CALLS = 32
"""Remotes that are talked to at the same time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run that went well ended."""

    artifact: Artifact
    fetched: Fetched | None = None
    """What was fetched; None when nothing had to be."""


@dataclass(frozen=True)
class Pipeline(Generic[W]):
    """What the runs of one kind share."""

    kind: SourceKind[W]
    store: ArtifactStore
    scratch: Scratch
    instead: Callable[[Object], Remote | None] = lambda _: None
    """May give a place that stands in for the one in the spec, such as a directory being worked on."""
    pins: Pins = field(default_factory=Pins)
    calls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS))


class Steps(Generic[W]):
    """One run of the pipeline."""

    def __init__(
        self,
        pipeline: Pipeline[W],
        run: Run,
        obj: Object,
        source: W,
        draft: Draft,
        *,
        around: Surroundings,
        show: Callable[[], None],
    ) -> None:
        """`show` lets the world see how far the run is."""
        self._pipeline = pipeline
        self._kind, self._store = pipeline.kind, pipeline.store
        self._run, self._owner = run, run.key
        self._instead = pipeline.instead(obj)
        self._source, self._draft, self._around = source, draft, around
        self._show = show
        self.notes: list[tuple[Severity, str, str]] = []
        """Events to be told besides the outcome: severity, reason, message."""

    async def reconcile(self) -> Outcome:
        """Bring the artifact up to date; raises SourceError and its kin."""
        current = await self._look_after_storage()
        if not self._verifies:
            self._draft.drop(VERIFIED)
        async with AsyncExitStack() as opened:
            place = self._instead
            if place is None:
                context = self._kind.open(self._source, self._around)
                place = await self._bounded(lambda: opened.enter_async_context(context))
            outcome = await self._from(place, current)
        await self._hold_pinned()
        return outcome

    async def _look_after_storage(self) -> Artifact | None:
        """The artifact that the status names, if it is really there; older files are thinned out."""
        artifact = self._source.status.artifact
        if artifact is None:
            self._building("building artifact")
            return None
        try:
            self._store.of(self._owner, artifact)
            await self._collect(artifact)
            await self._store.check(artifact)
        except ArtifactMissing:
            pass
        except ArtifactDamaged as error:
            self.notes.append(
                ("Warning", "ArtifactVerificationFailed", f"failed to verify integrity of artifact: {error}")
            )
            await self._store.discard(artifact)
        else:
            current = self._store.located(artifact)
            self._draft.store(current)
            return current
        self._draft.store(None)
        self._draft.drop(IN_STORAGE)
        self._building("building artifact: disappeared from storage")
        return None

    async def _collect(self, artifact: Artifact) -> None:
        try:
            count = await self._store.collect(artifact, sparing=self._pipeline.pins.of(self._owner))
        except StoreError as error:
            self.notes.append(("Warning", "GarbageCollectionFailed", f"garbage collection failed: {error}"))
            return
        if count:
            self.notes.append(("Trace", "GarbageCollectionSucceeded", f"garbage collected {count} artifacts"))

    async def _from(self, place: Remote, current: Artifact | None) -> Outcome:
        why = await self._kind.outdated(self._source, self._around) if current is not None else None
        if current is not None and why is None and not self._must_verify():
            revision = await self._bounded(place.resolve)
            if revision is not None and revisions.same(revision, current.revision):
                return self._unchanged(current)
        if why is not None:
            self._draft.mark(OUTDATED, "True", why.reason, why.message)
            self._building(f"building artifact: {why.message}")
        async with self._pipeline.scratch.directory(self._owner.kind.lower()) as tree:
            fetched = await self._bounded(lambda: place.fetch(tree))
            return await self._take(fetched, tree, current, why)

    async def _hold_pinned(self) -> None:
        """Have the revisions that Kustomizations are pinned to; what is gone is fetched again where that can be."""
        pins = self._pipeline.pins
        for wanted in pins.of(self._owner):
            try:
                await self._store.find(self._owner, wanted)
                if pins.trouble(self._owner, wanted):
                    pins.settle(self._owner, wanted)
                continue
            except RevisionMissing:
                trouble = await self._fetch_again(wanted)
            pins.settle(self._owner, wanted, trouble)

    async def _fetch_again(self, wanted: str) -> str:
        """Bring an older revision into the store; the answer is why that failed, which is no failure of the source."""
        asked = self._kind.at(self._source, wanted) if self._instead is None else None
        if asked is None:
            return f"a {self._kind.name} cannot fetch it again by this name; give the whole hash of a commit or image"
        try:
            async with AsyncExitStack() as opened:
                context = self._kind.open(asked, self._around)
                place = await self._bounded(lambda: opened.enter_async_context(context))
                async with self._pipeline.scratch.directory(self._owner.kind.lower()) as tree:
                    fetched = await self._bounded(lambda: place.fetch(tree))
                    await self._put(fetched, tree)
        except SourceError as error:
            return redact_text(str(error))
        told = f"stored artifact for the pinned revision '{fetched.revision}'"
        self.notes.append(("Normal", "PinnedArtifact", told))
        return ""

    @property
    def _verifies(self) -> bool:
        """What stands in for the real place is trusted as it is: nobody signs while he types."""
        return self._instead is None and self._kind.verifies(self._source)

    def _must_verify(self) -> bool:
        """A signature is asked for, and has not been found good for this generation of the spec."""
        if not self._verifies:
            return False
        seen = self._draft.condition(VERIFIED)
        return seen is None or seen.status != "True" or seen.observed_generation != self._draft.generation

    async def _take(self, fetched: Fetched, tree: Path, current: Artifact | None, why: Outdated | None) -> Outcome:
        self._draft.drop(FETCH_FAILED)
        if fetched.verified:
            self._draft.mark(VERIFIED, "True", "Succeeded", fetched.verified)
        if current is not None and why is None and revisions.same(fetched.revision, current.revision):
            told = f"artifact up-to-date with remote revision: '{current.revision}'"
            self.notes.append(("Trace", "ArtifactUpToDate", told))
            return self._unchanged(current, fetched)
        if current is None or not revisions.same(fetched.revision, current.revision):
            message = f"new upstream revision '{fetched.revision}'"
            if current is not None:
                self._draft.mark(OUTDATED, "True", "NewRevision", message)
            self._building(f"building artifact: {message}")
        extra = await self._kind.include(self._source, tree, self._around)
        self._draft.drop(INCLUDE_UNAVAILABLE)
        artifact = await self._put(fetched, tree)
        self._draft.store(artifact)
        self._draft.set({**self._kind.observed(self._source), **extra})
        if self._kind.alias:
            self._draft.set({"url": await self._store.link(artifact, self._kind.alias)})
        return self._unchanged(artifact, fetched)

    async def _put(self, fetched: Fetched, tree: Path) -> Artifact:
        filename = f"{fetched.revision.rpartition(':')[2]}.tar.gz"
        if self._instead is None:
            filename = self._kind.filename(self._source, fetched.revision)
        revision, metadata = fetched.revision, fetched.metadata
        if fetched.blob is not None:
            return await self._store.put_file(self._owner, filename, fetched.blob, revision=revision, metadata=metadata)
        try:
            rules = await asyncio.to_thread(self._kind.rules, self._source, tree)
        except IgnoreError as error:
            told = f"failed to load source ignore patterns: {error}"
            raise StoreError(told, reason="SourceIgnoreError") from error
        return await self._store.put_tree(
            self._owner, filename, tree, revision=revision, metadata=metadata, leaving_out=rules
        )

    def _unchanged(self, artifact: Artifact, fetched: Fetched | None = None) -> Outcome:
        self._draft.drop(FETCH_FAILED, OUTDATED, INCLUDE_UNAVAILABLE)
        self._draft.mark(IN_STORAGE, "True", "Succeeded", self._kind.stored(artifact.revision))
        if self._kind.alias and self._draft.get("url"):
            self._draft.set({"url": self._store.url(f"{artifact.path.rpartition('/')[0]}/{self._kind.alias}")})
        return Outcome(artifact, fetched)

    def _building(self, message: str) -> None:
        self._draft.progress(message, drifting=True)
        self._show()

    async def _bounded(self, call: Callable[[], Awaitable[T]]) -> T:
        """Talk to the place without holding a slot, within the time that the spec allows."""
        limit = self._source.spec.timeout
        async with self._run.parked("the remote"), self._pipeline.calls:
            try:
                async with asyncio.timeout(limit.seconds):
                    return await call()
            except TimeoutError:
                raise SourceError(f"no answer from the remote within {limit}", reason=self._kind.failed) from None
