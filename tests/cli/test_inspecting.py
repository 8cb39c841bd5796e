"""`penstock trace`, `stats`, `check`, `export` and `delete`: what they print, and when they fail."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from penstock.cli.ages import local
from penstock.cli.check import deployed, judged_version
from penstock.cli.delete import consequence
from penstock.cli.stats import size
from penstock.kube.resources import CONFIG_MAPS, DEPLOYMENTS, LEASES, SECRETS
from tests.cli.stage import LONG_AGO, REVISION, Ended, Stage, artifact, command, ready

if TYPE_CHECKING:
    from penstock.kube import Object

OWNED = "kustomize.toolkit.fluxcd.io"


WAY = (("ConfigMap", "settings"), ("Kustomization", "apps"), ("GitRepository", "apps"))


def owned(stage: Stage, name: str = "apps") -> dict[str, str]:
    return {f"{OWNED}/name": name, f"{OWNED}/namespace": stage.namespace}


@pytest.mark.scenario("cli-13")
async def test_trace_to_a_repository(stage: Stage) -> None:
    await stage.repository()
    await stage.kustomization(targetNamespace="team")
    body = {"metadata": {"name": "settings", "labels": owned(stage)}}
    made = await stage.client.create(CONFIG_MAPS, body, namespace=stage.namespace)
    here, moment = stage.namespace, local(LONG_AGO)
    expected = f"""
