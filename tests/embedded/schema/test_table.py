"""The table of built-in types: what the API server knows about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.embedded.schema import DEDUCED, Schema, builtin_resources, builtin_schema, table


def at(api_version: str, kind: str, path: str) -> Schema:
    """The type at a path; `*` is the element of a list or map."""
    found = builtin_schema(api_version, kind)
    assert found is not None
    for part in path.split("."):
        found = found.element if part == "*" else found.fields[part]
        assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "path", "list_type", "keys", "defaults"),
    [
        pytest.param("Pod", "spec.containers", "map", ("name",), {"name": ""}, id="containers by name"),
        pytest.param(
            "Pod",
            "spec.containers.*.ports",
            "map",
            ("containerPort", "protocol"),
            {"containerPort": 0, "protocol": "TCP"},
            id="a protocol that is left out is TCP",
        ),
        pytest.param("Pod", "metadata.finalizers", "set", (), {}, id="finalizers are a set"),
        pytest.param("Pod", "spec.tolerations", "atomic", (), {}, id="tolerations have one owner"),
        pytest.param("Pod", "metadata.ownerReferences", "map", ("uid",), {"uid": ""}, id="owners by uid"),
        pytest.param("ServiceAccount", "secrets", "map", ("name",), {}, id="a key that may be missing"),
    ],
)
def test_lists(kind: str, path: str, list_type: str, keys: tuple[str, ...], defaults: dict[str, Any]) -> None:
    found = at("v1", kind, path)
    assert (found.kind, found.list_type, found.map_keys, dict(found.key_defaults)) == (
        "list",
        list_type,
        keys,
        defaults,
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "atomic"),
    [
        pytest.param("apps/v1", "Deployment", "spec.selector", True, id="a label selector has one owner"),
        pytest.param("v1", "Service", "spec.selector", True, id="a map that has one owner"),
        pytest.param("v1", "ConfigMap", "data", False, id="keys of a ConfigMap have an owner each"),
        pytest.param("v1", "PersistentVolume", "spec.claimRef", False, id="a field that overrides its type"),
        pytest.param("v1", "Endpoints", "subsets.*.addresses.*.targetRef", True, id="the type it overrides"),
    ],
)
def test_maps_and_structs(api_version: str, kind: str, path: str, atomic: bool) -> None:
    assert at(api_version, kind, path).atomic is atomic


@pytest.mark.parametrize(
    ("path", "key", "strategy"),
    [
        pytest.param("spec.template.spec.volumes", "name", {"merge", "retainKeys"}, id="merge and retain keys"),
        pytest.param("spec.strategy", None, {"retainKeys"}, id="retain keys of a struct"),
        pytest.param("spec.template.spec.containers.*.ports", "containerPort", {"merge"}, id="one key only"),
        pytest.param("spec.template.spec.tolerations", None, set[str](), id="none"),
    ],
)
def test_strategic_merge(path: str, key: str | None, strategy: set[str]) -> None:
    found = at("apps/v1", "Deployment", path)
    assert (found.merge_key, set(found.merge_strategy)) == (key, strategy)


@pytest.mark.parametrize(
    ("path", "scalar", "format_"),
    [
        pytest.param("spec.replicas", "integer", "int32", id="int32"),
        pytest.param("metadata.generation", "integer", "int64", id="int64"),
        pytest.param("metadata.creationTimestamp", "date-time", "", id="time"),
        pytest.param("spec.strategy.rollingUpdate.maxSurge", "int-or-string", "", id="int or string"),
        pytest.param("spec.template.spec.containers.*.resources.limits.*", "quantity", "", id="quantity"),
        pytest.param("spec.paused", "boolean", "", id="boolean"),
    ],
)
def test_scalars(path: str, scalar: str, format_: str) -> None:
    found = at("apps/v1", "Deployment", path)
    assert (found.kind, found.scalar, found.format) == ("scalar", scalar, format_)


def test_a_type_that_contains_itself() -> None:
    path = "spec.versions.*.schema.openAPIV3Schema"
    found = at("apiextensions.k8s.io/v1", "CustomResourceDefinition", path)
    assert found.fields["not"].fields["not"].fields["not"].name == "JSONSchemaProps"
    assert at("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{path}.default") is DEDUCED


def test_what_go_writes_even_when_it_is_zero() -> None:
    assert at("apps/v1", "Deployment", "spec").written == {"selector": None, "strategy": {}, "template": {}}
    assert builtin_schema("v1", "Foo") is None


def test_every_resource_has_a_type() -> None:
    assert [each.plural for each in builtin_resources() if each.schema is DEDUCED] == []


def test_a_resource_is_what_discovery_says() -> None:
    found = next(each for each in builtin_resources() if (each.group, each.plural) == ("apps", "deployments"))
    assert (found.kind, found.singular, found.short_names, found.categories) == (
        "Deployment",
        "deployment",
        ("deploy",),
        ("all",),
    )
    assert found.namespaced
    assert found.subresources == ("scale", "status")
    scale = found.subresource_types[0]
    assert (scale.group, scale.version, scale.kind, scale.verbs) == (
        "autoscaling",
        "v1",
        "Scale",
        ("get", "patch", "update"),
    )
    assert found.storage_version_hash == "8aSe+NMegvE="


def test_the_table_is_small_and_types_are_made_when_asked_for() -> None:
    file = Path(table.__file__).with_name(table.FILE)
    assert file.stat().st_size < 400_000
    made = table._struct("apps.v1.Deployment", {})
    slot = Schema.__dict__["fields"]
    with pytest.raises(AttributeError):
        slot.__get__(made)
    assert made.fields["spec"].name == "DeploymentSpec"
    assert slot.__get__(made) is made.fields
