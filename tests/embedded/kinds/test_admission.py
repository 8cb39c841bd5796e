"""What the API server's own admission plugins add to objects, and refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.kinds import rules
from penstock.embedded.kinds.admission import TOKEN_PATH, KindAdmission
from penstock.embedded.server.ports import SYSTEM, Attempt, Operation, ServedResource
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube.resources import Object


class World:
    """The other objects of a cluster."""

    def __init__(self, *objects: Object) -> None:
        self._objects = objects

    def get(self, group: str, kind: str, name: str, namespace: str = "") -> Object | None:
        del group, namespace
        return next((one for one in self.list("", kind) if one["metadata"]["name"] == name), None)

    def list(self, group: str, kind: str) -> Iterable[Object]:
        del group
        return [one for one in self._objects if one["kind"] == kind]


ACCOUNT: Object = {"kind": "ServiceAccount", "metadata": {"name": "default"}, "imagePullSecrets": [{"name": "pull"}]}


def admitted(obj: Object, *world: Object, old: Object | None = None) -> Object:
    group, _, version = obj["apiVersion"].rpartition("/")
    rules(group, obj["kind"]).default(obj)
    resource = ServedResource(group, version, "", "", obj["kind"], namespaced=True, verbs=())
    operation: Operation = "CREATE" if old is None else "UPDATE"
    name = obj["metadata"]["name"]
    admission = KindAdmission(World(*world))
    attempt = Attempt(operation, SYSTEM, resource, "", "default", name, obj, old, dry_run=False)
    admission.admit(attempt)
    admission.validate(attempt)
    return obj


def pod(**spec: Any) -> Object:
    containers = [{"name": "web", "image": "nginx"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": containers, **spec}}


def test_a_pod_gets_an_account_its_token_and_its_pull_secrets() -> None:
    spec = admitted(pod(), ACCOUNT)["spec"]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert (mount["mountPath"], mount["name"]) == (TOKEN_PATH, spec["volumes"][0]["name"])
    assert spec["imagePullSecrets"] == [{"name": "pull"}]


@pytest.mark.parametrize(
    ("spec", "account"),
    [
        pytest.param({"automountServiceAccountToken": False}, ACCOUNT, id="the pod wants none"),
        pytest.param({}, {**ACCOUNT, "automountServiceAccountToken": False}, id="the account gives none"),
    ],
)
def test_no_token(spec: Object, account: Object) -> None:
    assert "volumes" not in admitted(pod(**spec), account)["spec"]


def test_a_pod_has_a_priority_and_stays_on_a_lost_node_for_a_while() -> None:
    spec = admitted(pod(), ACCOUNT)["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [one["tolerationSeconds"] for one in spec["tolerations"]] == [300, 300]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"serviceAccountName": "no"}, 'error looking up service account default/no: serviceaccount "no" not found'),
        ({"priorityClassName": "no"}, "no PriorityClass with name no was found"),
        ({"runtimeClassName": "no"}, 'pod rejected: RuntimeClass "no" not found'),
    ],
)
def test_a_pod_that_names_what_is_not_there_is_refused(spec: Object, words: str) -> None:
    with pytest.raises(StatusError) as caught:
        admitted(pod(**spec), ACCOUNT)
    assert (caught.value.code, caught.value.message) == (403, f'pods "web" is forbidden: {words}')


def claim(size: str = "1Gi", **spec: Any) -> Object:
    resources = {"requests": {"storage": size}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec},
    }


STORAGE_CLASS: Object = {
    "kind": "StorageClass",
    "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
}


def test_a_claim_gets_the_default_class_and_is_protected() -> None:
    made = admitted(claim(), STORAGE_CLASS)
    assert made["spec"]["storageClassName"] == "fast"
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def test_a_claim_that_wants_no_class_gets_none() -> None:
    assert admitted(claim(storageClassName=""), STORAGE_CLASS)["spec"]["storageClassName"] == ""


def test_only_a_bound_claim_can_grow() -> None:
    old = admitted(claim(), STORAGE_CLASS)
    with pytest.raises(StatusError, match="Only bound persistent volume claims can be expanded"):
        admitted(claim("2Gi"), STORAGE_CLASS, old=old)
