"""HelmRelease: a chart kept installed with the given values."""

from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from penstock.api.durations import Duration
from penstock.api.helmactions import Install, Rollback, Test, Uninstall, Upgrade
from penstock.api.inventory import Inventory
from penstock.api.meta import ObjectMeta, Status
from penstock.api.references import (
    CommonMetadata,
    Dependency,
    HealthExpression,
    IgnoreRule,
    Image,
    KubeConfig,
    Patch,
    Verification,
)
from penstock.api.wire import DEFAULTED, Int64, Rule, Time, Wire, about

_LONGEST_RELEASE_NAME = 53


class ChartSourceReference(Wire, frozen=True, kw_only=True):
    """The source that holds the chart."""

    api_version: Annotated[str, about("API version of the source.")] = ""
    kind: Annotated[Literal["HelmRepository", "GitRepository", "Bucket"], about("Kind of the source.")]
    name: Annotated[str, about("Name of the source.", min_length=1, max_length=253)]
    namespace: Annotated[
        str, about("Its namespace; by default the one of the HelmRelease.", min_length=1, max_length=63)
    ] = ""


class ChartTemplateSpec(Wire, frozen=True, kw_only=True):
    """What the HelmChart will say."""

    chart: Annotated[str, about("Name of the chart, or its path in the source.", min_length=1, max_length=2048)]
    version: Annotated[str, about("Version or range of versions."), DEFAULTED] = "*"
    source_ref: Annotated[ChartSourceReference, about("The source that holds the chart.")]
    interval: Annotated[
        Duration | None, about("Time between two looks at the source; by default that of the HelmRelease.")
    ] = None
    reconcile_strategy: Annotated[
        Literal["ChartVersion", "Revision"],
        about("Upgrade when the version of the chart changes, or with every revision of the source."),
        DEFAULTED,
    ] = "ChartVersion"
    values_files: Annotated[
        tuple[str, ...], about("Files that become the values of the chart, merged in this order.")
    ] = ()
    ignore_missing_values_files: Annotated[bool, about("Leave out values files that do not exist.")] = False
    verify: Annotated[Verification | None, about("Whose signature is required.")] = None


class ChartTemplate(Wire, frozen=True, kw_only=True):
    """A HelmChart to be made for this release."""

    metadata: Annotated[CommonMetadata | None, about("Labels and annotations of the HelmChart.")] = None
    spec: Annotated[ChartTemplateSpec, about("What the HelmChart will say.")]


class ChartReference(Wire, frozen=True, kw_only=True):
    """An object whose artifact is the chart."""

    api_version: Annotated[str, about("API version of the object.")] = ""
    kind: Annotated[Literal["OCIRepository", "HelmChart", "ExternalArtifact"], about("Kind of the object.")]
    name: Annotated[str, about("Name of the object.", min_length=1, max_length=253)]
    namespace: Annotated[
        str, about("Its namespace; by default the one of the HelmRelease.", min_length=1, max_length=63)
    ] = ""


class DriftDetection(Wire, frozen=True, kw_only=True):
    """What to do when the cluster differs from the release."""

    mode: Annotated[
        Literal["enabled", "warn", "disabled"],
        about("Repair, only report, or do not look (also when left out)."),
    ] = "disabled"
    ignore: Annotated[tuple[IgnoreRule, ...], about("Fields in which the cluster may differ.")] = ()


class KustomizeRenderer(Wire, frozen=True, kw_only=True):
    """Changes to the rendered objects."""

    images: Annotated[tuple[Image, ...], about("Other names, tags or digests for images.")] = ()
    patches: Annotated[tuple[Patch, ...], about("Patches to apply.")] = ()


class PostRenderer(Wire, frozen=True, kw_only=True):
    """A step between rendering and applying."""

    kustomize: Annotated[KustomizeRenderer | None, about("Changes in the words of Kustomize.")] = None


