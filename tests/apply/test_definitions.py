"""A CRD and objects of its kind in one set: what cannot be validated at first is validated in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.apply import ApplyFailed
from penstock.kube.errors import NoMatch, NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.apply.world import OWNER, actions, apply, config_map, exists, live, widgets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.api.inventory import InventoryEntry
    from tests.clusters import Cluster


async def test_a_kind_and_its_objects_in_one_set(cluster: Cluster) -> None:
    group = f"{cluster.namespace}.example.com"
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": cluster.namespace, "labels": OWNER.labels()},
        "spec": {"size": 1},
    }
    ahead: list[str] = []

    async def write_ahead(entries: Sequence[InventoryEntry]) -> None:
        with pytest.raises(NotFound):
            await cluster.client.get(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")
        ahead.extend(entry.id for entry in entries)

    try:
        changes = await apply(cluster, [widget, widgets(group)], write_ahead=write_ahead)
        assert actions(changes) == {f"CustomResourceDefinition/widgets.{group}": "created", "Widget/one": "created"}
        assert ahead == [entry.id for entry in changes.inventory().entries]
        wrong = {**widget, "spec": {"size": "large"}}
        with pytest.raises(ApplyFailed, match=r"^Widget/.*/one dry-run failed"):
            await apply(cluster, [wrong, widgets(group)])
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")


async def test_a_kind_is_served_when_its_definition_is_applied(cluster: Cluster) -> None:
    """Whoever waits for the set may have asked for the kind a moment ago, and does not look again at once."""
    group = f"{cluster.namespace}.example.com"
    discovery = cluster.client.discovery
    with pytest.raises(NoMatch):
        await discovery.resource(f"{group}/v1", "Widget")
    try:
        await apply(cluster, [widgets(group)])
        assert (await discovery.resource(f"{group}/v1", "Widget")).plural == "widgets"
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")


async def test_a_field_that_a_new_version_of_the_kind_brings(cluster: Cluster) -> None:
    group = f"{cluster.namespace}.example.com"
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": cluster.namespace, "labels": OWNER.labels()},
        "spec": {"size": 1},
    }
    try:
        await apply(cluster, [widget, widgets(group)])
        tiered = {**widget, "spec": {"size": 1, "tier": 2}}
        with pytest.raises(ApplyFailed, match="field not declared in schema"):
            await apply(cluster, [tiered, widgets(group)])
        changes = await apply(cluster, [tiered, widgets(group, "tier")])
        assert set(actions(changes).values()) == {"configured"}
        assert (await live(cluster, tiered))["spec"] == {"size": 1, "tier": 2}
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")


async def test_a_mistake_that_only_the_new_kind_reveals_stops_the_rest(cluster: Cluster) -> None:
    """What the CRD brings is validated as soon as it is there, before anything of the later stages is written."""
    group = f"{cluster.namespace}.example.com"
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": cluster.namespace, "labels": OWNER.labels()},
        "spec": {"size": "large"},
    }
    try:
        with pytest.raises(ApplyFailed) as failure:
            await apply(cluster, [widget, widgets(group), config_map(cluster)])
        assert failure.value.problems[0].startswith(f"Widget/{cluster.namespace}/one dry-run failed")
        assert failure.value.changes.lines() == [f"CustomResourceDefinition/widgets.{group} created"]
        assert str(failure.value).endswith(f"\nCustomResourceDefinition/widgets.{group} created")
        assert not await exists(cluster, config_map(cluster))
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")