Object:          ConfigMap/settings
Namespace:       {here}
Status:          Managed by Flux
---
Kustomization:   apps
Namespace:       {here}
Target:          team
Path:            ./deploy
Revision:        {REVISION}
Status:          Last reconciled at {moment}
Message:         Applied revision: {REVISION}
---
GitRepository:   apps
Namespace:       {here}
URL:             https://example.com/apps
Branch:          main
Revision:        {REVISION}
Status:          Last reconciled at {moment}
Message:         stored artifact for revision '{REVISION}'
"""
    for words in (
        "configmap/settings",
        "cm settings",
        "configmaps settings",
        "settings --kind ConfigMap --api-version v1",
    ):
        assert await stage.run("trace", *words.split()) == Ended(0, expected, ""), words
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": made["metadata"]["uid"]}
    belonging = {"metadata": {"name": "made", "ownerReferences": [owner]}}
    await stage.client.create(SECRETS, belonging, namespace=here)
    ended = await stage.run("trace", "secret/made", "cm/settings", "-o", "json")
    assert [blocks[0]["Object"] for blocks in json.loads(ended.out)] == ["Secret/made", "ConfigMap/settings"]
    ended = await stage.run("trace", "cm/settings", "-o", "name")
    assert ended.out.splitlines() == [f"{kind}/{here}/{name}" for kind, name in WAY]


@pytest.mark.scenario("cli-13")
async def test_trace_to_an_image_with_its_origin(stage: Stage) -> None:
    origin = {
        "org.opencontainers.image.revision": f"6.1.6@sha1:{'4' * 40}",
        "org.opencontainers.image.source": "https://example.com/apps.git",
    }
    status = {"conditions": [ready("False", "no such tag")], "artifact": artifact("latest@sha256:1", metadata=origin)}
    spec = {"interval": "1m", "url": "oci://example.com/apps", "ref": {"semver": "1.x"}}
    await stage.create("OCIRepository", "apps", spec, status)
    await stage.kustomization(source={"kind": "OCIRepository"})
    body = {"metadata": {"name": "settings", "labels": owned(stage)}}
    await stage.client.create(CONFIG_MAPS, body, namespace=stage.namespace)
    ended = await stage.run("trace", "cm/settings")
    assert ended.out.splitlines()[-9:] == [
        "OCIRepository:   apps",
        f"Namespace:       {stage.namespace}",
        "URL:             oci://example.com/apps",
        "Tag:             1.x",
        "Revision:        latest@sha256:1",
        f"Origin Revision: 6.1.6@sha1:{'4' * 40}",
        "Origin Source:   https://example.com/apps.git",
        f"Status:          Last reconciliation failed at {local(LONG_AGO)}",
        "Message:         no such tag",
    ]


@pytest.mark.scenario("cli-13")
async def test_trace_of_what_nobody_manages(stage: Stage) -> None:
    await stage.client.create(CONFIG_MAPS, {"metadata": {"name": "mine"}}, namespace=stage.namespace)
    body = {"metadata": {"name": "lost", "labels": owned(stage, "gone")}}
    await stage.client.create(CONFIG_MAPS, body, namespace=stage.namespace)
    for words, code, said in (
        ("cm/mine", 1, "✗ object not managed by Flux"),
        ("cm/missing", 1, f'✗ configmaps "missing" not found; it was looked for in "{stage.namespace}"'),
        ("cm/lost", 1, "✗ Kustomization object 'gone' not found"),
        ("nonsense/x", 1, '✗ the server doesn\'t have a resource type "nonsense"'),
        ("cm/mine cm/missing", 1, "✗ failed to trace cm/mine in namespace"),
    ):
        ended = await stage.run("trace", *words.split())
        assert (ended.code, ended.out) == (code, ""), words
        assert ended.err.startswith(said), ended.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param("", "Missing argument", id="nothing"),
        pytest.param("deployment", "`KIND NAME` is required", id="no name"),
        pytest.param("deployment/", "KIND/NAME", id="an empty name"),
        pytest.param("web --kind Deployment", "belong together", id="a kind without its version"),
    ],
)
def test_trace_of_nothing(words: str, sentence: str) -> None:
    ended = command("trace", *words.split())
    assert ended.code == 2
    assert sentence in ended.err


@pytest.mark.scenario("cli-30")
async def test_stats(stage: Stage) -> None:
    await stage.repository("one")
    await stage.repository("two", suspend=True)
    await stage.kustomization("apps", condition=ready("False", "no"))
    titles, *rows = (await stage.run("stats")).rows
    assert titles == ["RECONCILERS", "RUNNING", "FAILING", "SUSPENDED", "STORAGE"]
    assert ["GitRepository", "1", "0", "1", "3.0 KiB"] in rows
    assert ["Kustomization", "1", "1", "0", "-"] in rows
    assert ["HelmRelease", "0", "0", "0", "-"] in rows
    told = {one["kind"]: one for one in json.loads((await stage.run("stats", "-o", "json")).out)}
    expected = {"kind": "GitRepository", "running": 1, "failing": 0, "suspended": 1, "storage": 3072}
    assert told["GitRepository"] == expected


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "-"), (512, "512 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (3 * 2**30, "3.0 GiB")],
)
@pytest.mark.scenario("cli-30")
def test_sizes(count: int, shown: str) -> None:
    assert size(count) == shown


@pytest.mark.parametrize(
    ("told", "ok", "words"),
    [
        pytest.param("v1.36.4", True, "Kubernetes 1.36.4 >=1.33.0-0", id="supported"),
        pytest.param("v1.33.0-gke.1+x", True, "Kubernetes 1.33.0-gke.1+x >=1.33.0-0", id="the first, of a vendor"),
        pytest.param("v1.32.9", False, "Kubernetes version v1.32.9 does not match >=1.33.0-0", id="too old"),
        pytest.param("yesterday's", False, "Kubernetes version can't be determined", id="no version at all"),
    ],
)
@pytest.mark.scenario("cli-1")
def test_versions(told: str, ok: bool, words: str) -> None:
    found = judged_version(told)
    assert (found.ok, found.told) == (ok, words)


@pytest.mark.scenario("cli-1")
async def test_check_before_an_installation(stage: Stage) -> None:
    ended = await stage.run("check", "--pre")
    first, version, last = ended.err.splitlines()
    assert (ended.code, ended.out, first) == (0, "", "► checking prerequisites")
    assert version.startswith("✔ Kubernetes 1.")
    assert version.endswith(" >=1.33.0-0")
    assert last == "✔ prerequisites checks passed"


def deployment() -> Object:
    """A controller, as an installation has it."""
    labels = {"app": "source-controller"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "example.com/sc:v1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "source-controller", "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
    }


@pytest.mark.parametrize(("available", "words"), [(0, "not ready"), (1, "ready")])
@pytest.mark.scenario("cli-2")
def test_a_controller_is_ready_when_its_pods_are(available: int, words: str) -> None:
    counts = dict.fromkeys(("readyReplicas", "availableReplicas"), available)
    told = {"type": "Available", "status": str(bool(available)), "reason": "Told", "message": ""}
    status = {"replicas": 1, "updatedReplicas": 1, **counts, "conditions": [told]}
    found = deployed({**deployment(), "status": status})
    assert (found.ok, found.told) == (bool(available), f"source-controller: deployment {words}")
    assert found.notes == ("example.com/sc:v1",)


@pytest.mark.scenario("cli-2")
async def test_check_of_controllers(stage: Stage) -> None:
    ended = await stage.run("check")
    missing = f"✗ no controllers found in the '{stage.namespace}' namespace with the label selector"
    assert ended.code == 1
    assert any(line.startswith(missing) for line in ended.err.splitlines())
    assert "► those of penstock up run outside of the cluster, and are not seen here" in ended.err.splitlines()
    assert "✔ kustomizations.kustomize.toolkit.fluxcd.io/v1" in ended.err.splitlines()
    assert ended.err.splitlines()[-1] == "✗ check failed"

    lease = {
        "metadata": {"name": "penstock-leader-election"},
        "spec": {
            "holderIdentity": "laptop_1",
            "leaseDurationSeconds": 3600,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    await stage.client.create(LEASES, lease, namespace=stage.namespace)
    ended = await stage.run("check", "-o", "json")
    assert ended.code == 0
    assert "✔ penstock-leader-election: held by laptop_1, outside of a deployment" in ended.err.splitlines()
    assert ended.err.splitlines()[-1] == "✔ all checks passed"
    assert {one["check"] for one in json.loads(ended.out) if one["ok"]} == {"kubernetes", "controllers", "crds"}


@pytest.mark.scenario("cli-2")
async def test_check_of_a_controller_that_is_not_ready(stage: Stage) -> None:
    await stage.client.create(DEPLOYMENTS, deployment(), namespace=stage.namespace)
    ended = await stage.run("check")
    assert ended.code == 1
    lines = ended.err.splitlines()
    at = lines.index("✗ source-controller: deployment not ready")
    assert lines[at + 1] == "► example.com/sc:v1"


async def test_export(stage: Stage) -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"}
    await stage.repository("apps", secretRef={"name": "login"}, metadata={"annotations": notes})
    await stage.repository("other")
    await stage.client.create(
        SECRETS, {"metadata": {"name": "login"}, "stringData": {"password": "hush"}}, namespace=stage.namespace
    )
    ended = await stage.run("export", "source", "git", "apps")
    assert ended.code == 0
    assert ended.out.startswith("---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n")
    [obj] = yaml.safe_load_all(ended.out)
    assert obj["metadata"] == {"name": "apps", "namespace": stage.namespace, "annotations": {"team": "a"}}
    assert "status" not in obj
    kinds = [one["kind"] for one in yaml.safe_load_all((await stage.run("export", "source", "git", "--all")).out)]
    assert kinds == ["GitRepository", "GitRepository"]
    secrets = await stage.run("export", "source", "git", "--all", "--with-credentials")
    assert [one["kind"] for one in yaml.safe_load_all(secrets.out)] == ["GitRepository", "Secret", "GitRepository"]
    names = (await stage.run("export", "source", "git", "--all", "-o", "name")).out
    assert names.splitlines()[0] == "gitrepository.source.toolkit.fluxcd.io/apps"
    for words, code, said in (
        ("ks --all", 1, f"✗ no objects found in {stage.namespace} namespace\n"),
        ("ks missing", 1, f"✗ Kustomization object 'missing' not found in \"{stage.namespace}\" namespace\n"),
        ("ks", 2, "✗ name is required, or --all\n"),
        ("ks x --with-credentials", 2, "✗ --with-credentials is for sources; a kustomization has none\n"),
    ):
        assert await stage.run("export", *words.split()) == Ended(code, "", said)


async def test_what_was_exported_can_be_applied(stage: Stage) -> None:
    await stage.kustomization("apps", postBuild={"substitute": {"a": "1"}})
    [manifest] = yaml.safe_load_all((await stage.run("export", "ks", "apps")).out)
    before = await stage.read("Kustomization", "apps")
    resource = await stage.client.discovery.resource(manifest["apiVersion"], "Kustomization")
    await stage.client.delete(resource, "apps", stage.namespace)
    await stage.client.apply(resource, manifest, manager="tests", validation="Strict")
    assert (await stage.read("Kustomization", "apps"))["spec"] == before["spec"]


async def test_delete_without_a_question(stage: Stage) -> None:
    await stage.kustomization("apps", inventory=("_a__Namespace", "a_b__ConfigMap"))
    ended = await stage.run("delete", "ks", "apps", "--silent")
    assert ended == Ended(
        0,
        "",
        "► 2 objects that it has applied will be deleted with it\n"
        f"► deleting kustomization apps in {stage.namespace} namespace\n✔ kustomization deleted\n",
    )
    ended = await stage.run("delete", "ks", "apps", "-s")
    assert (ended.code, ended.out) == (1, "")


def test_delete_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    ended = command("delete", "ks", "apps")
    assert (ended.code, ended.out) == (2, "")
    assert "say --silent" in ended.err


@pytest.mark.parametrize(
    ("spec", "count", "words"),
    [
        pytest.param({"prune": True}, 0, "", id="nothing applied"),
        pytest.param({"prune": True}, 1, "1 object that it has applied will be deleted with it", id="one"),
        pytest.param(
            {"prune": False}, 2, "2 objects that it has applied will stay, since it does not prune", id="kept"
        ),
        pytest.param(
            {"prune": True, "suspend": True},
            2,
            "2 objects that it has applied will stay, since it is suspended",
            id="suspended",
        ),
        pytest.param(
            {"prune": False, "deletionPolicy": "Delete"},
            2,
            "2 objects that it has applied will be deleted with it",
            id="deleted by policy",
        ),
        pytest.param(
            {"prune": True, "deletionPolicy": "Orphan"},
            2,
            "2 objects that it has applied will stay, since it does not prune",
            id="orphaned by policy",
        ),
    ],
)
def test_what_a_deletion_means(spec: dict[str, Any], count: int, words: str) -> None:
    entries = [{"id": f"a_{number}__ConfigMap", "v": "v1"} for number in range(count)]
    assert consequence({"kind": "Kustomization", "spec": spec, "status": {"inventory": {"entries": entries}}}) == words
