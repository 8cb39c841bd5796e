from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.embedded import lifecycle
from penstock.embedded.lifecycle.deletion import Deletion
from penstock.embedded.server.catalog import Catalog
from penstock.embedded.server.ports import DeleteOptions
from penstock.embedded.status import StatusError
from tests.embedded.lifecycle.running import create, get, resource, running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine
    from penstock.embedded.server.ports import Propagation
    from penstock.kube.resources import Object

NOW = "2026-01-01T00:00:00Z"
MARK = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}


def deleted(plural: str, obj: Object, **options: Any) -> Object | None:
    served = Catalog().find("", "v1", plural)
    assert served is not None
    return Deletion().delete(served, obj, DeleteOptions(**options), NOW)


@pytest.mark.parametrize(
    ("finalizers", "propagation", "expected"),
    [
        pytest.param([], None, None, id="nothing holds it"),
        pytest.param(["a/b"], None, ["a/b"], id="a finalizer holds it"),
        pytest.param([], "Foreground", ["foregroundDeletion"], id="foreground"),
        pytest.param([], "Orphan", ["orphan"], id="orphan"),
        pytest.param(["orphan"], "Background", None, id="background takes orphan back"),
        pytest.param(["orphan", "a/b"], "Foreground", ["a/b", "foregroundDeletion"], id="the last word counts"),
        pytest.param(["foregroundDeletion"], None, ["foregroundDeletion"], id="no word changes nothing"),
    ],
)
def test_finalizers(finalizers: list[str], propagation: Propagation | None, expected: list[str] | None) -> None:
    left = deleted("configmaps", {"metadata": {"name": "a", "finalizers": finalizers}}, propagation=propagation)

    assert left == (None if expected is None else {"metadata": {"name": "a", "finalizers": expected, **MARK}})


def test_the_first_mark_makes_a_new_generation_and_the_second_none() -> None:
    first = deleted("configmaps", {"metadata": {"generation": 3, "finalizers": ["a/b"]}})
    assert first is not None
    assert first["metadata"]["generation"] == 4

    assert deleted("configmaps", first) == first


@pytest.mark.parametrize(
    ("spec", "status", "options", "grace"),
    [
        pytest.param({}, {}, {}, None, id="on no node: at once"),
        pytest.param({"nodeName": "n"}, {}, {}, 30, id="30 seconds unless said otherwise"),
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": 5}, {}, {}, 5, id="its own"),
        pytest.param({"nodeName": "n"}, {}, {"grace_seconds": 7}, 7, id="what was asked for"),
        pytest.param({"nodeName": "n"}, {}, {"grace_seconds": 0}, None, id="none"),
        pytest.param({"nodeName": "n"}, {}, {"grace_seconds": -1}, 1, id="less than none is one"),
        pytest.param({"nodeName": "n"}, {"phase": "Succeeded"}, {}, None, id="it has ended"),
    ],
)
def test_grace_of_pods(spec: Object, status: Object, options: dict[str, int], grace: int | None) -> None:
    left = deleted("pods", {"metadata": {"name": "p"}, "spec": spec, "status": status}, **options)

    assert (left["metadata"]["deletionGracePeriodSeconds"] if left else None) == grace


def test_grace_can_be_shortened() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n"}}
    first = deleted("pods", pod)
    assert first is not None
    assert first["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"

    second = deleted("pods", first, grace_seconds=10)

    assert second is not None
    assert second["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running(lifecycle.install, background=False) as made:
        yield made


async def test_the_last_finalizer_lets_go(engine: Engine) -> None:
    await create(engine, "ConfigMap", "held", metadata={"finalizers": ["a/b", "a/c"]})
    served = resource(engine, "ConfigMap")
    await engine.delete(served, "held", "default")

    await engine.merge(served, "held", "default", {"metadata": {"finalizers": ["a/c"]}})
    assert get(engine, "ConfigMap", "held") is not None
    await engine.merge(served, "held", "default", {"metadata": {"finalizers": None}})
    assert get(engine, "ConfigMap", "held") is None


async def test_content_needs_a_namespace(engine: Engine) -> None:
    with pytest.raises(StatusError, match='namespaces "nowhere" not found'):
        await create(engine, "ConfigMap", "a", metadata={"namespace": "nowhere"})


async def test_nothing_new_in_a_namespace_that_goes(engine: Engine) -> None:
    await create(engine, "Namespace", "going")
    await engine.delete(resource(engine, "Namespace"), "going")

    with pytest.raises(StatusError) as refused:
        await create(engine, "ConfigMap", "a", metadata={"namespace": "going"})

    assert refused.value.code == 403
    assert refused.value.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    cause = refused.value.causes[0]
    assert (cause.reason, cause.field) == ("NamespaceTerminating", "metadata.namespace")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_namespaces_that_stay(engine: Engine, name: str) -> None:
    with pytest.raises(StatusError, match="this namespace may not be deleted"):
        await engine.delete(resource(engine, "Namespace"), name)
