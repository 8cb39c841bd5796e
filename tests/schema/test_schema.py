"""What the table of built-in types and OpenAPI documents say."""

import time

import pytest

from penstock.schema import OpenAPIError, Shape, builtin, from_openapi, shape_of


def shape(path: str, api_version: str = "apps/v1", kind: str = "Deployment") -> Shape:
    found = builtin().shape(api_version, kind)
    for part in path.split("."):
        assert found is not None
        found = found.element() if part == "*" else found.field(part)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("spec.template.spec.containers", ("name",)),
        ("spec.template.spec.containers.*.ports", ("containerPort", "protocol")),
        ("spec.template.spec.containers.*.env", ("name",)),
        ("spec.template.spec.containers.*.volumeMounts", ("mountPath",)),
        ("spec.template.spec.imagePullSecrets", ("name",)),
        ("metadata.finalizers", ()),
    ],
)
def test_lists_that_merge(path: str, keys: tuple[str, ...]) -> None:
    assert shape(path).merges
    assert shape(path).keys == keys


@pytest.mark.parametrize("path", ["spec.template.spec.containers.*.args", "spec.template.spec.tolerations"])
def test_lists_that_are_replaced(path: str) -> None:
    assert not shape(path).merges


def test_where_nothing_merges_below_is_known() -> None:
    assert not shape("spec.selector").deep
    assert shape("spec.template").deep


def test_scopes() -> None:
    schema = builtin()
    assert schema.is_cluster_scoped("v1", "Namespace")
    assert schema.is_cluster_scoped("rbac.authorization.k8s.io/v1", "ClusterRole")
    assert not schema.is_cluster_scoped("v1", "ConfigMap")
    assert not schema.is_cluster_scoped("example.com/v1", "Namespace")


def test_unknown_types_have_no_shape() -> None:
    assert builtin().shape("example.com/v1", "Thing") is None


def test_an_openapi_document_replaces_the_types_and_adds_scopes() -> None:
    kind = {"group": "example.com", "version": "v1", "kind": "Thing"}
    document = {
        "definitions": {"Thing": {"x-kubernetes-group-version-kind": [kind], "properties": {"spec": {"$ref": "#/x"}}}},
        "paths": {"/apis/example.com/v1/things": {"get": {"x-kubernetes-group-version-kind": kind}}},
    }
    schema = from_openapi(document, builtin())
    assert schema.is_cluster_scoped("example.com/v1", "Thing")
    assert schema.shape("apps/v1", "Deployment") is None
    thing = schema.shape("example.com/v1", "Thing")
    assert thing is not None
    assert thing.field("spec") is None


def test_references_in_a_circle_end() -> None:
    document = {"definitions": {"A": {"$ref": "#/definitions/A", "x-kubernetes-group-version-kind": [{"kind": "A"}]}}}
    begun = time.monotonic()
    found = from_openapi(document, builtin()).shape("", "A")
    assert found is None or found.field("x") is None
    assert time.monotonic() - begun < 1


def test_a_document_that_is_none() -> None:
    with pytest.raises(OpenAPIError):
        from_openapi(["not", "a", "mapping"], builtin())


def test_a_single_schema() -> None:
    found = shape_of({"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "id"})
    assert found is not None
    assert (found.merges, found.keys) == (True, ("id",))
    assert shape_of({"$ref": "x"}) is None
