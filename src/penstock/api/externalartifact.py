"""ExternalArtifact: an artifact that a program other than ours has stored."""

from typing import Annotated

from penstock.api.meta import Artifact, Condition, ObjectMeta
from penstock.api.wire import Wire, about


class ProducerReference(Wire, frozen=True, kw_only=True):
    """The object that the artifact was made from."""

    api_version: Annotated[str, about("API version of the object.")] = ""
    kind: Annotated[str, about("Kind of the object.")]
    name: Annotated[str, about("Name of the object.")]
    namespace: Annotated[str, about("Its namespace; by default the namespace of the ExternalArtifact.")] = ""


class ExternalArtifactSpec(Wire, frozen=True, kw_only=True):
    """Where the artifact comes from."""

    source_ref: Annotated[ProducerReference | None, about("The object that the artifact was made from.")] = None


class ExternalArtifactStatus(Wire, frozen=True, kw_only=True):
    """What the other program reports."""

    artifact: Annotated[Artifact | None, about("The file that the other program has stored.")] = None
    conditions: Annotated[tuple[Condition, ...], about("What is known about the state of the object.")] = ()


class ExternalArtifact(Wire, frozen=True, kw_only=True):
    """An artifact that a program other than ours has stored."""

    metadata: ObjectMeta
    spec: ExternalArtifactSpec = ExternalArtifactSpec()
    status: ExternalArtifactStatus = ExternalArtifactStatus()
