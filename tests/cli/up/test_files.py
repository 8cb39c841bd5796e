"""From a message to the files that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.cli.up.files import Explainer, blamed
from penstock.cli.up.state import Item, Phase, State
from penstock.kube import ObjectRef
from tests.cli.up.repositories import small

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("message", "files"),
    [
        pytest.param("Deployment/default/web dry-run failed: no", ["apps/web/deployment.yaml"], id="an object"),
        pytest.param("ConfigMap/settings is invalid", ["apps/settings/config.yaml"], id="an object without namespace"),
        pytest.param("../settings/config.yaml: line 3: no", ["apps/settings/config.yaml"], id="a file from elsewhere"),
        pytest.param("deployment.yaml: line 3: no", ["apps/web/deployment.yaml"], id="a file of its own"),
        pytest.param("Deployment/default/other dry-run failed", [], id="an object that is not written down"),
        pytest.param("kustomize build failed: missing.yaml", [], id="a file that is not there"),
        pytest.param("no sense at all", [], id="nothing"),
    ],
)
def test_blame(tmp_path: Path, message: str, files: list[str]) -> None:
    assert blamed(message, "./apps/web", [small(tmp_path)]) == files


def test_what_is_named_in_full_is_not_named_again(tmp_path: Path) -> None:
    assert blamed("clusters/dev/apps.yaml: line 1: no", "./", [small(tmp_path)]) == []


async def test_only_failures_are_explained(tmp_path: Path) -> None:
    ref = ObjectRef("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "web")
    items = [
        Item(ref, phase, "Deployment/default/web: no", path="./apps/web") for phase in (Phase.FAILED, Phase.WAITING)
    ]
    told = await Explainer([small(tmp_path)]).explain(State(tuple(items)))
    assert [item.message for item in told.items] == [
        "Deployment/default/web: no (see apps/web/deployment.yaml)",
        "Deployment/default/web: no",
    ]
