"""What the pipeline of a source wants of a place, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class SourceError(PenstockError):
    """A place could not give what was asked for; knows the condition and the reason that the status shows."""

    def __init__(self, message: str, *, reason: str, condition: str = "FetchFailed") -> None:
        super().__init__(message)
        self.reason, self.condition = reason, condition


class Stalled(SourceError):
    """No retry can help: the spec or a Secret has to change."""


class AccountUnusable(Stalled):
    """`spec.serviceAccountName` is to log in to a cloud, and only this process itself can do that here."""

    def __init__(self) -> None:
        super().__init__(
            "to use spec.serviceAccountName for provider authentication please enable the "
            "ObjectLevelWorkloadIdentity feature gate in the controller",
            reason="FeatureGateDisabled",
        )


class Waiting(SourceError):
    """Something that the source depends on is not there yet; it is looked for again after a fixed time."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came from a place, not yet packed."""

    revision: str
    """As the status shows it: `main@sha1:...`, `latest@sha256:...`."""
    summary: str
    """What the event says was stored, such as "commit 'Add a cache'"."""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    """Facts from upstream that go into the artifact, such as the annotations of an image."""
    blob: Path | None = None
    """A file to be stored as it is, in place of an archive of the tree."""
    verified: str = ""
    """Whose signatures were checked, in words; empty when none was asked for."""


class Remote(Protocol):
    """One place with one reference, as one object's spec and Secrets describe it.

    Both calls raise SourceError, and their texts carry no credentials. They are bounded by the caller's timeout.
    """

    async def resolve(self) -> str | None:
        """The revision that the reference names now, for one small request or none; None when only a fetch can tell."""
        ...

    async def fetch(self, into: Path) -> Fetched:
        """Put the files into this empty directory: regular files and directories that lie in it, nothing else runs."""
        ...
