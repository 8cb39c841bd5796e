"""Requests through a bad network: each ends in what was asked for, or in an error that says what happened."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.kube import Limiter, connect
from penstock.kube.errors import (
    BadAnswer,
    NotFound,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from penstock.kube.resources import CONFIG_MAPS
from tests.faults import READS, WRITES, Rule, Where, answers, cuts, faulty, garbles, hangs, resets

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.conftest import Target


async def test_without_a_fault_everything_passes_and_is_counted(target: Target) -> None:
    async with faulty(target.settings) as proxy, connect(proxy.settings) as client:
        await client.create(CONFIG_MAPS, target.config_map("a", x="1"))
        assert (await client.get(CONFIG_MAPS, "a", target.namespace))["data"] == {"x": "1"}
        await client.delete(CONFIG_MAPS, "a", target.namespace)
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "a", target.namespace)
        assert [str(call).split()[0] for call in proxy.calls] == ["POST", "GET", "DELETE", "GET"]
        assert proxy.count("GET", "configmaps/a") == 2
        assert proxy.statuses == {201: 1, 200: 2, 404: 1}


class TestTooManyRequests:
    async def test_a_pause_that_is_asked_for_is_made_and_then_it_is_done_once(self, target: Target) -> None:
        limiter, loop = Limiter(start=16), asyncio.get_running_loop()
        async with (
            faulty(target.settings, answers(429, retry_after=1, times=1)) as proxy,
            connect(proxy.settings, limiter=limiter) as client,
        ):
            begun = loop.time()
            await client.create(CONFIG_MAPS, target.config_map("a"))
            assert loop.time() - begun >= 1
            assert proxy.count("POST") == 2
        assert limiter.limit == 8
        assert await target.names() == {"a"}

    async def test_one_that_never_ends_is_an_error(self, target: Target) -> None:
        async with faulty(target.settings, answers(429)) as proxy, connect(proxy.settings) as client:
            with pytest.raises(TooManyRequests):
                await client.create(CONFIG_MAPS, target.config_map("a"))
            assert proxy.count("POST") == 5
        assert await target.names() == set()


class TestAServerInTrouble:
    @pytest.mark.parametrize("where", [READS, WRITES], ids=["read", "write"])
    async def test_a_500_is_told_and_not_repeated(self, where: Where, target: Target) -> None:
        async with faulty(target.settings, answers(500, where=where)) as proxy, connect(proxy.settings) as client:
            asking = (
                client.get(CONFIG_MAPS, "a", target.namespace)
                if where is READS
                else client.create(CONFIG_MAPS, target.config_map("a"))
            )
            with pytest.raises(ServerError, match="by order"):
                await asking
            assert len(proxy.calls) == 1

    async def test_a_503_is_repeated_where_that_is_safe(self, target: Target) -> None:
        await target.put("a")
        async with faulty(target.settings, answers(503, times=3)) as proxy, connect(proxy.settings) as client:
            await client.get(CONFIG_MAPS, "a", target.namespace)
            assert proxy.count("GET") == 4

    async def test_a_503_to_a_create_is_not_repeated(self, target: Target) -> None:
        async with faulty(target.settings, answers(503, times=1)) as proxy, connect(proxy.settings) as client:
            with pytest.raises(Unavailable):
                await client.create(CONFIG_MAPS, target.config_map("a"))
            assert proxy.count("POST") == 1


class TestAConnectionThatBreaks:
    @pytest.mark.parametrize(
        "rule",
        [lambda: resets("before", times=2), lambda: resets("after", times=2), lambda: cuts(times=2)],
        ids=["before", "after", "cut"],
    )
    async def test_a_read_is_repeated(self, rule: Callable[[], Rule], target: Target) -> None:
        await target.put("a", x="1")
        async with faulty(target.settings, rule()) as proxy, connect(proxy.settings) as client:
            assert (await client.get(CONFIG_MAPS, "a", target.namespace))["data"] == {"x": "1"}
            assert proxy.count("GET") == 3

    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_an_apply_is_repeated_and_lands(self, when: str, target: Target) -> None:
        rule = resets("before" if when == "before" else "after", times=1)
        async with faulty(target.settings, rule) as proxy, connect(proxy.settings) as client:
            await client.apply(CONFIG_MAPS, target.config_map("a", x="1"), manager="me")
            assert proxy.count("PATCH") == 2
        assert await target.names() == {"a"}

    async def test_a_create_before_it_arrived_is_an_error_and_nothing_is_there(self, target: Target) -> None:
        async with faulty(target.settings, resets("before")) as proxy, connect(proxy.settings) as client:
            with pytest.raises(Unreachable, match="broke during POST"):
                await client.create(CONFIG_MAPS, target.config_map("a"))
            assert proxy.count("POST") == 1
        assert await target.names() == set()

    async def test_a_create_after_it_arrived_is_an_error_too_and_it_is_there_once(self, target: Target) -> None:
        """Whether it was done is not known: so it is not done again, and the caller looks."""
        async with faulty(target.settings, resets("after")) as proxy, connect(proxy.settings) as client:
            with pytest.raises(Unreachable) as caught:
                await client.create(CONFIG_MAPS, target.config_map("a"))
            assert caught.value.sent
            assert proxy.count("POST") == 1
        assert await target.names() == {"a"}

    async def test_a_deletion_whose_answer_was_lost_is_repeated_and_says_that_it_is_gone(self, target: Target) -> None:
        await target.put("a")
        async with faulty(target.settings, resets("after", times=1)) as proxy, connect(proxy.settings) as client:
            with pytest.raises(NotFound):
                await client.delete(CONFIG_MAPS, "a", target.namespace)
            assert proxy.count("DELETE") == 2
        assert await target.names() == set()

    async def test_a_list_that_breaks_on_its_second_page_is_whole(self, target: Target) -> None:
        wanted = {f"n{number}" for number in range(5)}
        for name in wanted:
            await target.put(name)
        async with faulty(target.settings, cuts(after=1, times=1)) as proxy, connect(proxy.settings) as client:
            listing = await client.list(CONFIG_MAPS, target.namespace, page=2)
            assert wanted <= {obj["metadata"]["name"] for obj in listing.items}
            assert proxy.count("GET") >= 4


class TestAServerThatSaysNothing:
    async def test_a_request_ends_in_time(self, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("penstock.kube.client.LIST_TIMEOUT", 0.2)
        async with faulty(target.settings, hangs()) as proxy, connect(proxy.settings) as client:
            async with asyncio.timeout(5):
                with pytest.raises(TimedOut, match="in the time allowed"):
                    await client.list(CONFIG_MAPS, target.namespace)
            assert proxy.count("GET") == 1

    async def test_one_that_hangs_does_not_hold_up_the_others(self, target: Target) -> None:
        await target.put("a")
        stuck = hangs(where=Where(path="stuck"))
        async with faulty(target.settings, stuck) as proxy, connect(proxy.settings) as client:
            hanging = asyncio.create_task(client.get(CONFIG_MAPS, "stuck", target.namespace))
            async with asyncio.timeout(5):
                await asyncio.gather(*(client.get(CONFIG_MAPS, "a", target.namespace) for _ in range(20)))
            assert not hanging.done()
            hanging.cancel()
            await asyncio.gather(hanging, return_exceptions=True)


async def test_an_answer_that_is_garbage_is_told_as_such(target: Target) -> None:
    await target.put("a")
    async with faulty(target.settings, garbles()) as proxy, connect(proxy.settings) as client:
        with pytest.raises(BadAnswer, match=r"the answer to GET .*configmaps/a is not JSON \(22 bytes\)"):
            await client.get(CONFIG_MAPS, "a", target.namespace)
        with pytest.raises(BadAnswer):
            await client.list(CONFIG_MAPS, target.namespace)


async def test_a_server_that_is_not_there_is_told_as_such(target: Target) -> None:
    async with faulty(target.settings) as proxy:
        gone = proxy.settings
    async with connect(gone) as client:
        with pytest.raises(Unreachable, match=r"cannot connect to http://127.0.0.1") as caught:
            await client.create(CONFIG_MAPS, target.config_map("a"))
        assert not caught.value.sent
