"""A watch cache through a bad network: it is right in the end, and nothing is mistaken for deleted on the way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube import wait_synced
from penstock.kube.errors import Forbidden, TimedOut
from penstock.kube.resources import CONFIG_MAPS
from tests.faults import (
    READS,
    WATCHES,
    Proxy,
    Rule,
    Where,
    answers,
    cuts,
    delays_events,
    drops_watches,
    expires_watches,
    faulty,
    garbles,
    garbles_events,
    hangs,
    reorders_events,
    repeats_events,
    replays_events,
    resets,
    stalls_watches,
    swallows_bookmarks,
)
from tests.kube.caches import WITHIN, Witness, eventually, following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.kube import Settings
    from tests.faults.conftest import Target

MINE = "metadata.name!=kube-root-ca.crt"
FOLLOWING = Where(watch=True)


def watching(settings: Settings, target: Target, **options: Any) -> Any:
    """A cache of the ConfigMaps of the test; what the cluster itself puts there is left out."""
    return following(settings, CONFIG_MAPS, namespace=target.namespace, fields=MINE, **options)


async def is_right(witness: Witness[Any], target: Target) -> None:
    """Wait until the cache has what the server has."""
    listing = await target.client.list(CONFIG_MAPS, target.namespace, fields=MINE)
    expected = {obj["metadata"]["name"]: obj["data"] for obj in listing.items}
    await eventually(lambda: {obj["metadata"]["name"]: obj["data"] for obj in witness.cache.values()} == expected)


async def live(target: Target) -> None:
    """Some history: objects come, change, go and come back."""
    for name in ("a", "b", "c"):
        await target.put(name, x="1")
    for number in range(3):
        await target.put("a", x=str(number))
    await target.remove("b")
    await target.put("b", x="again")
    await target.remove("c")


async def strike(proxy: Proxy, rule: Rule) -> None:
    """Cut the watch off until the rule has struck the next one."""
    async with asyncio.timeout(WITHIN):
        while not rule.struck:
            await proxy.cut_off()
            await asyncio.sleep(0.02)


async def test_without_a_fault_the_whole_history_is_told(target: Target) -> None:
    async with faulty(target.settings) as proxy, watching(proxy.settings, target) as witness:
        await wait_synced([witness.cache], within=WITHIN)
        await live(target)
        await is_right(witness, target)
        assert witness.told[0:3] == ["added a", "added b", "added c"]
        assert witness.told[-3:] == ["deleted b", "added b", "deleted c"]


LASTING: dict[str, Callable[[], Rule]] = {
    "watches are dropped after every event": lambda: drops_watches(events=1),
    "watches are dropped at once, ten times": lambda: drops_watches(times=10),
    "watches go silent after two events": lambda: stalls_watches(events=2),
    "events come twice": repeats_events,
    "the first six come again": lambda: replays_events(events=6),
    "events come late": lambda: delays_events(0.02),
    "bookmarks never come": swallows_bookmarks,
    "garbage after three events": lambda: garbles_events(events=3),
    "half an event after three": lambda: garbles_events(b'{"type": "ADDED", "obj', events=3),
    "an object that is none, after three": lambda: garbles_events(b'{"type": "ADDED", "object": 7}\n', events=3),
    "410 as a status, twice": lambda: expires_watches(as_event=False, times=2),
    "410 as an event, after two, five times": lambda: expires_watches(as_event=True, events=2, times=5),
    "watches are refused with 500, three times": lambda: answers(500, where=FOLLOWING, times=3),
    "watches are refused with 503, three times": lambda: answers(503, where=FOLLOWING, times=3),
    "watches are reset before they begin, three times": lambda: resets(where=FOLLOWING, times=3),
}


@pytest.mark.parametrize("rule", LASTING.values(), ids=LASTING.keys())
async def test_a_watch_with_a_fault_is_right_in_the_end(rule: Callable[[], Rule], target: Target) -> None:
    async with faulty(target.settings, rule()) as proxy, watching(proxy.settings, target, quiet=0.3) as witness:
        await wait_synced([witness.cache], within=WITHIN)
        await live(target)
        await is_right(witness, target)
        # `a` is there from the beginning to the end, `b` and `c` are deleted once: never more.
        assert witness.told.count("deleted a") == 0
        assert witness.told.count("deleted b") <= 1
        assert witness.told.count("deleted c") == witness.told.count("added c")


@pytest.mark.parametrize(
    "rule", [repeats_events, lambda: replays_events(events=9)], ids=["each twice", "the whole history twice"]
)
async def test_events_that_come_again_are_told_once(rule: Callable[[], Rule], target: Target) -> None:
    """Above all the beginning of an object that has gone since: it must not come back as a ghost."""
    async with faulty(target.settings, rule()) as proxy, watching(proxy.settings, target) as witness:
        await wait_synced([witness.cache], within=WITHIN)
        await live(target)
        await target.put("z", x="the last")
        await witness.until(
            *("added a", "added b", "added c"),
            *("modified a", "modified a", "modified a"),
            *("deleted b", "added b", "deleted c"),
            "added z",
        )
        assert len(witness.cache) == 3


@pytest.mark.parametrize("window", [2, 3])
async def test_events_out_of_order_are_put_right(window: int, target: Target) -> None:
    """Held back in twos or threes and turned around; a deletion may come before the change that it ended."""
    await target.put("a", x="0")
    async with faulty(target.settings) as proxy, watching(proxy.settings, target) as witness:
        await witness.until("added a")
        rule = reorders_events(events=window)
        proxy.add(rule)
        await strike(proxy, rule)
        await target.put("a", x="1")
        await target.put("a", x="2")
        await target.put("b", x="1")
        await target.remove("b")
        await target.put("c", x="1")
        await target.put("c", x="2")
        await is_right(witness, target)
        assert witness.value("a", target.namespace)["data"] == {"x": "2"}
        assert "deleted a" not in witness.told
        assert witness.told.count("deleted b") == witness.told.count("added b")


class TestExpiry:
    @pytest.fixture
    async def synced(self, target: Target) -> AsyncGenerator[Any]:
        """A cache that knows a, b and c."""
        for name in ("a", "b", "c"):
            await target.put(name, x="1")
        async with faulty(target.settings) as proxy, watching(proxy.settings, target, quiet=0.5) as witness:
            await witness.until("added a", "added b", "added c")
            yield proxy, witness

    @pytest.mark.parametrize("as_event", [True, False], ids=["as an event", "as a status"])
    async def test_only_what_really_changed_is_told(self, as_event: bool, synced: Any, target: Target) -> None:
        proxy, witness = synced
        expiring = expires_watches(as_event=as_event, times=1)
        # While nobody is watching, things happen.
        blocked = answers(500, where=WATCHES)
        proxy.add(blocked)
        await strike(proxy, blocked)
        await target.remove("b")
        await target.put("c", x="2")
        await target.put("d", x="1")
        proxy.add(expiring)
        proxy.remove(blocked)
        await is_right(witness, target)
        await eventually(lambda: witness.value("c", target.namespace)["data"] == {"x": "2"})
        assert expiring.struck == 1
        assert sorted(witness.told) == ["added d", "deleted b", "modified c"]

    @pytest.mark.parametrize(
        "fault",
        [
            lambda: answers(500, where=READS),
            lambda: answers(503, where=READS),
            lambda: answers(403, where=READS),
            lambda: answers(404, body=b"404 page not found", where=READS),
            lambda: cuts(where=READS),
            lambda: garbles(where=READS),
            lambda: garbles(b'{"metadata": {"resourceVersion": "1"}, "items": [7]}', where=READS),
        ],
        ids=["500", "503", "403", "404", "cut", "garbage", "items that are none"],
    )
    async def test_a_new_reading_that_fails_deletes_nothing(
        self, fault: Callable[[], Rule], synced: Any, target: Target
    ) -> None:
        proxy, witness = synced
        rule = fault()
        streaming = answers(400, where=WATCHES)
        expiring = expires_watches(as_event=False, times=1)
        proxy.add(expiring, rule)
        proxy.add(streaming)  # behind the other: strikes what is not expired
        await strike(proxy, expiring)
        await eventually(lambda: rule.struck >= 3)
        assert len(witness.cache) == 3
        assert witness.told == []
        await eventually(lambda: witness.cache.trouble is not None)
        proxy.remove(rule, streaming)
        await eventually(lambda: witness.cache.trouble is None)
        await target.put("a", x="2")
        await witness.until("modified a")


async def test_a_half_open_connection_is_noticed(target: Target) -> None:
    async with faulty(target.settings) as proxy, watching(proxy.settings, target, quiet=0.3) as witness:
        await wait_synced([witness.cache], within=WITHIN)
        silent = stalls_watches(times=1)
        proxy.add(silent)
        await strike(proxy, silent)
        await target.put("a", x="1")
        await witness.until("added a")
        assert isinstance(witness.cache.trouble, TimedOut | None)


async def test_a_right_that_is_taken_away_is_trouble_and_not_a_deletion(target: Target) -> None:
    await target.put("a", x="1")
    async with faulty(target.settings) as proxy, watching(proxy.settings, target) as witness:
        await witness.until("added a")
        forbidden = answers(403)
        proxy.add(forbidden)
        await strike(proxy, forbidden)
        await eventually(lambda: isinstance(witness.cache.trouble, Forbidden))
        assert len(witness.cache) == 1
        proxy.remove(forbidden)
        await target.put("a", x="2")
        await witness.until("modified a")


async def test_a_watch_that_is_turned_away_waits_as_long_as_it_is_told_to(target: Target) -> None:
    async with faulty(target.settings) as proxy, watching(proxy.settings, target) as witness:
        await wait_synced([witness.cache], within=WITHIN)
        refusing = answers(429, retry_after=1, where=WATCHES, times=1)
        proxy.add(refusing)
        await strike(proxy, refusing)
        await target.put("a", x="1")
        await witness.until("added a")
        *_, refused, next_one = (call.at for call in proxy.calls if call.watch)
        assert next_one - refused >= 0.9


@pytest.mark.parametrize(
    "rules",
    [lambda: [hangs()], lambda: [answers(500)], lambda: [resets()], lambda: [garbles(), garbles_events()]],
    ids=["hangs", "500", "resets", "garbage"],
)
async def test_a_first_reading_that_does_not_come_is_told_by_who_waits(
    rules: Callable[[], list[Rule]], target: Target
) -> None:
    async with faulty(target.settings, *rules()) as proxy, watching(proxy.settings, target) as witness:
        with pytest.raises(TimedOut, match="the first reading is not complete after 0s: configmaps: "):
            await wait_synced([witness.cache], within=0.3)
        assert len(witness.cache) == 0


async def test_a_server_that_is_down_is_not_asked_in_a_tight_loop(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # pauses of their real length
    async with faulty(target.settings) as proxy, watching(proxy.settings, target) as witness:
        await wait_synced([witness.cache], within=WITHIN)
        down = resets()
        proxy.add(down)
        await strike(proxy, down)
        proxy.forget()
        begun = asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        took = asyncio.get_running_loop().time() - begun  # more than a second where others work too
        assert 1 <= len(proxy.calls) <= 6 * took
