from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from penstock.kube import Limiter
from penstock.kube.errors import TimedOut

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Server:
    """A simulated API server: so many requests at once, each takes so long, the others queue."""

    capacity: int
    seconds: dict[str, float]
    served: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self._workers = asyncio.Semaphore(self.capacity)

    async def serve(self, kind: str) -> None:
        async with self._workers:
            await asyncio.sleep(self.seconds[kind])
        self.served[kind] = self.served.get(kind, 0) + 1


async def ask(limiter: Limiter, server: Server, kind: str) -> None:
    async with limiter.slot():
        begun = now()
        await server.serve(kind)
        limiter.answered(kind, now() - begun)


async def press(limiter: Limiter, server: Server, kind: str, *, clients: int, seconds: float) -> None:
    """So many clients ask, each again as soon as it has its answer."""

    async def client() -> None:
        while True:
            await ask(limiter, server, kind)

    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(client())
    except TimeoutError:
        pass


class TestFollowingTheServer:
    async def test_it_grows_to_all_it_may_when_the_server_can_take_it(self) -> None:
        limiter, server = Limiter(), Server(1000, {"get": 0.05})
        await press(limiter, server, "get", clients=200, seconds=5)
        assert limiter.limit == 64

    async def test_it_settles_where_the_server_begins_to_queue(self) -> None:
        """4 workers of 20 ms: a limit of n makes each answer take n/4 x 20 ms; 0.2 s of delay is at about 44."""
        limiter, server = Limiter(most=500), Server(4, {"apply": 0.02})
        await press(limiter, server, "apply", clients=400, seconds=30)
        assert 30 <= limiter.limit <= 70
        assert server.served["apply"] >= 0.95 * 30 / 0.02 * 4, "the server was never idle"

    async def test_it_shrinks_when_the_server_slows_down(self) -> None:
        limiter, server = Limiter(), Server(16, {"apply": 0.03})
        await press(limiter, server, "apply", clients=100, seconds=5)
        before = limiter.limit
        server.seconds["apply"] = 0.5
        await press(limiter, server, "apply", clients=100, seconds=20)
        assert before == 64
        assert limiter.limit <= 10

    async def test_it_grows_again_when_the_server_recovers(self) -> None:
        limiter, server = Limiter(), Server(16, {"apply": 0.03})
        await press(limiter, server, "apply", clients=100, seconds=5)
        server.seconds["apply"] = 0.5
        await press(limiter, server, "apply", clients=100, seconds=20)
        server.seconds["apply"] = 0.03
        await press(limiter, server, "apply", clients=100, seconds=5)
        assert limiter.limit == 64

    async def test_a_server_that_stays_slow_becomes_the_new_normal(self) -> None:
        limiter, server = Limiter(), Server(1000, {"apply": 0.05})
        await press(limiter, server, "apply", clients=100, seconds=5)
        server.seconds["apply"] = 0.5
        await press(limiter, server, "apply", clients=70, seconds=150)
        assert limiter.limit == 64

    async def test_it_does_not_grow_while_nobody_needs_it(self) -> None:
        limiter, server = Limiter(start=8), Server(1000, {"get": 0.05})
        await press(limiter, server, "get", clients=3, seconds=10)
        assert limiter.limit == 8

    async def test_it_never_falls_below_the_least(self) -> None:
        limiter = Limiter(start=8, least=4)
        for _ in range(10):
            limiter.refused()
        assert limiter.limit == 4

    async def test_more_never_run_at_once_than_it_says(self) -> None:
        limiter, server = Limiter(most=16), Server(1000, {"get": 0.05})
        most = 0

        async def look() -> None:
            nonlocal most
            while True:
                most = max(most, limiter.running)
                await asyncio.sleep(0.001)

        looking = asyncio.create_task(look())
        await press(limiter, server, "get", clients=100, seconds=1)
        looking.cancel()
        assert most == 16


