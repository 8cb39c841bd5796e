"""A pool of worker processes for work that is long, greedy or fed by strangers.

`await pool.run(function, argument, timeout=30, memory=2**29)` runs a module-level function in another process, and
bounds its time and memory. Arguments are pickled on the way there. The answer comes back as MessagePack and is
converted to what the function says it returns: nothing that a worker sends is ever executed here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar, TypeVarTuple, get_type_hints

import msgspec

from penstock.errors import PenstockError
from penstock.runtime.worker import ANSWER, FAILURE, OUT_OF_MEMORY, REQUEST, Failure

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

START = 30.0
"""Seconds for a worker process to come up."""
FAREWELL = 2.0
"""Seconds for a worker process to end by itself."""
LARGEST_ANSWER = 2**28
_READ_BUFFER = 2**20
_SIGNALS = {int(one): one.name for one in signal.Signals}


class WorkerError(PenstockError):
    """A function failed in a worker process in a way that is none of our own errors."""


class WorkerTimeout(WorkerError):
    """The function took too long; its worker was killed."""


class WorkerMemory(WorkerError):
    """The function wanted more memory than it was given."""


class WorkerDied(WorkerError):
    """The worker process ended in the middle of the call."""


class WorkerPool:
    """At most `size` worker processes, started when needed, reused, and ended after `idle` seconds without work.

    Use it as an async context manager; at its end all workers are gone. Who waits for a worker is served in the
    order of arrival. A caller that is cancelled takes its worker with it: nobody waits for an answer that nobody
    wants.
    """

    def __init__(
        self,
        *,
        size: int | None = None,
        timeout: float = 60.0,
        memory: int = 2**30,
        idle: float = 60.0,
        observe: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`timeout` and `memory` are what a call gets that does not say; `observe` hears each call's result."""
        self._size = size or os.cpu_count() or 1
        self._timeout, self._memory, self._idle_seconds = timeout, memory, idle
        self._observe = observe
        self._turns = asyncio.Semaphore(self._size)
        self._idle: dict[_Worker, asyncio.TimerHandle] = {}
        self._busy: set[_Worker] = set()
        self._ending: set[_Worker] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        for worker in list(self._idle):
            self._retire(worker)
        for worker in self._busy:
            worker.kill()
        await asyncio.gather(*(worker.ended() for worker in self._ending | self._busy))

    @property
    def busy(self) -> int:
        """How many workers have a call."""
        return len(self._busy)

    @property
    def idle(self) -> int:
        """How many workers wait for one."""
        return len(self._idle)

    async def run(
        self,
        function: Callable[[*Ts], R],
        *args: *Ts,
        timeout: float | None = None,
        memory: int | None = None,
    ) -> R:
        """Call the function in a worker process and wait for what it returns.

        `timeout` is in seconds and counts from the moment that a worker is free and running; `memory` is in
        bytes on top of what an idle worker has. Our own errors come back as what they are, with their sentence
        and plain attributes; anything else is a WorkerError.
        """
        call = _Call(function, args, timeout or self._timeout, memory or self._memory)
        result = "cancelled"
        try:
            value: R = call.decode(await self._answer(call))
            result = "ok"
        except PenstockError as error:
            result = _RESULTS.get(type(error), "error")
            raise
        finally:
            self._observe(result)
        return value

    async def _answer(self, call: _Call) -> bytes:
        async with self._turns:
            if self._closed:
                raise WorkerError(f"{call.name} was not called: the worker pool is closed")
            worker = self._waiting() or _Worker()
            self._busy.add(worker)
            keep = False
            try:
                answer = await worker.call(call)
                keep = answer[:1] != OUT_OF_MEMORY
                return answer
            finally:
                self._busy.discard(worker)
                self._put_away(worker, keep=keep)

    def _waiting(self) -> _Worker | None:
        """The worker that was used last: the others may come to the end of their time."""
        while self._idle:
            worker, timer = self._idle.popitem()
            timer.cancel()
            if worker.alive:
                return worker
        return None

    def _put_away(self, worker: _Worker, *, keep: bool) -> None:
        if keep and not self._closed:
            self._idle[worker] = asyncio.get_running_loop().call_later(self._idle_seconds, self._retire, worker)
            return
        worker.kill()
        self._note_ending(worker)

    def _retire(self, worker: _Worker) -> None:
        self._idle.pop(worker).cancel()
        worker.dismiss()
        self._note_ending(worker)

    def _note_ending(self, worker: _Worker) -> None:
        self._ending = {one for one in self._ending if one.alive} | {worker}


