"""From built objects to what is applied."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import trustme

from penstock.api.references import CommonMetadata
from penstock.render import PreparationFailed, prepare

Object = dict[str, Any]
OWNER = {"kustomize.toolkit.fluxcd.io/name": "ks", "kustomize.toolkit.fluxcd.io/namespace": "ns"}


def prepared(*objects: Object, common: CommonMetadata | None = None) -> list[Object]:
    return prepare(objects, name="ks", namespace="ns", common_metadata=common)


def thing(api_version: str, kind: str, **fields: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **fields}


def normal(obj: Object) -> Object:
    """A prepared object without what every object gets."""
    (made,) = prepared(obj)
    assert made["metadata"].pop("labels") == OWNER
    assert made["metadata"].pop("creationTimestamp") is None
    assert made["metadata"] == {"name": "a"}
    return {key: value for key, value in made.items() if key not in ("apiVersion", "kind", "metadata")}


PORTS = {
    "containers": [{"name": "c", "ports": [{"containerPort": 80}]}],
    "initContainers": [{"name": "i", "ports": [{"containerPort": 1}]}],
}
FILLED = [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {}}]
TEMPLATE = {"template": {"metadata": {}, "spec": PORTS}}


@pytest.mark.scenario("22.11 Normalise")
@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "place"),
    [
        ("v1", "Pod", PORTS, ()),
        ("apps/v1", "Deployment", TEMPLATE, ("template", "spec")),
        ("apps/v1", "StatefulSet", TEMPLATE, ("template", "spec")),
        ("apps/v1", "DaemonSet", TEMPLATE, ("template", "spec")),
        ("apps/v1", "ReplicaSet", TEMPLATE, ("template", "spec")),
        ("batch/v1", "Job", TEMPLATE, ("template", "spec")),
        ("batch/v1", "CronJob", {"jobTemplate": {"spec": TEMPLATE}}, ("jobTemplate", "spec", "template", "spec")),
    ],
)
def test_ports_of_containers_get_a_protocol(api_version: str, kind: str, spec: Object, place: tuple[str, ...]) -> None:
    pod = normal(thing(api_version, kind, spec=spec))["spec"]
    for name in place:
        pod = pod[name]
    assert pod["containers"] == FILLED
    assert pod["initContainers"] == [{"name": "i", "ports": [{"containerPort": 1}], "resources": {}}]


def test_ports_of_services_get_a_protocol() -> None:
    ports = [{"port": 1}, {"port": 2, "protocol": "UDP"}]
    made = normal(thing("v1", "Service", spec={"ports": ports}))["spec"]["ports"]
    assert [port["protocol"] for port in made] == ["TCP", "UDP"]


def test_what_the_type_does_not_know_goes() -> None:
    spec: Object = {
        "replicas": None,
        "unknown": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"spec": {"containers": []}},
    }
    made = normal(thing("apps/v1", "Deployment", spec=spec, status={"replicas": 1}))
    assert made == {
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": []}},
        }
    }


def test_quantities_get_their_one_form() -> None:
    spec = {"containers": [{"name": "c", "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}}]}
    made = normal(thing("v1", "Pod", spec=spec))["spec"]["containers"][0]["resources"]
    assert made == {"limits": {"cpu": "500m", "memory": "1Gi"}}


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(thing("example.com/v1", "Thing", spec={"a": None}, extra=1), id="a custom kind"),
        pytest.param(thing("v1", "ConfigMap", data={"a": 1}, extra=1), id="a value that does not fit"),
        pytest.param(thing("apiregistration.k8s.io/v1", "APIService", extra=1), id="a kind of the server only"),
    ],
)
def test_other_objects_stay_as_they_are(obj: Object) -> None:
    assert normal(obj) == {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}


def test_rules_of_roles_are_left_alone() -> None:
    role = thing("rbac.authorization.k8s.io/v1", "ClusterRole", aggregationRule={"clusterRoleSelectors": []}, extra=1)
    (made,) = prepared(role)
    assert made == role | {"metadata": {"name": "a", "labels": OWNER}}


def test_text_of_secrets_is_encoded() -> None:
    made = normal(thing("v1", "Secret", data={"a": "YQ==", "b": "Yg=="}, stringData={"b": "c"}))
    assert made == {"data": {"a": "YQ==", "b": "Yw=="}}


def test_status_goes_except_from_definitions() -> None:
    assert normal(thing("example.com/v1", "Thing", status={})) == {}
    definition = thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", status={"a": 1})
    assert normal(definition) == {"status": {"a": 1}}


def test_lists_are_flattened_and_strangers_dropped() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [thing("v1", "Secret"), thing("v1", "ConfigMap")]}
    strangers: list[Object] = [
        {"kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap"},
        thing("kustomize.config.k8s.io/v1beta1", "Kustomization"),
    ]
    made = prepared({"apiVersion": "v1", "kind": "ConfigMapList", "items": [inner]}, *strangers)
    assert [obj["kind"] for obj in made] == ["Secret", "ConfigMap"]


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_an_encrypted_secret_is_never_applied(field: str) -> None:
    """Also where the ciphertext stands in `stringData`, which the type would turn into a plain Secret."""
    secret = thing("v1", "Secret", sops={"mac": "ENC["}, **{field: {"k": "ENC["}})
    with pytest.raises(PreparationFailed) as caught:
        prepared(secret)
    assert str(caught.value) == (
        "Secret/a is SOPS encrypted, configuring decryption is required for this secret to be reconciled"
    )
    assert caught.value.reason == "ReconciliationFailed"


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_labels_and_annotations_are_text(field: str) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x", field: {"n": 1}}}
    with pytest.raises(PreparationFailed, match=rf"ConfigMap/x/a: metadata.{field}.n is not a string"):
        prepared(obj)


def test_an_empty_label_is_kept_as_one() -> None:
    obj = {"apiVersion": "e/v1", "kind": "X", "metadata": {"name": "a", "labels": {"n": None, "m": "1"}}}
    assert prepared(obj)[0]["metadata"]["labels"] == {"n": "", "m": "1", **OWNER}


def test_common_metadata_overrides() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"t": "x", "u": "y"}}}
    common = CommonMetadata(labels={"t": "id"}, annotations={"t": "id"})
    (made,) = prepared(obj, common=common)
    assert made["metadata"]["labels"] == OWNER | {"t": "id"}
    assert made["metadata"]["annotations"] == {"t": "id", "u": "y"}


def test_common_labels_do_not_make_an_object_somebody_elses() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    foreign = dict.fromkeys(OWNER, "another")
    (made,) = prepared(obj, common=CommonMetadata(labels=foreign | {"t": "id"}, annotations={}))
    assert made["metadata"]["labels"] == OWNER | {"t": "id"}


def certificate() -> str:
    return base64.b64encode(trustme.CA().cert_pem.bytes()).decode()


@pytest.mark.scenario("22.11 Missing namespace")
@pytest.mark.parametrize(
    ("bundle", "kept"),
    [
        pytest.param(certificate(), True, id="a certificate"),
        pytest.param("", True, id="an empty one"),
        pytest.param("not base64!", False, id="no base64"),
        pytest.param(base64.b64encode(b"no PEM").decode(), False, id="no PEM"),
        pytest.param(
            base64.b64encode(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").decode(),
            False,
            id="no certificate in the PEM",
        ),
    ],
)
def test_the_bundle_of_a_definition(bundle: str, *, kept: bool) -> None:
    client = {"caBundle": bundle, "service": {"name": "x"}}
    spec: Object = {"group": "x", "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}
    made = normal(thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=spec))
    found = made["spec"]["conversion"]["webhook"]["clientConfig"]
    assert found == (client if kept else {"service": {"name": "x"}})
    assert spec["conversion"]["webhook"]["clientConfig"] == client


def test_what_is_given_is_not_changed() -> None:
    obj = thing("v1", "Pod", spec=PORTS)
    before = repr(obj)
    prepared(obj, common=CommonMetadata(labels={"a": "b"}))
    assert repr(obj) == before
