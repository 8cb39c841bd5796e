"""Alert: which events go to which Provider."""

from typing import Annotated, Literal

import msgspec

from penstock.api.meta import ObjectMeta
from penstock.api.references import LocalReference
from penstock.api.wire import DEFAULTED, Wire, about


class EventObject(Wire, frozen=True, kw_only=True):
    """The objects that events are about."""

    api_version: Annotated[str, about("API version of the objects.")] = ""
    kind: Annotated[
        Literal[
            "Bucket",
            "GitRepository",
            "Kustomization",
            "HelmRelease",
            "HelmChart",
            "HelmRepository",
            "ImageRepository",
            "ImagePolicy",
            "ImageUpdateAutomation",
            "OCIRepository",
            "ArtifactGenerator",
            "ExternalArtifact",
        ],
        about("Kind of the objects."),
    ]
    name: Annotated[str, about("Name of the object; `*` for all.", min_length=1, max_length=253)]
    namespace: Annotated[
        str, about("Their namespace; by default the one of this object.", min_length=1, max_length=253)
    ] = ""
    match_labels: Annotated[dict[str, str], about("Labels that the objects must have; goes with the name `*`.")] = (
        msgspec.field(default_factory=dict)
    )


class AlertSpec(Wire, frozen=True, kw_only=True):
    """Which events, and where they go."""

    provider_ref: Annotated[LocalReference, about("The Provider to send to.")]
    event_sources: Annotated[tuple[EventObject, ...], about("The objects whose events are sent.")]
    event_severity: Annotated[Literal["info", "error"], about("Send everything, or errors only."), DEFAULTED] = "info"
    event_metadata: Annotated[dict[str, str], about("Facts to add to every event.")] = msgspec.field(
        default_factory=dict
    )
    inclusion_list: Annotated[
        tuple[str, ...], about("Regular expressions; a message must match one of them to be sent.")
    ] = ()
    exclusion_list: Annotated[
        tuple[str, ...], about("Regular expressions; a message that matches one of them is not sent.")
    ] = ()
    summary: Annotated[
        str, about("A line to add to every event; `eventMetadata` has taken its place.", max_length=255)
    ] = ""
    suspend: Annotated[bool, about("Send nothing until this is false again.")] = False


class Alert(Wire, frozen=True, kw_only=True):
    """Which events go to which Provider."""

    metadata: ObjectMeta
    spec: AlertSpec