class ValuesReference(Wire, frozen=True, kw_only=True):
    """An object that holds values."""

    kind: Annotated[Literal["Secret", "ConfigMap"], about("Kind of the object.")]
    name: Annotated[str, about("Name of the object, in the same namespace.", min_length=1, max_length=253)]
    values_key: Annotated[
        str,
        about("Key to read; `values.yaml` when left out.", pattern=r"^[\-._a-zA-Z0-9]+$", max_length=253),
    ] = ""
    target_path: Annotated[
        str,
        about(
            "Place for a single value; without it the value is a YAML file that is merged.",
            pattern=r"^([a-zA-Z0-9_\-.\\\/]|\[[0-9]{1,5}\])+$",
            max_length=250,
        ),
    ] = ""
    literal: Annotated[bool, about("Take the single value as it is, without Helm's `--set` syntax.")] = False
    optional: Annotated[bool, about("Go on when the object or key does not exist.")] = False


class WaitStrategy(Wire, frozen=True, kw_only=True):
    """How to wait for objects to be ready."""

    name: Annotated[Literal["poller", "legacy"], about("Read their status, or do as Helm 3 did.")]


class HelmReleaseSpec(Wire, frozen=True, kw_only=True):
    """Which chart, with which values, and how."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.chart) && !has(self.chartRef)) || (!has(self.chart) && has(self.chartRef))",
            "either chart or chartRef must be set",
        ),
    )

    chart: Annotated[ChartTemplate | None, about("A HelmChart to be made for this release.")] = None
    chart_ref: Annotated[ChartReference | None, about("An object whose artifact is the chart.")] = None
    interval: Annotated[Duration, about("Time between two successful runs.")]
    timeout: Annotated[Duration, about("Longest time for one Kubernetes operation of an action; 5m when left out.")] = (
        Duration.parse("5m")
    )
    suspend: Annotated[bool, about("Leave everything as it is until this is false again.")] = False
    depends_on: Annotated[
        tuple[Dependency, ...], about("HelmReleases that have to be ready before this one runs.")
    ] = ()

    release_name: Annotated[
        str, about("Name of the release; by default made from namespace and name.", min_length=1, max_length=53)
    ] = ""
    target_namespace: Annotated[
        str, about("Namespace to install into; by default the one here.", min_length=1, max_length=63)
    ] = ""
    storage_namespace: Annotated[
        str, about("Namespace to remember releases in; by default the one here.", min_length=1, max_length=63)
    ] = ""
    max_history: Annotated[int, about("How many releases to remember; 0 means all, 5 when left out.")] = 5

    values: Annotated[Any, about("Values for the chart; they win over those from objects.")] = None
    values_from: Annotated[tuple[ValuesReference, ...], about("Objects to take values from; later ones win.")] = ()
    common_metadata: Annotated[CommonMetadata | None, about("Labels and annotations for every object.")] = None
    post_renderers: Annotated[tuple[PostRenderer, ...], about("Steps between rendering and applying.")] = ()
    post_render_strategy: Annotated[
        Literal["nohooks", "combined", "separate"],
        about("Whether hooks go through the steps, and together with the rest (also when left out)."),
    ] = "combined"

    install: Annotated[Install | None, about("How to install.")] = None
    upgrade: Annotated[Upgrade | None, about("How to upgrade.")] = None
    test: Annotated[Test | None, about("Whether and how to run tests.")] = None
    rollback: Annotated[Rollback | None, about("How to go back.")] = None
    uninstall: Annotated[Uninstall | None, about("How to uninstall.")] = None
    drift_detection: Annotated[DriftDetection | None, about("What to do when the cluster differs.")] = None
    wait_strategy: Annotated[WaitStrategy | None, about("How to wait for objects to be ready.")] = None
    health_check_exprs: Annotated[
        tuple[HealthExpression, ...], about("How to read the health of kinds that have no conditions.")
    ] = ()

    service_account_name: Annotated[str, about("Service account to act as.", min_length=1, max_length=253)] = ""
    kube_config: Annotated[KubeConfig | None, about("Another cluster to install on.")] = None
    persistent_client: Annotated[bool, about("Keep one API client for a whole run; true when left out.")] = True


class TestHook(Wire, frozen=True, kw_only=True):
    """How one test went."""

    last_started: Annotated[Time | None, about("When it last began.")] = None
    last_completed: Annotated[Time | None, about("When it last ended.")] = None
    phase: Annotated[str, about("How it ended.")] = ""


class ReleaseSnapshot(Wire, frozen=True, kw_only=True):
    """One release, as it was when it was made."""

    name: Annotated[str, about("Name of the release.")]
    namespace: Annotated[str, about("Namespace that it was installed into.")]
    version: Annotated[int, about("Number of the release.")]
    status: Annotated[str, about("State that Helm gave it.")]
    action: Annotated[str, about("What made it: install or upgrade.")] = ""
    api_version: Annotated[str, about("How the digest below was made.")] = ""
    chart_name: Annotated[str, about("Name of the chart.")]
    chart_version: Annotated[str, about("Version of the chart.")]
    app_version: Annotated[str, about("Version of the application in the chart.")] = ""
    oci_digest: Annotated[str, about("Digest of the image that the chart came in.")] = ""
    config_digest: Annotated[str, about("Checksum of the values.")]
    digest: Annotated[str, about("Checksum of the release record.")]
    first_deployed: Annotated[Time, about("When the release was first made.")]
    last_deployed: Annotated[Time, about("When this one was made.")]
    deleted: Annotated[Time | None, about("When it was uninstalled.")] = None
    test_hooks: Annotated[dict[str, TestHook], about("How its tests went, by name.")] = msgspec.field(
        default_factory=dict
    )


class HelmReleaseStatus(Status, frozen=True, kw_only=True):
    """What came of it."""

    helm_chart: Annotated[str, about("The HelmChart made for this release, as `<namespace>/<name>`.")] = ""
    storage_namespace: Annotated[
        str, about("Namespace in which releases are remembered.", min_length=1, max_length=63)
    ] = ""
    history: Annotated[tuple[ReleaseSnapshot, ...], about("The releases, newest first.")] = ()
    inventory: Annotated[Inventory | None, about("The objects of the current release.")] = None
    failures: Annotated[Int64, about("Failures since the last success.")] = 0
    install_failures: Annotated[Int64, about("Failed installs since the last success.")] = 0
    upgrade_failures: Annotated[Int64, about("Failed upgrades since the last success.")] = 0
    last_attempted_config_digest: Annotated[str, about("Checksum of the values last tried.")] = ""
    last_attempted_generation: Annotated[Int64, about("Generation of the spec last tried.")] = 0
    last_attempted_release_action: Annotated[Literal["install", "upgrade"] | None, about("What was last tried.")] = None
    last_attempted_release_action_duration: Annotated[str, about("How long that took, as a Go duration.")] = ""
    last_attempted_revision: Annotated[str, about("Version of the chart last tried.")] = ""
    last_attempted_revision_digest: Annotated[str, about("Digest of the image last tried.")] = ""
    last_attempted_values_checksum: Annotated[str, about("Kept for old readers; not written.")] = ""
    last_handled_force_at: Annotated[
        str, about("The last `reconcile.fluxcd.io/forceAt` annotation that was acted upon.")
    ] = ""
    last_handled_reset_at: Annotated[
        str, about("The last `reconcile.fluxcd.io/resetAt` annotation that was acted upon.")
    ] = ""
    last_release_revision: Annotated[int, about("Kept for old readers; not written.")] = 0
    observed_common_metadata_digest: Annotated[str, about("Checksum of `commonMetadata` last applied.")] = ""
    observed_post_renderers_digest: Annotated[str, about("Checksum of `postRenderers` last applied.")] = ""


class HelmRelease(Wire, frozen=True, kw_only=True):
    """A chart kept installed with the given values."""

    metadata: ObjectMeta
    spec: HelmReleaseSpec
    status: HelmReleaseStatus = HelmReleaseStatus(observed_generation=-1)

    @property
    def release_name(self) -> str:
        """The name Helm knows the release by; one that would be too long ends in a hash of itself."""
        if self.spec.release_name:
            return self.spec.release_name
        target = self.spec.target_namespace
        name = f"{target}-{self.metadata.name}" if target else self.metadata.name
        if len(name) <= _LONGEST_RELEASE_NAME:
            return name
        return f"{name[:40]}-{sha256(name.encode()).hexdigest()[:12]}"
