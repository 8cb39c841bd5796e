"""What an operator decides for all Kustomizations: the flags of the controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api.durations import SECOND, Duration

if TYPE_CHECKING:
    from penstock.kube import GroupKind

CONTROLLER = "kustomize-controller"
"""The name under which objects are applied and events are told; Flux's own, so that either can take over."""
MANAGER = "gotk-kustomize-controller"
"""The field manager of status and finalizers."""
FINALIZER = "finalizers.fluxcd.io"
PREFIX = "kustomize.toolkit.fluxcd.io"
HALF_A_MINUTE = Duration(30 * SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Feature gates, with Flux's names in snake case and Flux's defaults."""

    additive_cel_dependency_check: bool = False
    cancel_health_check_on_new_revision: bool = False
    disable_config_watchers: bool = False
    disable_fail_fast_behavior: bool = False
    external_artifact: bool = False
    group_change_log: bool = False
    migrate_api_version: bool = False
    object_level_workload_identity: bool = False
    strict_post_build_substitutions: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Flags of the controller; the defaults are Flux's."""

    concurrent: int = 4
    concurrent_ssa: int = 4
    requeue_dependency: Duration = HALF_A_MINUTE
    remote_bases: bool = True
    cross_namespace_references: bool = True
    default_service_account: str = ""
    default_decryption_service_account: str = ""
    default_kubeconfig_service_account: str = ""
    tenant_reads: bool = False
    """Read variables, keys and kubeconfigs with the tenant's rights instead of the controller's."""
    override_managers: tuple[str, ...] = ()
    stage_kinds: tuple[GroupKind, ...] = ()
    insecure_kubeconfig_exec: bool = False
    insecure_kubeconfig_tls: bool = False
    runtime_namespace: str = "flux-system"
    age_secret: str = ""
    watch_namespace: str | None = None
    watch_labels: str = ""
    config_labels: str = "reconcile.fluxcd.io/watch=Enabled"
    gates: Gates = Gates()
