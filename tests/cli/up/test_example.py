"""The example: what it holds, that every tool builds it, and that it runs."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from penstock.cli.up import example
from penstock.cli.up.folders import find
from penstock.errors import PenstockError
from penstock.kustomize import build_result
from tests.cli.up.repositories import LIMIT, up
from tests.controlplane.build import NoGo
from tests.kustomize.differential import real

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOP = Path(__file__).parents[3] / "examples" / "shop"
CLUSTERS = ("staging", "production")


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("*.yaml")):
        yield from (one for one in yaml.safe_load_all(file.read_text()) if "kind" in one)


def kustomizations(environment: str) -> dict[str, dict[str, Any]]:
    found = [*documents(SHOP / "platform/clusters" / environment), *documents(SHOP / "platform/tenants")]
    return {
        one["metadata"]["name"]: one["spec"]
        for one in found
        if one["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1" and one["kind"] == "Kustomization"
    }


def test_it_is_found_from_a_checkout() -> None:
    assert example.folder() == SHOP
    place = find(SHOP)
    assert place.root == SHOP / "platform"
    assert [folder.name for folder in place.beside] == ["checkout"]
    assert [file.name for file in place.first] == ["demo-key.yaml"]


def test_it_is_found_in_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tomllib.loads((SHOP.parents[1] / "pyproject.toml").read_text())
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    (tmp_path / packed["examples/shop"]).mkdir(parents=True)
    monkeypatch.setattr("penstock.__file__", str(tmp_path / "penstock" / "__init__.py"))
    assert example.folder() == tmp_path / packed["examples/shop"]


def test_an_installation_without_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("penstock.__file__", str(tmp_path / "src" / "penstock" / "__init__.py"))
    with pytest.raises(PenstockError, match="name a directory"):
        example.folder()


@pytest.mark.parametrize("environment", CLUSTERS)
def test_what_it_shows(environment: str) -> None:
    specs = kustomizations(environment)
    assert len(specs) >= 10
    named = {one["name"] for spec in specs.values() for one in spec.get("dependsOn", ())}
    assert named <= specs.keys(), "every dependency is there"
    assert sum(bool(spec.get("dependsOn")) for spec in specs.values()) >= 8
    for feature in ("decryption", "postBuild", "healthChecks", "serviceAccountName", "wait"):
        assert any(spec.get(feature) for spec in specs.values()), feature
    assert {spec["sourceRef"]["name"] for spec in specs.values()} == {"flux-system", "checkout"}
    kinds = {one["kind"] for one in documents(SHOP / "platform")}
    assert {"CustomResourceDefinition", "Promotion", "ServiceAccount"} <= kinds


def test_no_secret_is_readable() -> None:
    secrets = [one for one in documents(SHOP / "platform") if one["kind"] == "Secret"]
    assert len(secrets) == len(CLUSTERS)
    for secret in secrets:
        assert all(value.startswith("ENC[") for value in secret["stringData"].values())


ROOTS = sorted(
    str(file.parent.relative_to(SHOP)) for file in SHOP.rglob("kustomization.yaml") if file.parent.name != "base"
)


@pytest.mark.parametrize("folder", ROOTS)
def test_the_real_kustomize_builds_it_too(folder: str) -> None:
    try:
        program = real()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    ended = subprocess.run([program, "build", SHOP / folder], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 0, ended.stderr
    assert build_result(SHOP / folder).as_yaml() == ended.stdout


@pytest.mark.parametrize("environment", CLUSTERS)
@pytest.mark.timeout(LIMIT)
def test_all_of_it_becomes_ready(environment: str) -> None:
    ended = up(f"--cluster={environment}", "--once", "--offline")
    assert (ended.returncode, ended.stdout) == (0, "16/16 Ready\n"), ended.stderr
