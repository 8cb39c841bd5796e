"""Making objects anew: only where a field cannot change, only when asked to, and only when all else is valid."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.apply import Applier, ApplyFailed
from penstock.apply.refusals import is_immutable, public, told
from penstock.kube import ObjectRef
from penstock.kube.errors import Cause, Conflict, Forbidden, Invalid, KubeError, Malformed, Status
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from tests.apply.world import (
    CLUSTER_ROLE_BINDINGS,
    OWNER,
    SERVICES,
    STORAGE_CLASSES,
    actions,
    annotated,
    apply,
    config_map,
    deployment,
    edit,
    exists,
    live,
    obj,
    secret,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from penstock.kube import Object
    from tests.clusters import Cluster


def sealed(cluster: Cluster, value: str) -> Object:
    return {**secret(cluster, "sealed", key=value), "immutable": True}


def text(cluster: Cluster) -> str:
    return (
        f'Secret/{cluster.namespace}/sealed dry-run failed (Invalid): Secret "sealed" is invalid: '
        "data: Forbidden: field is immutable when `immutable` is set"
    )


@pytest.mark.scenario("22.11 Force")
async def test_without_force_the_immutable_field_is_told(cluster: Cluster) -> None:
    await apply(cluster, [sealed(cluster, "value-1")])
    with pytest.raises(ApplyFailed) as failure:
        await apply(cluster, [sealed(cluster, "value-2")])
    assert str(failure.value) == text(cluster)


@pytest.mark.scenario("22.11 Force")
async def test_with_force_the_object_is_made_anew_and_others_are_left_alone(cluster: Cluster) -> None:
    others = [config_map(cluster, key="1"), deployment(cluster)]
    await apply(cluster, [sealed(cluster, "value-1"), *others])
    old = await live(cluster, sealed(cluster, ""))
    changes = await apply(cluster, [sealed(cluster, "value-2"), *others], force=True)
    assert actions(changes) == {
        "ConfigMap/settings": "unchanged",
        "Secret/sealed": "created",
        "Deployment/web": "unchanged",
    }
    new = await live(cluster, sealed(cluster, ""))
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["data"] == sealed(cluster, "value-2")["data"]


@pytest.mark.scenario("22.11 Force")
async def test_the_object_says_itself_that_it_may_be_made_anew(cluster: Cluster) -> None:
    name = f"fast-{cluster.namespace}"
    wanted = obj(STORAGE_CLASSES, name, provisioner="example.com/one")
    await apply(cluster, [wanted])
    try:
        changed = annotated({**wanted, "provisioner": "example.com/two"}, force="enabled")
        assert actions(await apply(cluster, [changed])) == {f"StorageClass/{name}": "created"}
        assert (await live(cluster, changed))["provisioner"] == "example.com/two"
    finally:
        await cluster.client.delete(STORAGE_CLASSES, name)


@pytest.mark.scenario("22.11 Force")
async def test_a_role_reference_is_made_anew(cluster: Cluster) -> None:
    name = f"readers-{cluster.namespace}"

    def binding(role: str) -> Object:
        reference = {"apiGroup": CLUSTER_ROLE_BINDINGS.group, "kind": "ClusterRole", "name": role}
        return obj(CLUSTER_ROLE_BINDINGS, name, roleRef=reference, subjects=[])

    await apply(cluster, [binding("view")])
    try:
        with pytest.raises(ApplyFailed, match="cannot change roleRef"):
            await apply(cluster, [binding("edit")])
        assert actions(await apply(cluster, [binding("edit")], force=True)) == {f"ClusterRoleBinding/{name}": "created"}
    finally:
        await cluster.client.delete(CLUSTER_ROLE_BINDINGS, name)


@pytest.mark.scenario("22.11 Force")
async def test_a_plain_mistake_deletes_nothing(cluster: Cluster) -> None:
    wanted = obj(SERVICES, "web", cluster.namespace, spec={"ports": [{"port": 80}]})
    await apply(cluster, [wanted])
    uid = (await live(cluster, wanted))["metadata"]["uid"]
    broken = obj(SERVICES, "web", cluster.namespace, spec={"ports": [{"port": 80_000}]})
    with pytest.raises(ApplyFailed, match="is invalid"):
        await apply(cluster, [broken], force=True)
    assert (await live(cluster, wanted))["metadata"]["uid"] == uid


async def test_nothing_is_deleted_while_something_else_is_wrong(cluster: Cluster) -> None:
    await apply(cluster, [sealed(cluster, "value-1")])
    uid = (await live(cluster, sealed(cluster, "")))["metadata"]["uid"]
    broken = deployment(cluster, replicas=-1)
    with pytest.raises(ApplyFailed) as failure:
        await apply(cluster, [sealed(cluster, "value-2"), broken], force=True)
    assert [problem.partition(" ")[0] for problem in failure.value.problems] == [f"Deployment/{cluster.namespace}/web"]
    assert (await live(cluster, sealed(cluster, "")))["metadata"]["uid"] == uid


@pytest.mark.scenario("22.11 Force")
async def test_finalizers_are_waited_for(cluster: Cluster) -> None:
    held = sealed(cluster, "value-1")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await apply(cluster, [held])
    async with asyncio.TaskGroup() as group:
        applying = group.create_task(apply(cluster, [sealed(cluster, "value-2")], force=True))
        async for found in _seen(cluster):
            if found["metadata"].get("deletionTimestamp"):
                assert not applying.done()
                await edit(cluster.client, held, {"metadata": {"finalizers": None}}, manager="somebody")
                break
    assert actions(applying.result()) == {"Secret/sealed": "created"}


async def _seen(cluster: Cluster) -> AsyncIterator[Object]:
    async with asyncio.timeout(20):
        async for event in cluster.client.watch(SECRETS, cluster.namespace, fields="metadata.name=sealed"):
            yield event.object


async def test_a_finalizer_that_stays_is_told(cluster: Cluster) -> None:
    held = sealed(cluster, "value-1")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await apply(cluster, [held])
    with pytest.raises(ApplyFailed, match=r"^Secret/.*/sealed immutable field detected, failed to wait for object"):
        await Applier(cluster.client, patience=0.2).apply([sealed(cluster, "value-2")], owner=OWNER, force=True)
    await edit(cluster.client, held, {"metadata": {"finalizers": None}}, manager="somebody")


async def test_what_is_skipped_is_not_made_anew(cluster: Cluster) -> None:
    await apply(cluster, [sealed(cluster, "value-1")])
    await edit(cluster.client, sealed(cluster, ""), {"metadata": {"labels": {f"{OWNER.group}/reconcile": "disabled"}}})
    changes = await apply(cluster, [sealed(cluster, "value-2")], force=True)
    assert actions(changes) == {"Secret/sealed": "skipped"}
    assert await exists(cluster, sealed(cluster, ""))


def invalid(*causes: tuple[str, str]) -> Invalid:
    found = tuple(Cause("FieldValueInvalid", message, field) for field, message in causes)
    return Invalid(Status(422, "Invalid", "is invalid: " + ", ".join(message for _, message in causes), causes=found))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(invalid(("spec.selector", "Invalid value: {}: field is immutable")), True, id="a selector"),
        pytest.param(
            invalid(("spec", "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden")),
            True,
            id="a StatefulSet",
        ),
        pytest.param(invalid(("parameters", "Forbidden: updates to parameters are forbidden.")), True, id="parameters"),
        pytest.param(invalid(("roleRef", "Invalid value: {}: cannot change roleRef")), True, id="a role reference"),
        pytest.param(invalid(("value", "Forbidden: may not be changed in an update.")), True, id="a PriorityClass"),
        pytest.param(invalid(("spec.clusterIPs[0]", "may not change once set")), True, id="a cluster IP"),
        pytest.param(invalid(("spec.ports[0].port", "must be between 1 and 65535")), False, id="a plain mistake"),
        pytest.param(
            invalid(("spec.selector", "field is immutable"), ("spec.replicas", "must be greater than 0")),
            False,
            id="a mistake beside an immutable field: it would still be there afterwards",
        ),
        pytest.param(invalid(("metadata.uid", "field is immutable")), False, id="a precondition on the uid"),
        pytest.param(
            Forbidden(Status(403, "Forbidden", 'admission webhook "x" denied the request: spec.size is immutable')),
            True,
            id="a webhook that says so",
        ),
        pytest.param(Forbidden(Status(403, "Forbidden", "updates to x are forbidden")), False, id="a missing right"),
        pytest.param(Conflict(Status(409, "Conflict", "the object has been modified")), False, id="a conflict"),
        pytest.param(Malformed(Status(500, "", "failed to create typed patch object: x")), False, id="a typo"),
        pytest.param(KubeError("is immutable"), False, id="no answer of a server"),
    ],
)
def test_what_counts_as_immutable(error: KubeError, expected: bool) -> None:
    assert is_immutable(error) is expected


SECRET: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys"},
    "data": {"password": "aHVudGVyMg==", "pin": 1234},
    "stringData": {"user": "root"},
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("got hunter2", "got *****"),
        ("got aHVudGVyMg==", "got *****"),
        (
            "expected string, got &value.valueUnstructured{Value:1234}",
            "expected string, got &value.valueUnstructured{Value:*****}",
        ),
        ("user root is taken", "user ***** is taken"),
        ("cannot be uprooted", "cannot be uprooted"),
        ('Secret "keys" is invalid', 'Secret "keys" is invalid'),
        ("illegal base64, error found in #10 byte of ...|hunt|...", "illegal base64"),
    ],
)
def test_no_value_of_a_secret_is_told(message: str, expected: str) -> None:
    """A18."""
    assert public(message, SECRET) == expected
    assert public(message, {**SECRET, "kind": "ConfigMap"}) == message


async def test_the_server_quotes_nothing_of_a_secret(cluster: Cluster) -> None:
    """A18."""
    wrong = obj(SECRETS, "keys", cluster.namespace, data={"password": ["hunter2-hunter2"]})
    not_encoded = obj(SECRETS, "keys", cluster.namespace, data={"password": "hunter2-hunter2!"})
    for broken in (wrong, not_encoded):
        with pytest.raises(ApplyFailed) as failure:
            await apply(cluster, [broken])
        assert "hunter2" not in str(failure.value)


def test_a_field_manager_conflict_is_named() -> None:
    conflict = Conflict(Status(409, "Conflict", "there is one", causes=(Cause("FieldManagerConflict", "x", ".data"),)))
    ref = ObjectRef(CONFIG_MAPS.group, CONFIG_MAPS.kind, "apps", "settings")
    expected = "ConfigMap/apps/settings dry-run failed (FieldManagerConflict): there is one"
    assert told(ref, {}, conflict) == expected
