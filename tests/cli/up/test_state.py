"""What objects say of themselves, and when all is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.cli.up.state import Phase, State
from penstock.runtime.triggers import REQUESTED_AT

if TYPE_CHECKING:
    from penstock.kube import Object

REVISION = "main@sha1:1"


def condition(status: str, reason: str, message: str = "", generation: int = 1) -> dict[str, Any]:
    told = {"type": "Ready", "status": status, "reason": reason, "message": message}
    return {**told, "observedGeneration": generation}


def source(*, ready: str = "True", revision: str = REVISION) -> Object:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "repository", "namespace": "apps", "generation": 1},
        "spec": {},
        "status": {"artifact": {"revision": revision}, "conditions": [condition(ready, "Any")]},
    }


def app(
    name: str,
    status: str = "True",
    reason: str = "Any",
    *after: str,
    message: str = "",
    observed: int = 1,
    revision: str = REVISION,
    asked: str = "",
    suspend: bool = False,
) -> Object:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {
            "name": name,
            "namespace": "apps",
            "generation": 1,
            "annotations": {REQUESTED_AT: asked} if asked else None,
        },
        "spec": {
            "sourceRef": {"kind": "GitRepository", "name": "repository"},
            "dependsOn": [{"name": one} for one in after],
            "suspend": suspend,
        },
        "status": {
            "lastAppliedRevision": revision,
            "lastHandledReconcileAt": "now",
            "conditions": [condition(status, reason, message, observed)],
        },
    }


WAITS = ("False", "DependencyNotReady")
NO_ARTIFACT = ("False", "ArtifactFailed")


@pytest.mark.parametrize(
    ("objects", "phase"),
    [
        pytest.param([source(), app("a")], Phase.READY, id="ready"),
        pytest.param([source(), app("a", asked="now")], Phase.READY, id="ready, as it was asked"),
        pytest.param([source(), app("a", asked="later")], Phase.WORKING, id="asked, and not answered yet"),
        pytest.param([source(), app("a", observed=0)], Phase.WORKING, id="an older generation"),
        pytest.param([source(), app("a", revision="main@sha1:0")], Phase.WORKING, id="an older revision"),
        pytest.param([source(), app("a", "Unknown")], Phase.WORKING, id="under way"),
        pytest.param([source(), app("a", "False", "BuildFailed")], Phase.FAILED, id="failed"),
        pytest.param([source(), app("a", "False", suspend=True)], Phase.SUSPENDED, id="suspended"),
        pytest.param([source(), app("b", "False"), app("a", *WAITS, "b")], Phase.WAITING, id="waits for what failed"),
        pytest.param([source(), app("a", *WAITS, "b")], Phase.WAITING, id="waits for what is not there"),
        pytest.param([source(), app("b"), app("a", *WAITS, "b")], Phase.WORKING, id="a wait that is over"),
        pytest.param([source(ready="False"), app("a", *NO_ARTIFACT)], Phase.WAITING, id="waits for its source"),
        pytest.param([app("a", *NO_ARTIFACT)], Phase.FAILED, id="has no source"),
        pytest.param(
            [source(), app("a", *NO_ARTIFACT, message="Source artifact not found")], Phase.WORKING, id="has it just now"
        ),
        pytest.param([source(), app("a", *NO_ARTIFACT, message="wrong digest")], Phase.FAILED, id="cannot unpack it"),
    ],
)
def test_phase(objects: list[Object], phase: Phase) -> None:
    state = State.of(objects)
    (item,) = [item for item in state.items if item.ref.name == "a"]
    assert item.phase is phase
    assert state.is_settled == (phase is not Phase.WORKING)


def test_a_wait_behind_a_wait_is_settled_only_when_the_first_is() -> None:
    chain = [app("c", *WAITS, "b"), app("b", *WAITS, "a")]
    assert State.of([source(), *chain, app("a", "False", "BuildFailed")]).is_settled
    assert not State.of([source(), *chain, app("a")]).is_settled


def test_a_circle_is_settled() -> None:
    state = State.of([source(), app("a", *WAITS, "b"), app("b", *WAITS, "a")])
    assert state.is_settled
    assert state.counted == "1/3 Ready"


def test_an_empty_cluster_is_not_settled() -> None:
    assert not State.of([]).is_settled


def test_order_and_count() -> None:
    state = State.of(
        [app("a", "True", "Any", "b"), app("b", "True", "Any", "c"), app("c"), app("d", suspend=True), source()]
    )
    assert [item.ref.name for item in state.items] == ["repository", "c", "b", "a", "d"]
    assert state.counted == "4/4 Ready, 1 suspended"
    assert state.unready == []


def test_what_failed_comes_before_what_waits_for_it() -> None:
    state = State.of([source(), app("a", *WAITS, "b"), app("b", "False", "BuildFailed")])
    assert [item.ref.name for item in state.unready] == ["b", "a"]


@pytest.mark.parametrize(
    ("reason", "worth"),
    [("BuildFailed", True), ("ReconciliationFailed", True), ("HealthCheckFailed", False)],
)
def test_only_what_could_end_otherwise_is_asked_again(reason: str, worth: bool) -> None:
    state = State.of([source(), app("a", "False", reason)])
    assert [item.worth_asking for item in state.items] == [False, worth]
