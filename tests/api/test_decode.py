from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import api
from penstock.api.gitrepository import GitRepository
from penstock.api.kinds import KINDS
from penstock.api.kustomization import Kustomization, KustomizationStatus
from penstock.api.meta import Artifact, Condition
from tests.api.examples import WRONG, Wrong, examples, names, spoilt

EXAMPLES = [pytest.param(obj, id=f"{obj['kind']}-{obj['metadata']['name']}") for n in names() for obj in examples(n)]


@pytest.mark.parametrize("obj", EXAMPLES)
def test_an_example_is_read_and_written_back(obj: dict[str, Any]) -> None:
    struct = KINDS[obj["kind"]].struct
    read = api.decode(obj, struct)
    assert api.decode({**obj, **api.encode(read)}, struct) == read


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_examples(kind: str) -> None:
    assert {obj["kind"] for obj in examples(kind.lower())} == {kind}
    assert len(examples(kind.lower())) > 1


@pytest.mark.parametrize("wrong", [pytest.param(wrong, id=wrong.id) for wrong in WRONG])
def test_what_is_wrong_is_named(wrong: Wrong) -> None:
    with pytest.raises(api.InvalidObject) as caught:
        api.decode(wrong.obj, KINDS[wrong.kind].struct)
    assert str(caught.value) == wrong.says


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        pytest.param([], "a Kustomization is an object, not a list", id="a list"),
        pytest.param("text", 'a Kustomization is an object, not "text"', id="text"),
        pytest.param(
            {},
            "is a nothing of no API version, not a Kustomization of kustomize.toolkit.fluxcd.io",
            id="an empty object",
        ),
        pytest.param(
            {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"},
            "Kustomization: is a Kustomization of kustomize.config.k8s.io/v1beta1, "
            "not a Kustomization of kustomize.toolkit.fluxcd.io",
            id="the Kustomization of kustomize",
        ),
        pytest.param(
            {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": 5},
            "Kustomization: metadata: must be an object, not a number",
            id="metadata of another type",
        ),
    ],
)
def test_another_object_is_refused(obj: Any, says: str) -> None:
    with pytest.raises(api.InvalidObject) as caught:
        api.decode(obj, Kustomization)
    assert str(caught.value) == says


def test_the_error_keeps_its_parts() -> None:
    with pytest.raises(api.InvalidObject) as caught:
        api.decode(spoilt("GitRepository", ("spec.interval", "soon")), GitRepository)
    assert caught.value.name == "GitRepository/default/storefront"
    assert caught.value.field == "spec.interval"


@pytest.mark.parametrize(
    "path", ["spec.fromTheFuture", "spec.sourceRef.fromTheFuture", "status.fromTheFuture", "future"]
)
def test_newer_fields_do_not_break_us(path: str) -> None:
    known = ("status.observedGeneration", 1)
    read = api.decode(spoilt("Kustomization", known, (path, {"x": [1]})), Kustomization)
    assert read == api.decode(spoilt("Kustomization", known), Kustomization)


def test_an_object_that_was_never_reconciled() -> None:
    read = api.decode(spoilt("Kustomization"), Kustomization)
    assert read.status.observed_generation == -1
    assert read.status.condition("Ready") is None


def test_a_status_is_read() -> None:
    now = "2030-01-31T12:00:00Z"
    ready = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": now}
    artifact = {
        "digest": "sha256:abc",
        "lastUpdateTime": now,
        "path": "gitrepository/default/storefront/abc.tar.gz",
        "revision": "main@sha1:abc",
        "url": "http://localhost/x",
        "size": 5,
    }
    read = api.decode(
        spoilt("GitRepository", ("status", {"conditions": [ready], "artifact": artifact, "observedGeneration": 3})),
        GitRepository,
    )
    noon = datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert read.status.observed_generation == 3
    assert read.status.condition("Ready") == Condition(
        type="Ready", status="True", reason="Succeeded", message="", last_transition_time=noon
    )
    assert isinstance(read.status.artifact, Artifact)
    assert (read.status.artifact.size, read.status.artifact.last_update_time) == (5, noon)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"lastTransitionTime": "yesterday"},
            'lastTransitionTime: "yesterday" is not a time like 2030-01-31T12:00:00Z',
        ),
        ({"observedGeneration": -1}, "observedGeneration: must be at least 0"),
        ({"reason": "not a word"}, "reason: must match ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        ({"message": "m" * 32769}, "message: must have at most 32768 characters"),
    ],
    ids=["time", "generation", "reason", "message"],
)
def test_a_condition_that_is_wrong(change: dict[str, Any], says: str) -> None:
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "Succeeded",
        "message": "",
        "lastTransitionTime": "2030-01-31T12:00:00Z",
    }
    with pytest.raises(api.InvalidObject) as caught:
        api.decode(spoilt("Kustomization", ("status", {"conditions": [condition | change]})), Kustomization)
    assert str(caught.value) == f"Kustomization/default/storefront: status.conditions[0].{says}"


def test_what_is_unset_is_not_written() -> None:
    assert api.encode(KustomizationStatus()) == {}
    noon = datetime(2030, 1, 31, 12, tzinfo=UTC)
    condition = Condition(type="Ready", status="Unknown", reason="Progressing", message="", last_transition_time=noon)
    assert api.encode(KustomizationStatus(conditions=(condition,), observed_generation=2)) == {
        "conditions": [
            {
                "type": "Ready",
                "status": "Unknown",
                "reason": "Progressing",
                "message": "",
                "lastTransitionTime": "2030-01-31T12:00:00Z",
            }
        ],
        "observedGeneration": 2,
    }
