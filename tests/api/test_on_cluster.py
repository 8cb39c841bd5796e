"""A cluster takes our CRDs, the objects that fit them, and none that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.api import KINDS, crds
from penstock.kube.errors import Invalid
from tests.api.examples import AGAINST_RULES, WRONG, Wrong, examples, names
from tests.definitions import define

if TYPE_CHECKING:
    from penstock.kube import Object, Resource
    from tests.clusters import Cluster


@pytest_asyncio.fixture
async def defined(cluster: Cluster) -> Cluster:
    """The cluster with all our CRDs, each of them served."""
    await define(cluster.client, *crds())
    return cluster


async def _resource(cluster: Cluster, obj: Object) -> Resource:
    return await cluster.client.discovery.resource(obj["apiVersion"], obj["kind"])


def _placed(obj: Object, namespace: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


@pytest.mark.parametrize("name", names())
async def test_objects_are_accepted(defined: Cluster, name: str) -> None:
    for obj in examples(name):
        wanted = _placed(obj, defined.namespace)
        stored = await defined.client.create(await _resource(defined, obj), wanted, validation="Strict")
        if obj["apiVersion"] == KINDS[obj["kind"]].api_version:  # what only older versions had is not stored
            assert _contains(stored.get("spec"), obj.get("spec"))


@pytest.mark.parametrize("wrong", [wrong for wrong in WRONG if wrong.refused_by_server], ids=lambda wrong: wrong.id)
async def test_wrong_objects_are_refused(defined: Cluster, wrong: Wrong) -> None:
    obj = _placed(wrong.obj, defined.namespace)
    with pytest.raises(Invalid):
        await defined.client.create(await _resource(defined, obj), obj)


@pytest.mark.real  # the embedded cluster stores CEL rules, and does not look at them yet
@pytest.mark.parametrize(("obj", "says"), AGAINST_RULES)
async def test_rules_are_enforced(defined: Cluster, obj: Object, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        await defined.client.create(await _resource(defined, obj), _placed(obj, defined.namespace))
    assert says in str(refused.value)


async def test_a_new_object_has_not_been_observed(defined: Cluster) -> None:
    obj = _placed(examples("kustomization")[0], defined.namespace)
    stored = await defined.client.create(await _resource(defined, obj), obj)
    assert stored["status"] == {"observedGeneration": -1}


def _contains(stored: Any, wanted: Any) -> bool:
    """Whether nothing of what was wanted is lost; defaults may have been added."""
    if isinstance(wanted, dict):
        return all(key in stored and _contains(stored[key], value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return len(stored) == len(wanted) and all(_contains(*pair) for pair in zip(stored, wanted, strict=True))
    return bool(stored == wanted)
