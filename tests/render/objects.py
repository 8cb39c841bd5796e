"""Random objects of built-in kinds: most fields fit their types, some do not, some are unknown, null or empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schema.gotypes import fields_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

KINDS = [
    *(("v1", "Pod"), ("v1", "Service"), ("v1", "Secret"), ("v1", "ConfigMap"), ("v1", "Namespace")),
    *(("v1", "PersistentVolumeClaim"), ("v1", "ServiceAccount"), ("v1", "LimitRange"), ("v1", "ResourceQuota")),
    *(("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("batch/v1", "CronJob")),
    *(
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("policy/v1", "PodDisruptionBudget"),
    ),
    *(("autoscaling/v2", "HorizontalPodAutoscaler"), ("rbac.authorization.k8s.io/v1", "RoleBinding")),
    *(("storage.k8s.io/v1", "StorageClass"), ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")),
    *(("rbac.authorization.k8s.io/v1", "Role"), ("batch/v1", "Job"), ("example.com/v1", "Thing")),
]
SCALARS: dict[str, list[Any]] = {
    "string": ["", "a", "x-y", "1"],
    "int32": [0, 1, 80, -1],
    "int64": [0, 1, 2**40],
    "int": [0, 1],
    "bool": [True, False],
    "float64": [0, 1.5],
    "quantity": ["1", "100m", "1000m", "1Gi", "1024Mi", 2, "0", "0.5", "1500m", "1e3"],
    "intstr": [0, 80, "http", "50%"],
    "time": ["2026-01-02T03:04:05Z", None],
    "microtime": ["2026-01-02T03:04:05.000006Z", None],
    "bytes": ["YQ==", "", "YWJj"],
    "raw": [{"a": 1}, None],
    "duration": ["1s"],
}


def random_objects(source: Random, count: int) -> Iterator[dict[str, Any]]:
    """Objects with a name each; the same ones for the same source."""
    for _ in range(count):
        api_version, kind = source.choice(KINDS)
        name = type_of(api_version, kind)
        made = _struct(source, name, 0) if name else {"spec": {"a": None, "b": [1]}, "status": {"c": 1}}
        metadata = {"name": "a", "labels": {"l": "m"}}
        yield {**made, "apiVersion": api_version, "kind": kind, "metadata": metadata}


def _struct(source: Random, name: str, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field in fields_of(name):
        if source.random() < (0.75 if depth > 1 else 0.3) and field.name not in (
            "spec",
            "template",
            "ports",
            "containers",
        ):
            continue
        made[field.name] = None if source.random() < 0.05 else _value(source, field.type, depth)
    if source.random() < 0.1:
        made["unknownField"] = {"x": 1}
    return made


def _value(source: Random, type_: str, depth: int) -> Any:
    if type_[0] == "*":
        return _value(source, type_[1:], depth)
    if type_[0] == "@":
        return {} if depth > 7 else _struct(source, type_[1:], depth + 1)
    if type_[0] == "[":
        return [_value(source, type_.partition("]")[2], depth + 1) for _ in range(source.randint(0, 2))]
    if type_[0] == "{":
        element = type_.partition("}")[2]
        return {
            key: _value(source, element, depth + 1) for key in source.sample(["a", "b", "cpu"], source.randint(0, 2))
        }
    return source.choice(SCALARS[type_.partition(":")[0]])
