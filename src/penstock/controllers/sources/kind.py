"""What the pipeline asks of a kind of source: everything in which Git, OCI and buckets differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from penstock.api.kinds import KINDS
from penstock.kube.resources import Resource
from penstock.paths.ignore import rules_of

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from penstock.api.durations import Duration
    from penstock.api.meta import ObjectMeta, SourceStatus
    from penstock.controllers.sources.surroundings import Surroundings
    from penstock.kube.resources import Object
    from penstock.paths.packing import Excludes
    from penstock.sources import Fetched, Remote


class Spec(Protocol):
    """The part of a spec that all sources have."""

    @property
    def interval(self) -> Duration: ...
    @property
    def timeout(self) -> Duration: ...
    @property
    def suspend(self) -> bool: ...


class Source(Protocol):
    """An object of one of the kinds, as its Struct."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> Spec: ...
    @property
    def status(self) -> SourceStatus: ...


W = TypeVar("W", bound=Source)


@dataclass(frozen=True, slots=True)
class Outdated:
    """Why an artifact has to be built anew although its revision is still the right one."""

    reason: str
    message: str


class SourceKind(ABC, Generic[W]):
    """The hooks of one kind. A hook raises SourceError, Stalled or Waiting; the pipeline turns it into status."""

    name: ClassVar[str]
    """The kind: `GitRepository`."""
    alias: ClassVar[str] = ""
    """A fixed name beside the files that leads to the newest; its URL goes to `status.url`."""
    failed: ClassVar[str] = "Failed"
    """Reason of FetchFailed when the time is up."""

    @property
    def resource(self) -> Resource:
        kind = KINDS[self.name]
        return Resource(kind.group, kind.version, kind.plural, kind.kind)

    @abstractmethod
    def decode(self, obj: Object) -> W:
        """The object as the Struct of its kind."""

    @abstractmethod
    def open(self, source: W, around: Surroundings) -> AbstractAsyncContextManager[Remote]:
        """The place that the spec and its Secrets describe; what it holds is released at the end of the context.

        Reading Secrets and building credentials happens on entering. The pipeline bounds it, `resolve` and `fetch`
        by `spec.timeout` each.
        """

    def at(self, source: W, revision: str) -> W | None:
        """The same source as if it asked for an older revision; None when nobody can fetch that again."""
        del source, revision
        return None

    @abstractmethod
    def filename(self, source: W, revision: str) -> str:
        """The name of the artifact's file."""

    def rules(self, source: W, tree: Path) -> Excludes | None:
        """What stays out of the archive; called in a thread. By default the tree's ignore files and `spec.ignore`."""
        return rules_of(tree, getattr(source.spec, "ignore", "") or "")

    async def outdated(self, source: W, around: Surroundings) -> Outdated | None:
        """Whether settings that shape the content differ from those of the current artifact.

        Asked only when there is an artifact. The answer None and an unchanged revision mean: nothing to do.
        """
        del around
        if (getattr(source.spec, "ignore", "") or "") != (getattr(source.status, "observed_ignore", None) or ""):
            return Outdated("NewRevision", "the ignore rules have changed")
        return None

    def observed(self, source: W) -> Object:
        """Fields of the status that say with which settings the artifact was built; None removes one."""
        return {"observedIgnore": getattr(source.spec, "ignore", "") or None}

    def verifies(self, source: W) -> bool:
        """Whether a signature is asked for; then `Fetched.verified` says whose it was."""
        del source
        return False

    async def include(self, source: W, tree: Path, around: Surroundings) -> Object:
        """Add files from elsewhere to what was fetched; the answer goes into the status with the artifact."""
        del source, tree, around
        return {}

    def stored(self, revision: str) -> str:
        """What the condition ArtifactInStorage says."""
        return f"stored artifact for revision '{revision}'"

    def news(self, source: W, revision: str, fetched: Fetched | None) -> str:
        """What the event about a new artifact says; without `fetched`, after a failure that is over."""
        del source
        return f"stored artifact for {fetched.summary if fetched is not None else repr(revision)}"
