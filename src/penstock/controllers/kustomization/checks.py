"""What has to be healthy, and how the health of kinds without conditions is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import cel
from penstock.controllers.kustomization.halt import gated, misconfigured
from penstock.errors import PenstockError
from penstock.health import Expressions
from penstock.kube import ObjectRef
from penstock.kube.resources import group_of

if TYPE_CHECKING:
    from penstock.api.kustomization import Kustomization
    from penstock.apply import ChangeSet
    from penstock.controllers.kustomization.settings import Gates

_DEFAULT = "apps/v1"


def expressions(kustomization: Kustomization) -> Expressions:
    """The compiled `healthCheckExprs`; a Halt when one of them is wrong."""
    try:
        return Expressions.of(kustomization.spec.health_check_exprs, cel.compile)
    except PenstockError as error:
        raise misconfigured(error) from error


def targets(kustomization: Kustomization, changes: ChangeSet) -> list[ObjectRef]:
    """The objects to wait for: all that were applied, or those that the spec names. Never the object itself."""
    metadata = kustomization.metadata
    if kustomization.spec.wait:
        wanted = list(changes.applied())
    else:
        wanted = [
            ObjectRef(group_of(check.api_version or _DEFAULT), check.kind, check.namespace, check.name)
            for check in kustomization.spec.health_checks
        ]
    itself = ("Kustomization", metadata.namespace, metadata.name)
    return [ref for ref in wanted if (ref.kind, ref.namespace, ref.name) != itself]


def pending(wanted: list[ObjectRef], changes: ChangeSet) -> list[ObjectRef]:
    """Without what was healthy a moment ago, when it was applied or compared."""
    healthy = set(changes.applied()) - set(changes.pending())
    return [ref for ref in wanted if ref not in healthy]


def require_gates(kustomization: Kustomization, gates: Gates) -> None:
    """A Halt when the spec uses what the operator has not switched on."""
    decryption = kustomization.spec.decryption
    if decryption is not None and decryption.service_account_name and not gates.object_level_workload_identity:
        raise gated(
            "to use spec.decryption.serviceAccountName for decryption authentication please enable the "
            "ObjectLevelWorkloadIdentity feature gate in the controller"
        )
