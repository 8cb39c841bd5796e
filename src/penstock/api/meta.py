"""What resources of every kind have in common: metadata, conditions, artifacts and history."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from penstock.api.wire import Generation, Int64, Time, Wire, about

_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
_DIGEST = r"^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$"


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """The part of `metadata` that controllers look at; the raw object has the rest."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()


class Condition(Wire, frozen=True, kw_only=True):
    """One thing that is known about the state of an object."""

    type: Annotated[
        str, about("What the condition is about, such as `Ready`.", pattern=_CONDITION_TYPE, max_length=316)
    ]
    status: Annotated[Literal["True", "False", "Unknown"], about("Whether it holds.")]
    reason: Annotated[
        str,
        about("The cause in one CamelCase word.", pattern=_CONDITION_REASON, min_length=1, max_length=1024),
    ]
    message: Annotated[str, about("The cause in words for people; may be empty.", max_length=32768)]
    last_transition_time: Annotated[Time, about("When status, reason or message last changed.")]
    observed_generation: Annotated[Generation, about("The generation of the spec that the condition speaks of.")] = 0


class Artifact(Wire, frozen=True, kw_only=True):
    """A file that a source has made available."""

    digest: Annotated[str, about("Checksum of the file, as `<algorithm>:<hex>`.", pattern=_DIGEST)]
    last_update_time: Annotated[Time, about("When the file was stored.")]
    path: Annotated[str, about("Where the file lies below the root of the storage.")]
    revision: Annotated[str, about("What the content is a copy of, such as `main@sha1:<hash>`.")]
    url: Annotated[str, about("Where consumers fetch the file.")]
    size: Annotated[Int64 | None, about("Size of the file in bytes.")] = None
    metadata: Annotated[dict[str, str], about("Facts from upstream, such as the annotations of an image.")] = (
        msgspec.field(default_factory=dict)
    )


class Snapshot(Wire, frozen=True, kw_only=True):
    """One distinct outcome of reconciling, and how often it came about."""

    digest: Annotated[str, about("Checksum of what was to be applied, as `<algorithm>:<hex>`.")]
    first_reconciled: Annotated[Time, about("When this content first had this outcome.")]
    last_reconciled: Annotated[Time, about("When it last had it.")]
    last_reconciled_duration: Annotated[str, about("How long the last run took, as a Go duration.")]
    last_reconciled_status: Annotated[str, about("The outcome: the reason of the Ready condition.")]
    total_reconciliations: Annotated[Int64, about("How many runs ended like this.")]
    metadata: Annotated[dict[str, str], about("More about the content, such as its revision.")] = msgspec.field(
        default_factory=dict
    )


class Status(Wire, frozen=True, kw_only=True):
    """What every controller reports."""

    conditions: Annotated[tuple[Condition, ...], about("What is known about the state of the object.")] = ()
    last_handled_reconcile_at: Annotated[
        str, about("The last `reconcile.fluxcd.io/requestedAt` annotation that was acted upon.")
    ] = ""
    observed_generation: Annotated[
        Int64, about("The last generation of the spec that was dealt with; -1 before the first run.")
    ] = 0

    def condition(self, name: str) -> Condition | None:
        """The condition of this type, if it is there."""
        return next((condition for condition in self.conditions if condition.type == name), None)


class SourceStatus(Status, frozen=True, kw_only=True):
    """What every source reports."""

    artifact: Annotated[Artifact | None, about("The file of the last successful run.")] = None
