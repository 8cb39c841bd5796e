"""The `git` program, run so that nothing it reads can make it do more than it was told.

It sees no configuration but ours, no hooks, no helpers, no terminal and no other protocol. Secrets come to it in its
environment or in memory files, never in its arguments, which everybody on the machine can read. Each call is a thread
of its own pool: starting a process takes milliseconds in which the event loop must go on, and a server that hangs
must not keep threads from others.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from typing import IO, TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

from penstock.sources.git.errors import GitFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32
_LARGEST_FILE = 4 << 30  # bytes of a pack
_LARGEST_OUTPUT = 64 << 20
_BUFFER = 256 << 10  # bytes
_KEPT_WORDS = 16 << 10
_ALWAYS = {
    "core.fsync": "none",  # a mirror is a cache, and a damaged one begins anew
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.askPass": "",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",  # one pack, not ten thousand small files
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1",  # bytes a second
    "http.lowSpeedTime": "60",  # seconds: what a killed process left behind ends, too
    "http.sslVersion": "tlsv1.2",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "protocol.version": "2",
    "submodule.recurse": "false",
    "transfer.bundleURI": "false",
}


class ProgramFailed(Exception):
    """The program said no; its words may be those of a stranger."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


@dataclass(frozen=True, slots=True)
class Setting:
    """With what a call is made: a repository, configuration, further environment and open files."""

    repository: Path | None = None
    configuration: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    descriptors: tuple[int, ...] = ()
    protocol: str = ""
    """The one way to reach another machine; none when empty."""

    def variables(self) -> dict[str, str]:
        """The whole environment of the program."""
        found = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "false",
            "GIT_ALLOW_PROTOCOL": self.protocol or "none",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_FLUSH": "1",
            **self.environment,
        }
        if self.repository is not None:
            found["GIT_DIR"] = str(self.repository)
        settings = {**_ALWAYS, **self.configuration}
        found["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (key, value) in enumerate(settings.items()):
            found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"] = key, value
        return found


class Job:
    """The processes of one piece of work; they end with it, and with whoever waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False

    @contextmanager
    def started(
        self, arguments: Sequence[str], setting: Setting, *, stdin: int | IO[bytes] | None = None
    ) -> Generator[subprocess.Popen[bytes]]:
        """A running `git` with pipes; whatever becomes of us, it does not outlive the block."""
        with self._lock:
            if self._is_stopped:
                raise ProgramFailed("it was stopped")
            process = _started(arguments, setting, subprocess.DEVNULL if stdin is None else stdin)
            self._running.add(process)
        try:
            _limit(process.pid)
            with process:
                try:
                    yield process
                finally:
                    _end(process)
        finally:
            with self._lock:
                self._running.discard(process)

    def output(
        self,
        arguments: Sequence[str],
        setting: Setting,
        *,
        stdin: int | IO[bytes] | None = None,
        largest: int = _LARGEST_OUTPUT,
    ) -> bytes:
        """What a call prints; ProgramFailed with its last words otherwise."""
        with self.started(arguments, setting, stdin=stdin) as process, listening(process) as words:
            printed = output_of(process).read(largest + 1)
            if len(printed) > largest:
                raise ProgramFailed(f"its answer is larger than {largest >> 20} MiB")
            code = process.wait()
        if code != 0:
            raise ProgramFailed(words())
        return printed

    def stop(self) -> None:
        """End everything now; what is started later ends at once."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                _end(process)


class Program:
    """Does work with `git` off the event loop."""

    def __init__(self, *, threads: int = _THREADS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="git")

    async def do(self, work: Callable[Concatenate[Job, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a function that gets a Job; when we are cancelled, its processes end and it is awaited."""
        job = Job()
        future = asyncio.get_running_loop().run_in_executor(self._executor, lambda: work(job, *args, **kwargs))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            job.stop()
            with suppress(Exception):
                await future
            raise

    async def output(self, arguments: Sequence[str], setting: Setting) -> bytes:
        """What one call prints."""
        return await self.do(Job.output, arguments, setting)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def _started(arguments: Sequence[str], setting: Setting, stdin: int | IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            ["git", *arguments],  # noqa: S607 -- found on the PATH of this process, as everywhere
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=setting.variables(),
            pass_fds=setting.descriptors,
            start_new_session=True,  # so that its helpers can be ended with it
            bufsize=_BUFFER,
            cwd="/",
        )
    except FileNotFoundError:
        raise GitFailed("there is no program 'git' on this machine: install it") from None


@contextmanager
def listening(process: subprocess.Popen[bytes]) -> Generator[Callable[[], str]]:
    """Read what the program complains about, so that it never waits for us; keep only the beginning."""
    heard = bytearray()

    def listen() -> None:
        source = cast(BufferedReader, process.stderr)
        while chunk := source.read1(_KEPT_WORDS):
            heard.extend(chunk[: max(0, _KEPT_WORDS - len(heard))])

    thread = threading.Thread(target=listen, name="git-words")
    thread.start()

    def words() -> str:
        thread.join()
        return heard.decode("utf-8", "replace")

    try:
        yield words
    finally:
        _end(process)
        thread.join()


def output_of(process: subprocess.Popen[bytes]) -> BufferedReader:
    """The pipe from which a program is read, made wide: else the two take turns every few files."""
    with suppress(OSError):
        fcntl.fcntl(cast(BufferedReader, process.stdout), fcntl.F_SETPIPE_SZ, 2 * _BUFFER)
    return cast(BufferedReader, process.stdout)


def _limit(pid: int) -> None:
    """Bound what a hostile pack can write, and keep secrets out of core dumps."""
    with suppress(OSError):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and its helpers, which are a group of their own."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
