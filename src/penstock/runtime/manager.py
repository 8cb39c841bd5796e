"""The manager: runs the caches, services and controllers of one process, in order, and stops them in order.

Services and caches start first. When the caches are complete and the lease is held (if there is one), the controllers
start. SIGTERM or SIGINT stops it: nothing new begins, what runs may finish within the grace period, what is left is
cancelled, and the services go last. A second signal ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from penstock.errors import PenstockError
from penstock.kube.cache import wait_synced
from penstock.runtime.fence import Fence
from penstock.runtime.health import Endpoints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence

    from penstock.kube.cache import WatchCache
    from penstock.runtime.controller import Controller
    from penstock.runtime.health import Address
    from penstock.runtime.metrics import Metrics

GRACE = 30.0
"""Seconds that running reconciles get when the process is asked to stop."""
SYNC = 120.0
"""Seconds for the first complete reading of all caches."""
LAST_RESORT = 10.0
"""Seconds after the grace period at which the process ends even if something ignores that it was cancelled."""

log = structlog.get_logger()


class Lead(Protocol):
    """What the manager wants of a lease; `penstock.kube.Lease` has it."""

    name: str

    async def acquire(self) -> None: ...

    async def hold(self) -> None:
        """Return when the lease is lost."""

    async def release(self) -> None: ...


class LeaseLost(PenstockError):
    """Somebody else may lead now, so this process must end."""


class ServiceEnded(PenstockError):
    """Something that should run as long as the process has ended by itself."""


class Manager:
    """Everything that runs in one controller process."""

    def __init__(
        self,
        *,
        metrics: Metrics,
        fence: Fence | None = None,
        lead: Lead | None = None,
        grace: float = GRACE,
        sync: float = SYNC,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        """`fence` is closed when the lease is lost: give it to the controllers."""
        self.fence = fence or Fence()
        self._metrics = metrics
        self._lead = lead
        self._grace, self._sync = grace, sync
        self._leave = leave
        self._controllers: list[Controller] = []
        self._caches: list[WatchCache[Any]] = []
        self._services: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = []
        self._addresses: list[tuple[Endpoints, Address]] = []
        self.waits_for = "the start"
        """What has to happen before the process is ready; empty once it is."""
        self._stop = asyncio.Event()
        self._last_resort: asyncio.TimerHandle | None = None

    def add_cache(self, cache: WatchCache[Any]) -> None:
        """Run a cache, and start no controller before it is complete."""
        self._caches.append(cache)
        self.add_service(f"the cache of {cache.resource}", cache.run)

    def add_controller(self, controller: Controller) -> None:
        self._controllers.append(controller)

    def add_service(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something from the start until the controllers have stopped; it must not end by itself."""
        self._services.append((name, run))

    def serve(self, *, health: Address | None = None, metrics: Address | None = None) -> None:
        """Answer /healthz and /readyz, and /metrics, at these addresses."""
        if health is not None:
            checks = Endpoints()
            checks.check("/healthz", lambda: "")
            checks.check("/readyz", lambda: f"waiting for {self.waits_for}" if self.waits_for else "")
            self._addresses.append((checks, health))
        if metrics is not None:
            figures = Endpoints()
            figures.metrics(self._metrics)
            self._addresses.append((figures, metrics))

    def stop(self) -> None:
        """Begin the graceful stop, as the first signal does."""
        self._stop.set()

    async def run(self) -> int:
        """Run until stopped; the answer is the exit code: 0 after a graceful stop, 1 when something failed."""
        try:
            async with AsyncExitStack() as stack:
                stack.enter_context(self._signals())
                for endpoints, address in self._addresses:
                    served = await stack.enter_async_context(endpoints.serving(address))
                    log.info("listening", address=str(served))
                return 0 if await self._run_services() else 1
        except Exception as error:
            leaves = _leaves(error)
            expected = all(isinstance(leaf, PenstockError) for leaf in leaves)
            told = "; ".join(str(leaf) or type(leaf).__name__ for leaf in leaves)
            log.error("stopped", error=told, exc_info=None if expected else error)  # noqa: TRY400
            return 1
        finally:
            if self._last_resort is not None:
                self._last_resort.cancel()

    async def _run_services(self) -> bool:
        async with asyncio.TaskGroup() as group:
            services = [group.create_task(_lasting(name, run), name=name) for name, run in self._services]
            try:
                return await self._run_controllers()
            finally:
                for task in services:
                    task.cancel()

    async def _run_controllers(self) -> bool:
        self.waits_for = "the caches"
        if not await self._unless_stopped(wait_synced(self._caches, within=self._sync)):
            return True
        self.waits_for = ""
        if self._lead is None:
            return await self._work()
        if not await self._unless_stopped(self._lead.acquire()):
            return True
        leads = self._metrics.leads.labels(self._lead.name)
        leads.set(1)
        try:
            return await self._work(self._lead)
        finally:
            leads.set(0)
            if not self.fence.why:
                await self._lead.release()

    async def _work(self, lead: Lead | None = None) -> bool:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(controller.run(), name=controller.name) for controller in self._controllers]
            if lead is not None:
                tasks.append(group.create_task(self._hold(lead), name="lease"))
            await self._stop.wait()
            clean = await self._drain()
            for task in tasks:
                task.cancel()
        return clean

    async def _hold(self, lead: Lead) -> None:
        await lead.hold()
        why = f"the lease {lead.name} is lost"
        self.fence.close(why)  # before anything else happens
        raise LeaseLost(why)

    async def _drain(self) -> bool:
        """Let running reconciles finish; False when some had to be cut off."""
        log.info("stopping", grace=self._grace)
        after = self._grace + LAST_RESORT
        self._last_resort = asyncio.get_running_loop().call_later(after, self._leave, 1)
        try:
            async with asyncio.timeout(self._grace):
                await asyncio.gather(*(controller.drain() for controller in self._controllers))
        except TimeoutError:
            late = [
                str(run.key) for controller in self._controllers for run in controller.queue.runs if not run.waits_for
            ]
            log.warning("some reconciles did not end in time", runs=late)
            return False
        return True

    async def _unless_stopped(self, waiting: Awaitable[None]) -> bool:
        """Wait for something, or for the stop; True when it was the former."""
        first = asyncio.ensure_future(waiting)
        second = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
            if first.done():
                first.result()
            return first.done()
        finally:
            for task in (first, second):
                task.cancel()
            await asyncio.gather(first, second, return_exceptions=True)

    @contextmanager
    def _signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._signalled)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _signalled(self) -> None:
        if self._stop.is_set():
            self._leave(1)
        self.stop()


async def _lasting(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await run()
    raise ServiceEnded(f"{name} has ended; the process cannot go on without it")


def _leaves(error: BaseException) -> Sequence[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
