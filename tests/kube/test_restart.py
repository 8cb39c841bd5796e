"""A control plane whose programs come and go, under clients that stay."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.kube import Event, Lease, Membership, Recorder, Settings, Terms, connect, load, reference, wait_synced
from penstock.kube.credentials import Credential, Static
from penstock.kube.errors import Expired, Unauthorized
from penstock.kube.resources import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES
from tests.controlplane.build import NoGo, find_go
from tests.controlplane.plane import ControlPlane, controlplane
from tests.kube.caches import eventually, following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

SOON = 30.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncGenerator[ControlPlane]:
    """One of our own: these tests kill its programs."""
    try:
        find_go()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    async with controlplane(controllers=False) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def settings(plane: ControlPlane) -> Settings:
    return await asyncio.to_thread(load, plane.kubeconfig)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_caches_survive_a_restart_of_the_api_server(how: str, plane: ControlPlane, settings: Settings) -> None:
    """Nothing is mistaken for deleted, and what happens afterwards is seen."""
    async with (
        connect(settings) as client,
        following(settings, NAMESPACES) as spaces,
        following(settings, namespace="default", fields="metadata.name!=kube-root-ca.crt") as maps,
    ):
        await client.apply(CONFIG_MAPS, config_map("before", x=how), manager="me")
        await wait_synced([spaces.cache, maps.cache], within=SOON)
        await eventually(lambda: "before" in {change.ref.name for change in maps.changes}, within=SOON)
        await getattr(plane.apiserver, how)()
        await plane.apiserver.start()
        async with asyncio.timeout(SOON):
            await client.apply(CONFIG_MAPS, config_map(f"after-{how}"), manager="me")
        await eventually(lambda: maps.cache.get(f"after-{how}", "default") is not None, within=SOON)
        assert [change for change in (*maps.changes, *spaces.changes) if change.type == "deleted"] == []
        await eventually(lambda: not (maps.cache.trouble or spaces.cache.trouble), within=SOON)


async def test_after_a_restart_an_old_version_is_expired(plane: ControlPlane, settings: Settings) -> None:
    async with connect(settings) as client:
        for number in range(3):
            await client.apply(CONFIG_MAPS, config_map("moving", x=str(number)), manager="me")
        await plane.apiserver.stop()
        await plane.apiserver.start()
        async with asyncio.timeout(SOON):
            with pytest.raises(Expired):
                async for _event in client.watch(CONFIG_MAPS, "default", resource_version="1"):
                    pass


async def test_an_api_server_without_its_etcd_is_waited_out(plane: ControlPlane, settings: Settings) -> None:
    async with connect(settings) as client, following(settings, namespace="default") as maps:
        await client.apply(CONFIG_MAPS, config_map("kept"), manager="me")
        await wait_synced([maps.cache], within=SOON)
        await plane.etcd.kill()
        await plane.etcd.start()
        async with asyncio.timeout(SOON):
            await client.apply(CONFIG_MAPS, config_map("back"), manager="me")
        await eventually(lambda: maps.cache.get("back", "default") is not None, within=SOON)
        assert [change for change in maps.changes if change.type == "deleted"] == []


async def test_a_lease_survives_a_restart_and_changes_hands_when_it_is_released(
    plane: ControlPlane, settings: Settings
) -> None:
    terms = Terms(duration=60, renew_within=50, retry=1)  # a restart takes its time
    async with connect(settings) as client, connect(settings) as other:
        a = Lease(client, name="leader", namespace="default", holder="a", terms=terms)
        b = Lease(other, name="leader", namespace="default", holder="b", terms=terms)
        await a.acquire()
        holding, acquiring = asyncio.create_task(a.hold()), asyncio.create_task(b.acquire())
        await plane.apiserver.kill()
        await plane.apiserver.start()
        await asyncio.sleep(2)
        assert not holding.done()
        assert not acquiring.done()
        holding.cancel()
        await a.release()
        async with asyncio.timeout(SOON):
            await acquiring
        lease = await client.get(LEASES, "leader", "default")
        assert lease["spec"]["holderIdentity"] == "b"
        assert lease["spec"]["leaseTransitions"] == 2


async def test_members_share_and_take_over(settings: Settings) -> None:
    keys = [f"apps/{number}" for number in range(50)]
    async with connect(settings) as one, connect(settings) as other:
        first = Membership(one, group="penstock", namespace="default", identity="first")
        second = Membership(other, group="penstock", namespace="default", identity="second")
        running = asyncio.create_task(first.run())
        leaving = asyncio.create_task(second.run())
        await eventually(lambda: first.members == second.members == frozenset(("first", "second")), within=SOON)
        shares = [{key for key in keys if member.mine(key)} for member in (first, second)]
        assert shares[0] | shares[1] == set(keys)
        assert not shares[0] & shares[1]
        leaving.cancel()
        await eventually(lambda: all(first.mine(key) for key in keys), within=SOON)
        running.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


async def test_events_are_stored_and_counted(settings: Settings) -> None:
    async with connect(settings) as client:
        space = await client.get(NAMESPACES, "default")
        recorder = Recorder(client, component="penstock", instance="test")
        running = asyncio.create_task(recorder.run())
        for _ in range(3):
            recorder.record(Event(reference(space), "Normal", "Tested", "by us", {"penstock.dev/x": "y"}))
        await recorder.flush(within=SOON)
        running.cancel()
        assert recorder.dropped == 0
        found = await client.list(EVENTS, "default", fields="reason=Tested")
        (stored,) = found.items
        assert (stored["count"], stored["message"], stored["involvedObject"]["name"]) == (3, "by us", "default")


async def test_a_cluster_that_was_restored_to_an_earlier_state_is_seen_as_it_is(
    plane: ControlPlane, settings: Settings
) -> None:
    """Its versions are lower than ours: a watch from ours would be silent for ever."""
    async with connect(settings) as client, following(settings, namespace="default", quiet=1.0) as maps:
        for number in range(100):
            await client.apply(CONFIG_MAPS, config_map("lost", x=str(number)), manager="me")
        await eventually(lambda: maps.cache.get("lost", "default") is not None, within=SOON)
        await plane.apiserver.kill()
        await plane.etcd.kill()
        await asyncio.to_thread(shutil.rmtree, plane.folder / "etcd")
        await plane.etcd.start()
        await plane.apiserver.start()
        async with asyncio.timeout(SOON):
            await client.apply(CONFIG_MAPS, config_map("new"), manager="me")
        await eventually(lambda: maps.cache.get("new", "default") is not None, within=SOON)
        assert maps.cache.get("lost", "default") is None


async def test_a_client_certificate_that_expired_is_told(plane: ControlPlane, settings: Settings) -> None:
    ended = datetime.now(UTC) - timedelta(days=1)
    leaf = plane.credentials.authority.issue_cert(
        "jane", common_name="jane", not_before=ended - timedelta(days=1), not_after=ended
    )

    credential = Credential(certificate=leaf.cert_chain_pems[0].bytes(), key=leaf.private_key_pem.bytes())
    async with connect(replace(settings, credentials=Static(credential))) as client:
        with pytest.raises(Unauthorized, match="does not accept our client certificate: it expired on"):
            await client.get(NAMESPACES, "default")