class _Call:
    """One call, packed for the way."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], timeout: float, memory: int) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.timeout, self.memory = timeout, memory
        self._decoder = _decoder(function)
        payload = pickle.dumps((function, args), protocol=pickle.HIGHEST_PROTOCOL)
        self.request = REQUEST.pack(len(payload), memory) + payload

    def decode(self, answer: bytes) -> Any:
        kind, body = answer[:1], answer[1:]
        if kind == OUT_OF_MEMORY:
            raise WorkerMemory(f"{self.name} needs more than {self.memory >> 20} MiB of memory")
        try:
            if kind != FAILURE:
                return self._decoder.decode(body)
            failure = msgspec.msgpack.decode(body, type=Failure)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise WorkerError(f"{self.name} answered with something else than it promises: {error}") from None
        raise _raised(failure, self.name)


class _Worker:
    """One worker process, started by its first call."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def call(self, call: _Call) -> bytes:
        """The raw answer. Whatever is raised here leaves the worker unusable."""
        await self._start()
        try:
            async with asyncio.timeout(call.timeout):
                return await self._exchange(call.request)
        except TimeoutError:
            raise WorkerTimeout(f"{call.name} took longer than {call.timeout:g}s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise WorkerDied(f"{call.name} ended its worker process: {await self._last_word()}") from None

    def kill(self) -> None:
        if self._process is not None and self.alive:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def dismiss(self) -> None:
        """Let an idle worker end by itself."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def ended(self) -> None:
        """Wait until the process is gone; one that does not want to go is killed."""
        if self._process is None:
            return
        try:
            async with asyncio.timeout(FAREWELL):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()

    async def _start(self) -> None:
        if self._process is not None:
            return
        path = pickle.dumps(sys.path)
        try:
            async with asyncio.timeout(START):
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "penstock.runtime.worker"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=_READ_BUFFER,
                )
                await self._exchange(REQUEST.pack(len(path), 0) + path)
        except TimeoutError:
            raise WorkerDied(f"a worker process did not start within {START:g}s") from None
        except (asyncio.IncompleteReadError, OSError) as error:
            raise WorkerDied(f"a worker process cannot be started: {error}") from None

    async def _exchange(self, request: bytes) -> bytes:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise BrokenPipeError
        process.stdin.write(request)
        await process.stdin.drain()
        (length,) = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
        if not 0 < length <= LARGEST_ANSWER:
            raise WorkerError(f"a worker answered with {length >> 20} MiB; {LARGEST_ANSWER >> 20} MiB is the most")
        return await process.stdout.readexactly(length)

    async def _last_word(self) -> str:
        await self.ended()
        code = self._process.returncode if self._process else None
        if code is None or code >= 0:
            return f"exit code {code}"
        name = _SIGNALS.get(-code, f"signal {-code}")
        hint = "; it may have run out of memory" if name in {"SIGKILL", "SIGABRT", "SIGSEGV"} else ""
        return f"killed by {name}{hint}"


@lru_cache(maxsize=256)
def _decoder(function: Callable[..., Any]) -> msgspec.msgpack.Decoder[Any]:
    """Reads what the function says it returns."""
    return msgspec.msgpack.Decoder(get_type_hints(function, include_extras=True)["return"])


def _raised(failure: Failure, name: str) -> PenstockError:
    known = _our_errors()
    for qualified in failure.classes:
        if qualified in known:
            return _rebuilt(known[qualified], failure)
    error = WorkerError(f"{name} failed: {failure.name}: {failure.message}")
    error.add_note(f"in the worker process:\n{failure.trace}")
    return error


def _rebuilt(kind: type[PenstockError], failure: Failure) -> PenstockError:
    """An error of our own from its parts; its constructor may want more than a sentence and is not called."""
    error = kind.__new__(kind, failure.message)
    error.__dict__.update({key: value for key, value in failure.facts.items() if not key.startswith("_")})
    error.add_note(f"in the worker process:\n{failure.trace}")
    return error


def _our_errors() -> dict[str, type[PenstockError]]:
    """Our error classes that this process has loaded; nobody here can wait for any other. Nothing is imported."""
    found: dict[str, type[PenstockError]] = {}
    waiting: list[type[PenstockError]] = [PenstockError]
    while waiting:
        one = waiting.pop()
        waiting.extend(one.__subclasses__())
        if one.__module__.partition(".")[0] == "penstock":
            found[f"{one.__module__}.{one.__qualname__}"] = one
    return found


_RESULTS: dict[type[PenstockError], str] = {
    WorkerTimeout: "timeout",
    WorkerMemory: "memory",
    WorkerDied: "died",
}