class TestASlowKind:
    """Writes that pass a webhook take a second by nature: that is no sign of overload."""

    async def test_does_not_throttle_reads(self) -> None:
        limiter, server = Limiter(), Server(1000, {"apply": 1.0, "get": 0.05})
        async with asyncio.TaskGroup() as group:
            group.create_task(press(limiter, server, "apply", clients=20, seconds=20))
            group.create_task(press(limiter, server, "get", clients=40, seconds=20))
        assert limiter.limit >= 60, "as many as there are clients"
        assert server.served["get"] > 0.8 * 40 * 20 / 0.05

    @pytest.mark.parametrize(("writers", "readers"), [(20, 40), (55, 5)], ids=["few of them", "most of them"])
    async def test_does_not_throttle_reads_when_its_time_varies(self, writers: int, readers: int) -> None:
        limiter, server = Limiter(), Server(1000, {"apply": 0.1, "get": 0.05})

        async def waver() -> None:
            for number in range(200):
                server.seconds["apply"] = (0.1, 3.0, 0.5, 2.0)[number % 4]
                await asyncio.sleep(0.1)
                if number % 10 == 0:
                    limiter.answered("get leases", 0.01)  # the renewals of our lease, which need no slot

        async with asyncio.TaskGroup() as group:
            group.create_task(waver())
            group.create_task(press(limiter, server, "apply", clients=writers, seconds=20))
            group.create_task(press(limiter, server, "get", clients=readers, seconds=20))
        assert limiter.limit >= 60, "as many as there are clients"
        assert server.served["get"] > 0.4 * readers * 20 / 0.05

    async def test_does_not_hide_that_everything_is_slow(self) -> None:
        """8 workers of 75 ms on average: 0.2 s of delay is at about 30."""
        limiter, server = Limiter(most=500), Server(8, {"apply": 0.1, "get": 0.05})
        limits: list[int] = []

        async def look() -> None:
            await asyncio.sleep(10)
            for _ in range(100):
                limits.append(limiter.limit)
                await asyncio.sleep(0.1)

        async with asyncio.TaskGroup() as group:
            group.create_task(look())
            group.create_task(press(limiter, server, "apply", clients=100, seconds=20))
            group.create_task(press(limiter, server, "get", clients=100, seconds=20))
        assert 20 <= sum(limits) / len(limits) <= 40

    async def test_is_not_starved_by_reads(self) -> None:
        limiter, server = Limiter(most=8), Server(1000, {"apply": 1.0, "get": 0.05})
        async with asyncio.TaskGroup() as group:
            group.create_task(press(limiter, server, "get", clients=100, seconds=20))
            group.create_task(press(limiter, server, "apply", clients=2, seconds=20))
        assert server.served["apply"] >= 20, "each waits for its turn, 100 reads long, and no longer"


class TestRefusals:
    async def test_a_refusal_halves_the_limit(self) -> None:
        limiter = Limiter(start=32)
        limiter.refused()
        assert limiter.limit == 16

    async def test_nobody_gets_in_until_the_server_wants_to_be_asked_again(self) -> None:
        limiter, entered = Limiter(), list[float]()

        async def enter() -> None:
            async with limiter.slot():
                entered.append(now())

        await enter()
        limiter.refused(10)
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(enter())
        assert entered == [0, 10, 10, 10]

    async def test_the_longest_wish_counts(self) -> None:
        limiter = Limiter()
        limiter.refused(10)
        limiter.refused(1)
        async with limiter.slot():
            assert now() == 10
        limiter.refused(5)
        async with limiter.slot():
            assert now() == 15

    async def test_without_a_wish_the_door_stays_open(self) -> None:
        limiter = Limiter()
        limiter.refused()
        async with limiter.slot():
            assert now() == 0


class TestWaiting:
    async def test_first_come_first_served(self) -> None:
        limiter, order = Limiter(start=1, least=1, most=1), list[int]()

        async def enter(number: int) -> None:
            async with limiter.slot():
                order.append(number)
                await asyncio.sleep(1)

        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(enter(number))
        assert order == [0, 1, 2, 3, 4]

    async def test_who_is_cancelled_leaves_nothing_behind(self) -> None:
        limiter = Limiter(start=1, least=1, most=1)

        async def enter() -> None:
            async with limiter.slot():
                await asyncio.sleep(1)

        tasks = [asyncio.create_task(enter()) for _ in range(6)]
        await asyncio.sleep(0.5)
        assert (limiter.running, limiter.waiting) == (1, 5)
        for task in tasks[1:5]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (limiter.running, limiter.waiting) == (0, 0)
        assert now() == 2, "the last one had its turn"

    async def test_who_is_cancelled_in_the_moment_of_its_turn_passes_it_on(self) -> None:
        limiter = Limiter(start=1, least=1, most=1)
        done: list[str] = []

        async def enter(name: str) -> None:
            async with limiter.slot():
                done.append(name)

        async with limiter.slot():
            unlucky, lucky = asyncio.create_task(enter("unlucky")), asyncio.create_task(enter("lucky"))
            await asyncio.sleep(0)
        unlucky.cancel()  # its turn has come, but it has not noticed yet
        await asyncio.gather(unlucky, lucky, return_exceptions=True)
        assert done == ["lucky"]
        assert (limiter.running, limiter.waiting) == (0, 0)

    async def test_who_fails_gives_its_slot_back(self) -> None:
        limiter = Limiter(start=1, least=1, most=1)
        with pytest.raises(ValueError, match="mine"):
            async with limiter.slot():
                raise ValueError("mine")
        async with limiter.slot():
            assert limiter.running == 1

    async def test_patience_ends(self) -> None:
        limiter = Limiter(start=1, least=1, most=1)
        async with limiter.slot():
            with pytest.raises(TimedOut) as caught:
                async with limiter.slot():
                    pass
            assert now() == 300
            assert str(caught.value) == (
                "no slot was free for 300s: the API server answers too slowly (1 requests under way)"
            )
            assert limiter.waiting == 0
        async with limiter.slot():
            assert limiter.running == 1
