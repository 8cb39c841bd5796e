"""Discovery through a bad network: a group that cannot be read is unknown, and never absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.kube import Client, connect
from penstock.kube.errors import BadAnswer, DiscoveryUnknown, KubeError, NoMatch, ServerError
from penstock.kube.resources import LEASES
from tests.faults import (
    READS,
    Proxy,
    Rule,
    answers,
    fails_group,
    faulty,
    garbles,
    omits_group,
    stales_group,
    without_aggregation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.conftest import Target

GROUP = "coordination.k8s.io"

LOST: dict[str, Callable[[], list[Rule]]] = {
    "stale in the aggregated document": lambda: [stales_group(GROUP)],
    "503, read group by group": lambda: [without_aggregation(), fails_group(GROUP, 503)],
    "403, read group by group": lambda: [without_aggregation(), fails_group(GROUP, 403)],
    "500, read group by group": lambda: [without_aggregation(), fails_group(GROUP, 500)],
}


async def lease(client: Client) -> str:
    """What is known about the kind Lease."""
    try:
        return str(await client.discovery.resource(LEASES.api_version, LEASES.kind))
    except KubeError as error:
        return type(error).__name__


@pytest.fixture(params=[False, True], ids=["aggregated", "group by group"])
def way(request: pytest.FixtureRequest) -> list[Rule]:
    """Both ways of reading."""
    return [without_aggregation()] if request.param else []


async def test_without_a_fault_a_kind_is_found(way: list[Rule], target: Target) -> None:
    async with faulty(target.settings, *way) as proxy, connect(proxy.settings) as client:
        assert await client.discovery.resource(LEASES.api_version, LEASES.kind) == LEASES
        assert await client.discovery.find(GROUP, "Lease") == LEASES
        assert await client.discovery.unknown() == frozenset()
        with pytest.raises(NoMatch):
            await client.discovery.resource("nobody.example.com/v1", "Nothing")


@pytest.mark.parametrize("rules", LOST.values(), ids=LOST.keys())
async def test_a_group_that_cannot_be_read_is_unknown(rules: Callable[[], list[Rule]], target: Target) -> None:
    async with faulty(target.settings, *rules()) as proxy, connect(proxy.settings) as client:
        assert await lease(client) == "DiscoveryUnknown"
        assert f"{GROUP}/v1" in await client.discovery.unknown()
        assert (await client.discovery.resource("v1", "ConfigMap")).plural == "configmaps"


@pytest.mark.parametrize("rules", LOST.values(), ids=LOST.keys())
async def test_a_group_that_can_no_longer_be_read_is_known_as_before(
    rules: Callable[[], list[Rule]], target: Target
) -> None:
    lost = rules()
    async with faulty(target.settings) as proxy, connect(proxy.settings) as client:
        assert await lease(client) == "leases.coordination.k8s.io"
        proxy.add(*lost)
        await client.discovery.refresh()
        assert await lease(client) == "leases.coordination.k8s.io"
        proxy.remove(*lost)
        await client.discovery.refresh()
        assert await client.discovery.unknown() == frozenset()


async def test_a_group_that_is_left_out_is_unknown_for_a_while_and_then_gone(
    way: list[Rule], target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with faulty(target.settings, *way) as proxy, connect(proxy.settings) as client:
        assert await lease(client) == "leases.coordination.k8s.io"
        proxy.add(omits_group(GROUP))
        await client.discovery.refresh()
        assert await lease(client) == "DiscoveryUnknown"
        with pytest.raises(DiscoveryUnknown):
            await client.discovery.find(GROUP, "Lease")
        monkeypatch.setattr("penstock.kube.discovery.GRACE", 0.0)
        await client.discovery.refresh()
        assert await lease(client) == "NoMatch"


async def test_a_group_that_comes_back_is_found_at_once(way: list[Rule], target: Target) -> None:
    omitted = omits_group(GROUP)
    async with faulty(target.settings, *way, omitted) as proxy, connect(proxy.settings) as client:
        assert await lease(client) == "NoMatch", "it was never there"
        proxy.remove(omitted)
        client.discovery.invalidate()
        assert await lease(client) == "leases.coordination.k8s.io"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(lambda: answers(500, where=READS), ServerError, id="500"),
        pytest.param(lambda: garbles(where=READS), BadAnswer, id="garbage"),
        pytest.param(
            lambda: garbles(b'{"kind": "APIGroupDiscoveryList", "items": 7}', where=READS), BadAnswer, id="odd"
        ),
    ],
)
async def test_a_discovery_that_fails_as_a_whole_is_an_error_and_forgets_nothing(
    rule: Callable[[], Rule], expected: type[KubeError], target: Target
) -> None:
    async with faulty(target.settings) as proxy, connect(proxy.settings) as client:
        assert await lease(client) == "leases.coordination.k8s.io"
        proxy.add(rule())
        with pytest.raises(expected):
            await client.discovery.refresh()
        assert await lease(client) == "leases.coordination.k8s.io"


async def test_a_discovery_that_never_worked_is_an_error_and_no_empty_cluster(target: Target) -> None:
    async with faulty(target.settings, answers(500)) as proxy, connect(proxy.settings) as client:
        assert await lease(client) == "ServerError"
        assert _readings(proxy) == 1


def _readings(proxy: Proxy) -> int:
    return sum(call.path == "/api" for call in proxy.calls)
