"""A program in a terminal of its own: a real one, of which the test holds the other end.

    async with terminal("penstock", "get", "ks", "-w") as shown:
        await shown.until("READY")
        shown.type("q")

Waiting is on what the program prints, never on time.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import termios
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

ROWS, COLUMNS = 40, 200


class Terminal:
    """What was printed so far, and the keyboard."""

    def __init__(self, keyboard: int, process: asyncio.subprocess.Process) -> None:
        self._keyboard, self._process = keyboard, process
        self._bytes = b""
        self._seen = 0
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def text(self) -> str:
        """All that was printed, escape codes included, with plain line breaks."""
        return self._bytes.decode(errors="replace").replace("\r\n", "\n")

    async def until(self, words: str, *, within: float = 30.0) -> str:
        """Wait until these words are printed, behind those that were waited for before; the answer is up to them."""
        try:
            async with asyncio.timeout(within):
                while words not in self.text[self._seen :]:
                    if self._closed:
                        raise AssertionError(f"the program ended without {words!r}; it printed {self.text!r}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"waited for {words!r}; there is {self.text!r}") from None
        begun, self._seen = self._seen, self.text.index(words, self._seen) + len(words)
        return self.text[begun : self._seen]

    def type(self, keys: str) -> None:
        os.write(self._keyboard, keys.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    async def ended(self, *, within: float = 30.0) -> int:
        """The exit code, when the program ends."""
        async with asyncio.timeout(within):
            code = await self._process.wait()
            while not self._closed:
                self._changed.clear()
                await self._changed.wait()
        return code

    def _read(self) -> None:
        try:
            chunk = os.read(self._keyboard, 65536)
        except OSError:  # how Linux says that nobody holds the other end any more
            chunk = b""
        if not chunk:
            self._closed = True
            asyncio.get_running_loop().remove_reader(self._keyboard)
        self._bytes += chunk
        self._changed.set()


@asynccontextmanager
async def terminal(*command: str, environment: Mapping[str, str] | None = None) -> AsyncGenerator[Terminal]:
    """Run a program in a terminal; it is killed if it has not ended with the body."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Tests that were started in the background ignore Ctrl-C, and would hand that down.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    keyboard, screen = os.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    variables = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=screen,
            stdout=screen,
            stderr=screen,
            env={**variables, "TERM": "xterm-256color", **(environment or {})},
            start_new_session=True,
        )
    finally:
        os.close(screen)
    shown = Terminal(keyboard, process)
    loop = asyncio.get_running_loop()
    loop.add_reader(keyboard, shown._read)
    try:
        yield shown
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        loop.remove_reader(keyboard)
        os.close(keyboard)
