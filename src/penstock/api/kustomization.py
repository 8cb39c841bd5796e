"""Kustomization: a path in a source, built and kept applied."""

from typing import Annotated, Literal

import msgspec

from penstock.api.durations import SECOND, Duration
from penstock.api.inventory import Inventory
from penstock.api.meta import ObjectMeta, Snapshot, Status
from penstock.api.references import (
    CommonMetadata,
    Dependency,
    HealthExpression,
    IgnoreRule,
    Image,
    KubeConfig,
    LocalReference,
    Patch,
)
from penstock.api.wire import DEFAULTED, Wire, about

SHORTEST_TIMEOUT = Duration(30 * SECOND)
SHORTEST_WAIT = Duration(1 * SECOND)


class SourceReference(Wire, frozen=True, kw_only=True):
    """The source to build from."""

    api_version: Annotated[str, about("Accepted and ignored: sources are read as v1.")] = ""
    kind: Annotated[
        Literal["OCIRepository", "GitRepository", "Bucket", "ExternalArtifact"], about("Kind of the source.")
    ]
    name: Annotated[str, about("Name of the source.")]
    namespace: Annotated[str, about("Its namespace; by default the namespace of the Kustomization.")] = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}" if self.namespace else f"{self.kind}/{self.name}"


class Decryption(Wire, frozen=True, kw_only=True):
    """How encrypted files become readable."""

    provider: Annotated[Literal["sops"], about("What the files were encrypted with.")]
    secret_ref: Annotated[LocalReference | None, about("Secret with the private keys.")] = None
    service_account_name: Annotated[
        str, about("Service account to log in with where a cloud service keeps the key.")
    ] = ""


class HealthCheck(Wire, frozen=True, kw_only=True):
    """An object that must be healthy before the Kustomization is ready."""

    api_version: Annotated[str, about("API version of the object; empty means `apps/v1`.")] = ""
    kind: Annotated[str, about("Kind of the object.")]
    name: Annotated[str, about("Name of the object.")]
    namespace: Annotated[str, about("Namespace of the object.")] = ""


class SubstituteReference(Wire, frozen=True, kw_only=True):
    """An object whose data are variables."""

    kind: Annotated[Literal["Secret", "ConfigMap"], about("Kind of the object.")]
    name: Annotated[
        str,
        about("Name of the object, in the namespace of the Kustomization.", min_length=1, max_length=253),
    ]
    optional: Annotated[bool, about("Go on when the object does not exist."), DEFAULTED] = False


class PostBuild(Wire, frozen=True, kw_only=True):
    """What happens to the text of the built objects."""

    substitute: Annotated[dict[str, str], about("Variables; they win over those from objects.")] = msgspec.field(
        default_factory=dict
    )
    substitute_from: Annotated[
        tuple[SubstituteReference, ...], about("Objects to take variables from; later ones win.")
    ] = ()
    substitute_strategy: Annotated[
        Literal["WithVariables", "Always"],
        about("Whether text is touched even if there is no variable at all; `WithVariables` when left out."),
    ] = "WithVariables"


