"""HelmChart: one version of a chart as an artifact."""

from typing import Annotated, ClassVar, Literal

from penstock.api.durations import Duration
from penstock.api.meta import ObjectMeta, SourceStatus
from penstock.api.references import AccessFrom, IdentityVerification
from penstock.api.wire import DEFAULTED, Rule, Wire, about


class ChartSource(Wire, frozen=True, kw_only=True):
    """The source that holds the chart, in the same namespace."""

    api_version: Annotated[str, about("API version of the source.")] = ""
    kind: Annotated[Literal["HelmRepository", "GitRepository", "Bucket"], about("Kind of the source.")]
    name: Annotated[str, about("Name of the source.")]


class HelmChartSpec(Wire, frozen=True, kw_only=True):
    """Which chart, which version, and how often to look."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.verify) || self.sourceRef.kind == 'HelmRepository'",
            "spec.verify is only supported when spec.sourceRef.kind is 'HelmRepository'",
        ),
    )

    chart: Annotated[str, about("Name of the chart, or its path in a GitRepository or Bucket.")]
    version: Annotated[
        str, about("Version or range of versions; not looked at for GitRepository and Bucket."), DEFAULTED
    ] = "*"
    source_ref: Annotated[ChartSource, about("The source that holds the chart.")]
    interval: Annotated[Duration, about("Time between two looks at the source.")]
    suspend: Annotated[bool, about("Stop looking until this is false again.")] = False
    reconcile_strategy: Annotated[
        Literal["ChartVersion", "Revision"],
        about("Make a new artifact when the version of the chart changes, or with every revision of the source."),
        DEFAULTED,
    ] = "ChartVersion"
    values_files: Annotated[
        tuple[str, ...], about("Files that become the values of the chart, merged in this order.")
    ] = ()
    ignore_missing_values_files: Annotated[bool, about("Leave out values files that do not exist.")] = False
    verify: Annotated[IdentityVerification | None, about("Whose signature is required.")] = None


class HelmChartSpecV1beta2(HelmChartSpec, frozen=True, kw_only=True):
    """What old manifests may say besides; it has no effect."""

    access_from: Annotated[AccessFrom | None, about("Accepted for old manifests, never enforced.")] = None


class HelmChartStatus(SourceStatus, frozen=True, kw_only=True):
    """What was packaged, and from what."""

    observed_chart_name: Annotated[str, about("Name of the chart last found.")] = ""
    observed_source_artifact_revision: Annotated[str, about("Revision of the source that was used.")] = ""
    observed_values_files: Annotated[tuple[str, ...], about("Values files that were found and merged.")] = ()
    url: Annotated[str, about("Where the newest chart can always be fetched.")] = ""


class HelmChart(Wire, frozen=True, kw_only=True):
    """One version of a chart as an artifact."""

    metadata: ObjectMeta
    spec: HelmChartSpec
    status: HelmChartStatus = HelmChartStatus(observed_generation=-1)
