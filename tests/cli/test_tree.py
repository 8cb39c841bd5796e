"""`penstock tree`: inventories within inventories, in Flux's shapes."""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING

import pytest

from penstock.api import crd
from penstock.kube.resources import SECRETS
from tests.cli.stage import Ended, Stage, command
from tests.definitions import define

if TYPE_CHECKING:
    from penstock.kube import Object

KUSTOMIZATION = "kustomize.toolkit.fluxcd.io_Kustomization"


async def _scene(stage: Stage) -> None:
    namespace = stage.namespace
    await stage.kustomization(
        "top",
        inventory=(
            "_team__Namespace",
            f"{namespace}_top_{KUSTOMIZATION}",
            f"{namespace}_below_{KUSTOMIZATION}",
            f"{namespace}_remote_{KUSTOMIZATION}",
            "team_web_apps_Deployment",
        ),
    )
    await stage.kustomization(
        "below",
        inventory=(
            f"{namespace}_apps_source.toolkit.fluxcd.io_GitRepository",
            "_view__all_rbac.authorization.k8s.io_ClusterRole",
        ),
    )
    secret = {"secretRef": {"name": "kubeconfig"}}
    await stage.kustomization("remote", kubeConfig=secret, inventory=(f"{namespace}_below_{KUSTOMIZATION}",))
    await stage.kustomization("empty")


@pytest.mark.scenario("cli-14")
async def test_shapes(stage: Stage) -> None:
    await _scene(stage)
    here = stage.namespace
    assert await stage.run("tree", "kustomization", "top") == Ended(
        0,
        f"""\
Kustomization/{here}/top
├── Namespace/team
├── Kustomization/{here}/below
│   ├── GitRepository/{here}/apps
│   └── ClusterRole/view:all
├── Kustomization/{here}/remote
│   └── Kustomization/{here}/below
└── Deployment/team/web

""",
        "",
    )
    compact = (await stage.run("tree", "ks", "top", "--compact")).out
    assert compact.splitlines()[1:4] == [
        f"├── Kustomization/{here}/below",
        f"│   └── GitRepository/{here}/apps",
        f"└── Kustomization/{here}/remote",
    ]
    assert (await stage.run("tree", "ks", "empty")).out == f"Kustomization/{here}/empty\n\n"
    told = json.loads((await stage.run("tree", "ks", "top", "-o", "json")).out)
    assert told["resources"][0] == {
        "resource": {"Namespace": "", "Name": "team", "GroupKind": {"Group": "", "Kind": "Namespace"}}
    }
    assert (await stage.run("tree", "ks", "missing")).code == 1


@pytest.mark.real
async def test_the_same_bytes_as_flux(stage: Stage) -> None:
    await _scene(stage)
    for arguments in ("top", "top --compact", "top -o json"):
        words = ("tree", "ks", *arguments.split())
        assert await stage.run(*words) == await stage.flux(*words), arguments


async def test_a_child_that_is_gone_and_one_that_is_above(stage: Stage) -> None:
    """The tree of what is there is shown; a ring does not go round for ever."""
    here = stage.namespace
    await stage.kustomization("a", inventory=(f"{here}_b_{KUSTOMIZATION}", f"{here}_gone_{KUSTOMIZATION}"))
    await stage.kustomization("b", inventory=(f"{here}_a_{KUSTOMIZATION}", "nonsense"))
    ended = await stage.run("tree", "ks", "a")
    assert ended == Ended(
        0, f"Kustomization/{here}/a\n├── Kustomization/{here}/b\n└── Kustomization/{here}/gone\n\n", ""
    )


def _record(manifest: str) -> str:
    packed = gzip.compress(json.dumps({"name": "web", "manifest": manifest}).encode())
    return base64.b64encode(base64.b64encode(packed)).decode()


MANIFEST = """\
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
"""


@pytest.mark.scenario("cli-14")
async def test_releases(stage: Stage) -> None:
    """What a release has installed stands in its Secret; without that it is a leaf."""
    here = stage.namespace
    await define(stage.client, crd("HelmRelease"))
    await stage.kustomization("apps", inventory=tuple(f"{here}_{name}_{RELEASE}" for name in ("web", "lost")))
    for name in ("web", "lost"):
        await stage.create("HelmRelease", name, {"interval": "1m", "chart": {"spec": CHART}}, _released(name, here))
    body = {"metadata": {"name": "sh.helm.release.v1.web.v1"}, "data": {"release": _record(MANIFEST)}}
    await stage.client.create(SECRETS, body, namespace=here)
    assert (await stage.run("tree", "ks", "apps")).out.splitlines()[1:5] == [
        f"├── HelmRelease/{here}/web",
        f"│   ├── Service/{here}/web",
        "│   └── ClusterRole/web",
        f"└── HelmRelease/{here}/lost",
    ]


RELEASE = "helm.toolkit.fluxcd.io_HelmRelease"
CHART = {"chart": "web", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}


def _released(name: str, namespace: str) -> Object:
    latest = {
        "name": name,
        "namespace": namespace,
        "version": 1,
        "chartName": "web",
        "chartVersion": "1.0.0",
        "configDigest": "sha256:0",
        "digest": "sha256:0",
        "status": "deployed",
        "firstDeployed": "2026-01-01T00:00:00Z",
        "lastDeployed": "2026-01-01T00:00:00Z",
    }
    return {"storageNamespace": namespace, "history": [latest]}


def test_only_kustomizations_have_one() -> None:
    ended = command("tree", "source", "git", "apps")
    assert (ended.code, ended.err) == (2, "✗ penstock tree shows Kustomizations, not a source git\n")
