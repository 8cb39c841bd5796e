"""Our CRDs beside the ones that the Flux controllers ship: equal in everything but the descriptions."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock import api
from penstock.api.kinds import HELM_GROUP, KINDS, KUSTOMIZE_GROUP, NOTIFICATION_GROUP, SOURCE_GROUP

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

CURRENT = {
    KUSTOMIZE_GROUP: "github.com/fluxcd/kustomize-controller@v1.9.4",
    SOURCE_GROUP: "github.com/fluxcd/source-controller@v1.9.5",
    HELM_GROUP: "github.com/fluxcd/helm-controller@v1.6.0",
    NOTIFICATION_GROUP: "github.com/fluxcd/notification-controller@v1.9.3",
}
LAST_WITH_OLDER_VERSIONS = {
    SOURCE_GROUP: "github.com/fluxcd/source-controller@v1.7.3",
    HELM_GROUP: "github.com/fluxcd/helm-controller@v1.4.0",
    NOTIFICATION_GROUP: "github.com/fluxcd/notification-controller@v1.6.0",
}

# Where we differ on purpose. A path of our CRD, and why it is not theirs.
INTENDED = {
    "metadata.annotations.controller-gen.kubebuilder.io/version": "our generator is another one",
    "spec.versions[v1beta2]": "old manifests still apply; deprecated, and compared on its own below",
    "spec.versions[v2beta2]": "old manifests still apply; deprecated, and compared on its own below",
}

# Old fields that the older versions do not take, and why.
REFUSED = {
    "HelmChart.spec.valuesFile": "has an effect that v1 cannot express: better refused than stored and forgotten",
    "HelmRelease.spec.chart.spec.valuesFile": "the same",
    "HelmRelease.spec.postRenderers[].kustomize.patchesJson6902": "the same; `patches` does it",
    "HelmRelease.spec.postRenderers[].kustomize.patchesStrategicMerge": "the same; `patches` does it",
    "HelmRelease.status.lastAppliedRevision": "written by controllers that are gone",
    "GitRepository.status.contentConfigChecksum": "written by controllers that are gone",
    "GitRepository.status.url": "written by controllers that are gone",
    "OCIRepository.status.contentConfigChecksum": "written by controllers that are gone",
    "Receiver.status.url": "written by controllers that are gone",
    "Alert.status": "the kind has no status any more",
    "Provider.status": "the kind has no status any more",
}


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Where the sources of a Go module lie, downloaded when need be."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("not here: Go, with which the CRDs of Flux are downloaded")
    folder = tmp_path_factory.mktemp("modules")
    (folder / "go.mod").write_text("module compare\n")

    def find(name: str) -> Path:
        done = subprocess.run(
            [go, "mod", "download", "-json", name], cwd=folder, capture_output=True, text=True, check=False, timeout=280
        )
        answer = json.loads(done.stdout or "{}")
        if "Dir" not in answer:
            pytest.skip(f"not here: {name}, which Go could not download: {answer.get('Error') or done.stderr}")
        return Path(answer["Dir"])

    return find


def shipped(folder: Path, kind: str) -> dict[str, Any]:
    facts = KINDS[kind]
    path = folder / "config/crd/bases" / f"{facts.group}_{facts.plural}.yaml"
    crd: dict[str, Any] = yaml.safe_load(path.read_text())
    return crd


def flat(value: Any, path: str = "", *, names: bool = False) -> dict[str, Any]:
    """Every leaf by its path, without descriptions. `names`: the keys are field names, not words of the schema."""
    if isinstance(value, dict):
        keys = [key for key in value if names or key != "description"]
        inner = {key: flat(value[key], f"{path}.{key}", names=key == "properties" and not names) for key in keys}
        return {p: leaf for leaves in inner.values() for p, leaf in leaves.items()} or {path: {}}
    if isinstance(value, list) and path.endswith(".required"):
        return {path: sorted(value)}
    if isinstance(value, list) and path.endswith(".versions"):
        leaves = (flat(version, f"{path}[{version['name']}]") for version in value)
        return {p: leaf for each in leaves for p, leaf in each.items()}
    return {path: value}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    mine, real = flat(ours), flat(theirs)
    return [
        f"{path.removeprefix('.')}: ours {mine.get(path)!r}, theirs {real.get(path)!r}"
        for path in sorted(mine.keys() | real.keys())
        if mine.get(path) != real.get(path)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_crd_is_theirs_but_for_the_descriptions(kind: str, module: Any) -> None:
    theirs = shipped(module(CURRENT[KINDS[kind].group]), kind)
    unintended = [d for d in differences(api.crd(kind), theirs) if not d.startswith(tuple(INTENDED))]
    assert unintended == []


def missing(theirs: dict[str, Any], ours: dict[str, Any] | None, path: str) -> list[str]:
    """What the old schema takes and ours does not."""
    if ours is None:
        return [path]
    found: list[str] = []
    if theirs.get("type") != ours.get("type"):
        found.append(f"{path}: type")
    if not set(theirs.get("enum", ())) <= set(ours.get("enum", theirs.get("enum", ()))):
        found.append(f"{path}: enum")
    if not set(ours.get("required", ())) <= set(theirs.get("required", ())):
        found.append(f"{path}: required")
    for name, schema in theirs.get("properties", {}).items():
        found += missing(schema, ours.get("properties", {}).get(name), f"{path}.{name}")
    if "items" in theirs:
        found += missing(theirs["items"], ours.get("items"), f"{path}[]")
    return found


@pytest.mark.parametrize("kind", [kind for kind, facts in KINDS.items() if facts.older])
def test_an_older_version_takes_what_it_took(kind: str, module: Any) -> None:
    theirs = shipped(module(LAST_WITH_OLDER_VERSIONS[KINDS[kind].group]), kind)
    old = {version["name"]: version for version in theirs["spec"]["versions"]}
    for version in api.crd(kind)["spec"]["versions"][1:]:
        took = old[version["name"]]["schema"]["openAPIV3Schema"]
        lost = missing(took, version["schema"]["openAPIV3Schema"], kind)
        assert lost == [path for path in REFUSED if path.startswith(f"{kind}.")]
