"""What others left on an object: fields and annotations of kubectl, and of managers that the operator names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.apply import Applier
from penstock.kube.resources import CONFIG_MAPS
from tests.apply.world import MANAGER, OWNER, actions, annotated, apply, config_map, edit, live, managers

if TYPE_CHECKING:
    from tests.clusters import Cluster


@pytest.mark.scenario("22.11 Cleanup")
async def test_what_kubectl_applied_becomes_ours(cluster: Cluster) -> None:
    wanted = config_map(cluster, key="1")
    by_hand = {
        **wanted,
        "metadata": {
            **wanted["metadata"],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "stays-not"},
            "labels": {**OWNER.labels(), "fluxcd.io/sync-gc-mark": "x"},
        },
        "data": {"key": "1", "extra": "by hand"},
    }
    await cluster.client.create(CONFIG_MAPS, by_hand, manager="kubectl-client-side-apply")
    assert actions(await apply(cluster, [wanted])) == {"ConfigMap/settings": "configured"}
    found = await live(cluster, wanted)
    assert managers(found) == {(MANAGER, "Apply")}
    assert "annotations" not in found["metadata"]
    assert found["metadata"]["labels"] == OWNER.labels()
    assert found["data"] == {"key": "1"}
    assert actions(await apply(cluster, [wanted])) == {"ConfigMap/settings": "unchanged"}


@pytest.mark.scenario("22.11 Cleanup")
async def test_what_kubectl_added_goes_unless_the_object_says_merge(cluster: Cluster) -> None:
    wanted = config_map(cluster, key="1")
    await apply(cluster, [wanted])
    await edit(cluster.client, wanted, {"data": {"extra": "by hand"}})
    merging = annotated(wanted, ssa="Merge")
    await apply(cluster, [merging])
    assert (await live(cluster, wanted))["data"] == {"key": "1", "extra": "by hand"}
    # The live object still says so: the first apply takes the annotation away, the next one the field.
    for _ in range(2):
        assert actions(await apply(cluster, [wanted])) == {"ConfigMap/settings": "configured"}
    assert (await live(cluster, wanted))["data"] == {"key": "1"}


@pytest.mark.scenario("22.11 Cleanup")
async def test_what_kubectl_applied_on_the_server_becomes_ours(cluster: Cluster) -> None:
    wanted = config_map(cluster, key="1")
    await cluster.client.apply(CONFIG_MAPS, {**wanted, "data": {"key": "1", "more": "2"}}, manager="kubectl")
    await apply(cluster, [wanted])
    found = await live(cluster, wanted)
    assert managers(found) == {(MANAGER, "Apply")}
    assert found["data"] == {"key": "1"}


@pytest.mark.parametrize(
    ("manager", "gone"),
    [
        pytest.param("node-fetch", True, id="a manager that the operator names"),
        pytest.param("node-fetch-2", True, id="and those whose names begin so"),
        pytest.param("good-name", False, id="others are left alone"),
        pytest.param("flux-client-side-apply", False, id="the peers' client is left alone"),
    ],
)
async def test_disallowed_managers(cluster: Cluster, manager: str, gone: bool) -> None:
    wanted = config_map(cluster, key="1")
    applier = Applier(cluster.client, override_managers=["node-fetch"])
    await applier.apply([wanted], owner=OWNER)
    await edit(cluster.client, wanted, {"data": {"other": "2"}}, manager=manager)
    await applier.apply([wanted], owner=OWNER)
    assert ("other" not in (await live(cluster, wanted))["data"]) is gone
