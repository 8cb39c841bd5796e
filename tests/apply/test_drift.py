"""What counts as a difference between the live object and what an apply would make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.apply.drift import drifted, equal
from penstock.kube import Resource
from tests.apply.world import actions, apply, deployment, obj

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster

AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {"a": {}}, True),
        ({"a": None}, {"a": []}, True),
        ({"a": None}, {"a": ""}, False),
        ({"a": {}}, {}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
    ],
)
def test_equality(one: Any, other: Any, expected: bool) -> None:
    assert equal(one, other) is expected
    assert equal(other, one) is expected


THING: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "labels": {"a": "b"}, "resourceVersion": "1", "generation": 1},
    "data": {"key": "1"},
    "status": {"seen": 1},
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"data": {"key": "2"}}, True, id="content"),
        pytest.param({"immutable": True}, True, id="a new field"),
        pytest.param({"status": {"seen": 2}}, False, id="status"),
        pytest.param({"metadata": {"name": "x", "labels": {"a": "c"}}}, True, id="a label"),
        pytest.param(
            {"metadata": {"name": "x", "labels": {"a": "b"}, "annotations": {"a": "b"}}}, True, id="annotation"
        ),
        pytest.param({"metadata": {"name": "x", "labels": {"a": "b"}, "annotations": {}}}, False, id="no annotations"),
        pytest.param(
            {"metadata": {"name": "x", "labels": {"a": "b"}, "finalizers": ["x"], "ownerReferences": [{}]}},
            False,
            id="other metadata",
        ),
    ],
)
def test_what_is_compared(change: Object, expected: bool) -> None:
    assert drifted(THING, {**THING, **change}) is expected


def metric(name: str, value: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": value}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


@pytest.mark.scenario("22.11 Normalise")
def test_metrics_that_an_autoscaler_tells_twice_are_no_difference() -> None:
    def scaler(*metrics: Object) -> Object:
        return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {"metrics": list(metrics)}}

    cpu, memory = metric("cpu", 50), metric("memory", 60)
    assert not drifted(scaler(cpu, memory), scaler(cpu, memory, cpu, {"type": ""}))
    assert drifted(scaler(cpu, memory), scaler(cpu))
    assert drifted(scaler(cpu), scaler(metric("cpu", 60)))


@pytest.mark.scenario("22.11 Normalise")
async def test_an_autoscaler_is_unchanged_the_second_time(cluster: Cluster) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": reference, "maxReplicas": 3, "metrics": [metric("memory", 60), metric("cpu", 50)]}
    wanted = [deployment(cluster), obj(AUTOSCALERS, "web", cluster.namespace, spec=spec)]
    await apply(cluster, wanted)
    assert set(actions(await apply(cluster, wanted)).values()) == {"unchanged"}
