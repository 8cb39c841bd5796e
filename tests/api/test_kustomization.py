from __future__ import annotations

from typing import Any

import pytest

from penstock import api
from penstock.api.helmrelease import HelmRelease
from penstock.api.kustomization import Kustomization, SourceReference
from tests.api.examples import spoilt


def kustomization(**spec: Any) -> Kustomization:
    return api.decode(spoilt("Kustomization", *((f"spec.{k}", v) for k, v in spec.items())), Kustomization)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"interval": "10m"}, "9m30s", id="the interval less 30s"),
        pytest.param({"interval": "10m", "timeout": "2m"}, "2m0s", id="what is asked for"),
        pytest.param({"interval": "10m", "timeout": "20m"}, "20m0s", id="longer than the interval"),
        pytest.param({"interval": "10m", "timeout": "5s"}, "30s", id="never under 30s, even when asked for"),
        pytest.param({"interval": "10s"}, "30s", id="an interval too short to take 30s from"),
        pytest.param({"interval": "0s", "timeout": "0s"}, "30s", id="zero"),
    ],
)
def test_health_timeout(spec: dict[str, Any], expected: str) -> None:
    assert str(kustomization(**spec).spec.health_timeout) == expected


@pytest.mark.parametrize(
    ("spec", "requeue", "retry"),
    [
        pytest.param({"interval": "10m"}, "10m0s", "10m0s", id="the interval for both"),
        pytest.param({"interval": "10m", "retryInterval": "90s"}, "10m0s", "1m30s", id="a retry interval"),
        pytest.param({"interval": "0s"}, "1s", "1s", id="A33 zero does not spin"),
        pytest.param({"interval": "1ms", "retryInterval": "0h"}, "1s", "1s", id="A33 nearly zero does not spin"),
        pytest.param({"interval": "2562047h"}, "2562047h0m0s", "2562047h0m0s", id="A33 292 years"),
    ],
)
def test_time_to_the_next_run(spec: dict[str, Any], requeue: str, retry: str) -> None:
    read = kustomization(**spec).spec
    assert (str(read.requeue_interval), str(read.retry_after)) == (requeue, retry)


def test_what_is_assumed_when_left_out() -> None:
    read = kustomization(postBuild={}).spec
    assert read.deletion_policy == "MirrorPrune"
    assert read.post_build is not None
    assert read.post_build.substitute_strategy == "WithVariables"
    assert not read.force


def test_a_source_is_written_with_its_namespace_when_it_has_one() -> None:
    assert str(SourceReference(kind="Bucket", name="a")) == "Bucket/a"
    assert str(SourceReference(kind="Bucket", name="a", namespace="b")) == "Bucket/b/a"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, "queue", id="the name"),
        pytest.param({"spec.targetNamespace": "shop"}, "shop-queue", id="with the target namespace"),
        pytest.param({"spec.targetNamespace": "shop", "spec.releaseName": "q"}, "q", id="what is asked for"),
        pytest.param({"metadata.name": "n" * 53}, "n" * 53, id="as long as it may be"),
        pytest.param({"metadata.name": "n" * 54}, "n" * 40 + "-b905c05321dd", id="too long: the hash of it at the end"),
    ],
)
def test_release_name(changes: dict[str, Any], expected: str) -> None:
    assert api.decode(spoilt("HelmRelease", *changes.items()), HelmRelease).release_name == expected
