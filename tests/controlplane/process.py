"""One program of the control plane: started, asked whether it is ready, stopped, killed, started again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from tests.controlplane import tether

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Probe = Callable[[], Awaitable[bool]]
"""Tells whether a program answers."""

READY_WITHIN = 30.0
STOP_WITHIN = 20.0
PROBE_EVERY = 0.02
TAIL_LINES = 15


class ProcessError(PenstockError):
    """A program of the control plane ended, or did not become ready; the last lines of its log are in it."""

    def __init__(self, sentence: str, log: Path) -> None:
        super().__init__(sentence)
        self.log = log


class Process:
    """A program that can be started again on the same port and data, however it ended.

    Its log is one file over all starts. It never outlives the process that started it.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        ready: Probe,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`ready` tells whether the program answers; `before` runs ahead of every start."""
        self.name = name
        self.log = log
        self._command = tuple(command)
        self._ready = ready
        self._before = before
        self._process: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """The process id of the running program."""
        if self._process is None or self._process.returncode is not None:
            raise ProcessError(f"{self.name} does not run", self.log)
        return self._process.pid

    async def start(self) -> None:
        """Start the program and wait until it answers."""
        await self.launch()
        await self.ready()

    async def launch(self) -> None:
        """Start the program without waiting for it; `ready` is the other half."""
        if self.running:
            raise ProcessError(f"{self.name} runs already", self.log)
        if self._before is not None:
            await self._before()
        file = await asyncio.to_thread(self.log.open, "ab")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *tether.command(self._command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which then end the programs in order
            )
        finally:
            file.close()

    async def ready(self) -> None:
        """Wait until the program answers; `ProcessError` when it ends first or takes too long."""
        try:
            async with asyncio.timeout(READY_WITHIN):
                while not await self._ready():
                    await self._must_run()
                    await asyncio.sleep(PROBE_EVERY)
        except TimeoutError:
            raise await self._failure(f"was not ready after {READY_WITHIN:.0f} s") from None
        await self._must_run()

    async def stop(self) -> None:
        """Ask the program to end and wait for it; one that does not listen is killed."""
        if not self._signal(signal.SIGTERM):
            return
        try:
            async with asyncio.timeout(STOP_WITHIN):
                await self._ended()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End the program at once, as `kill -9` does; one that does not run is left alone."""
        self._signal(signal.SIGKILL)
        await self._ended()

    def _signal(self, number: signal.Signals) -> bool:
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.send_signal(number)
        return True

    async def _ended(self) -> None:
        if self._process is not None:
            await self._process.wait()

    async def _must_run(self) -> None:
        if self._process is None or self._process.returncode is None:
            return
        raise await self._failure(f"ended with exit code {self._process.returncode}")

    async def _failure(self, what: str) -> ProcessError:
        """What happened, with the end of the log, which is where the reason stands."""
        text = await asyncio.to_thread(self.log.read_text, errors="replace")
        tail = "\n".join(f"  {line}" for line in text.splitlines()[-TAIL_LINES:])
        return ProcessError(f"{self.name} {what}; the end of its log {self.log}:\n{tail}", self.log)