class KustomizationSpec(Wire, frozen=True, kw_only=True):
    """What to build, where to apply it, and how often."""

    interval: Annotated[Duration, about("Time between two successful runs.")]
    retry_interval: Annotated[Duration | None, about("Time after a failed run; by default the interval.")] = None
    timeout: Annotated[
        Duration | None,
        about("Longest wait for health; by default the interval less 30s. Never under 30s."),
    ] = None
    suspend: Annotated[bool, about("Leave everything as it is until this is false again.")] = False

    source_ref: Annotated[SourceReference, about("The source to build from.")]
    path: Annotated[str, about("Directory inside the source; by default its root.")] = ""
    depends_on: Annotated[
        tuple[Dependency, ...], about("Kustomizations that have to be ready before this one runs.")
    ] = ()

    prune: Annotated[bool, about("Delete objects that are no longer in the build.")]
    deletion_policy: Annotated[
        Literal["MirrorPrune", "Delete", "WaitForTermination", "Orphan"],
        about("What becomes of the objects when the Kustomization is deleted; `MirrorPrune` when left out."),
    ] = "MirrorPrune"
    force: Annotated[bool, about("Recreate an object whose immutable field has changed."), DEFAULTED] = False
    ignore: Annotated[tuple[IgnoreRule, ...], about("Fields in which the cluster may differ.")] = ()

    wait: Annotated[bool, about("Wait until every applied object is healthy.")] = False
    health_checks: Annotated[
        tuple[HealthCheck, ...], about("Objects that must be healthy; not looked at when `wait` is true.")
    ] = ()
    health_check_exprs: Annotated[
        tuple[HealthExpression, ...], about("How to read the health of kinds that have no conditions.")
    ] = ()

    target_namespace: Annotated[str, about("Namespace to put every object into.", min_length=1, max_length=63)] = ""
    name_prefix: Annotated[str, about("Text before every name.", min_length=1, max_length=200)] = ""
    name_suffix: Annotated[str, about("Text after every name.", min_length=1, max_length=200)] = ""
    common_metadata: Annotated[CommonMetadata | None, about("Labels and annotations for every object.")] = None
    patches: Annotated[tuple[Patch, ...], about("Patches to apply after those of the source.")] = ()
    images: Annotated[tuple[Image, ...], about("Other names, tags or digests for images.")] = ()
    components: Annotated[tuple[str, ...], about("Kustomize components to add, as relative paths.")] = ()
    ignore_missing_components: Annotated[bool, about("Leave out components whose path does not exist.")] = False
    build_metadata: Annotated[
        tuple[Literal["originAnnotations", "transformerAnnotations"], ...],
        about("Annotations that tell where built objects came from."),
    ] = ()
    decryption: Annotated[Decryption | None, about("How encrypted files become readable.")] = None
    post_build: Annotated[PostBuild | None, about("Variables to replace in the built objects.")] = None

    service_account_name: Annotated[str, about("Service account to act as.")] = ""
    kube_config: Annotated[KubeConfig | None, about("Another cluster to apply to.")] = None

    @property
    def health_timeout(self) -> Duration:
        """How long to wait for health: what is asked for or the interval less 30s, and never under 30s."""
        asked = self.interval - SHORTEST_TIMEOUT if self.timeout is None else self.timeout
        return Duration(max(asked, SHORTEST_TIMEOUT))

    @property
    def requeue_interval(self) -> Duration:
        """Time to the next run after success, before jitter.

        Never under a second: an interval of `0s` is a legal object, and must not make the controller spin.
        """
        return max(self.interval, SHORTEST_WAIT)

    @property
    def retry_after(self) -> Duration:
        """Time to the next run after a failure; never under a second, for the same reason."""
        asked = self.interval if self.retry_interval is None else self.retry_interval
        return max(asked, SHORTEST_WAIT)


class KustomizationStatus(Status, frozen=True, kw_only=True):
    """What came of it."""

    history: Annotated[tuple[Snapshot, ...], about("The last five distinct outcomes, newest first.")] = ()
    inventory: Annotated[Inventory | None, about("The objects that were applied.")] = None
    last_applied_origin_revision: Annotated[
        str, about("Where the revision below was built from, if the artifact says so.")
    ] = ""
    last_applied_revision: Annotated[str, about("Revision of the last run that succeeded entirely.")] = ""
    last_attempted_revision: Annotated[str, about("Revision of the last run that came as far as the build.")] = ""


class Kustomization(Wire, frozen=True, kw_only=True):
    """A path in a source, built with Kustomize and kept applied."""

    metadata: ObjectMeta
    spec: KustomizationSpec
    status: KustomizationStatus = KustomizationStatus(observed_generation=-1)
