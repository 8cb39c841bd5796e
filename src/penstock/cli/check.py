"""`penstock check`: does a cluster have what the controllers need, and do they run?"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from penstock.cli import progress, state
from penstock.cli.access import (
    HOME,
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    ask,
    duration,
)
from penstock.cli.flags import Option
from penstock.cli.output import Output, to_json, to_yaml
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube import Client, Object

OLDEST = ">=1.33.0-0"
"""The Kubernetes versions that the controllers are made for; the same as Flux's."""


class CheckFailed(PenstockError):
    """Something that is needed is not there."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    area: str
    ok: bool
    told: str
    notes: tuple[str, ...] = ()

    def say(self) -> None:
        (progress.success if self.ok else progress.failure)(self.told)
        for note in self.notes:
            progress.action(note)


def check(
    pre: Annotated[bool, Option("--pre", help="Only what is needed before an installation.")] = False,
    namespace: NamespaceOption = HOME,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """Exit 1 when a part fails. The namespace is that of the controllers."""
    found = ask(
        lambda client: _look(client, namespace, pre=pre),
        kubeconfig=kubeconfig,
        context=context,
        timeout=duration(timeout).seconds,
    )
    if output in {Output.JSON, Output.YAML}:
        sys.stdout.write((to_json if output is Output.JSON else to_yaml)([_data(one) for one in found]))
    if not all(one.ok for one in found):
        raise CheckFailed("check failed")
    progress.success("prerequisites checks passed" if pre else "all checks passed")
    return 0


async def _look(client: Client, namespace: str, *, pre: bool) -> list[Finding]:
    progress.action("checking prerequisites")
    found = _said([await kubernetes(client)])
    if pre:
        return found
    progress.action("checking controllers")
    found += _said(await controllers(client, namespace))
    progress.action("checking crds")
    return found + _said(await definitions(client))


def _said(found: Iterable[Finding]) -> list[Finding]:
    told = list(found)
    for one in told:
        one.say()
    return told


def _data(one: Finding) -> dict[str, Any]:
    return {"check": one.area, "ok": one.ok, "message": one.told, "notes": list(one.notes)}


async def kubernetes(client: Client) -> Finding:
    """Is the cluster new enough?"""
    from penstock.kube import Request

    answer = await client.call(Request("GET", "/version", repeatable=True))
    return judged_version(state.text(answer, "gitVersion"))


def judged_version(told: str) -> Finding:
    from penstock.semver import Constraint, Version

    try:
        version = Version.parse(told.removeprefix("v"))
    except PenstockError:
        return Finding("kubernetes", ok=False, told="Kubernetes version can't be determined")
    if not Constraint.parse(OLDEST).allows(version):
        return Finding("kubernetes", ok=False, told=f"Kubernetes version {told} does not match {OLDEST}")
    return Finding("kubernetes", ok=True, told=f"Kubernetes {told.removeprefix('v')} {OLDEST}")


async def controllers(client: Client, namespace: str) -> list[Finding]:
    """Do the controllers run: as Deployments, or somewhere else with a lease that is kept?"""
    from penstock.cli.finding import PART_OF
    from penstock.kube.resources import DEPLOYMENTS, LEASES

    deployments = (await client.list(DEPLOYMENTS, namespace, labels=PART_OF)).items
    if deployments:
        return [deployed(one) for one in deployments]
    held = [one for one in (await client.list(LEASES, namespace)).items if _held(one)]
    if held:
        return [_lease(one) for one in held]
    return [
        Finding(
            "controllers",
            ok=False,
            told=f"no controllers found in the '{namespace}' namespace with the label selector '{PART_OF}'",
            notes=("those of penstock up run outside of the cluster, and are not seen here",),
        )
    ]


def deployed(obj: Object) -> Finding:
    """Is a controller rolled out?"""
    from penstock.health import HealthStatus, status_of

    health = status_of({**obj, "apiVersion": "apps/v1", "kind": "Deployment"})
    ok = health.status is HealthStatus.CURRENT
    containers = state.at(obj, "spec", "template", "spec", "containers") or []
    return Finding(
        "controllers",
        ok=ok,
        told=f"{state.name(obj)}: deployment {'ready' if ok else 'not ready'}",
        notes=tuple(state.text(one, "image") for one in containers),
    )


def _held(lease: Object) -> bool:
    """Whether somebody keeps the lease: it was renewed within its own duration."""
    from datetime import UTC, datetime

    name, lasting = state.name(lease), state.at(lease, "spec", "leaseDurationSeconds")
    try:
        renewed = datetime.fromisoformat(state.text(lease, "spec", "renewTime"))
    except ValueError:
        return False
    ours = name.endswith("-controller-leader-election") or name.startswith("penstock")
    kept = isinstance(lasting, int) and (datetime.now(UTC) - renewed).total_seconds() < lasting
    return ours and kept and bool(state.text(lease, "spec", "holderIdentity"))


def _lease(obj: Object) -> Finding:
    holder = state.text(obj, "spec", "holderIdentity")
    return Finding("controllers", ok=True, told=f"{state.name(obj)}: held by {holder}, outside of a deployment")


async def definitions(client: Client) -> list[Finding]:
    """Are the kinds that have a controller known to the cluster?"""
    from penstock.api.kinds import KINDS
    from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

    listed = (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items
    found = {state.name(one): one for one in listed if state.text(one, "spec", "group").endswith(".toolkit.fluxcd.io")}
    missing = [kind.crd_name for kind in KINDS.values() if kind.handled and kind.crd_name not in found]
    advice = "apply it: penstock crds | kubectl apply --server-side -f -"
    return [
        *(_definition(one) for one in found.values()),
        *(Finding("crds", ok=False, told=f"{name} is missing; {advice}") for name in missing),
    ]


def _definition(obj: Object) -> Finding:
    stored = state.at(obj, "status", "storedVersions") or []
    if not stored:
        return Finding("crds", ok=False, told=f"no stored versions for {state.name(obj)}")
    return Finding("crds", ok=True, told=f"{state.name(obj)}/{stored[-1]}")
