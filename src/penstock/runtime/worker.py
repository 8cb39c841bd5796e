"""The inside of a worker process: reads calls from standard input, answers on standard output.

Started by `penstock.runtime.workers` as `python -m penstock.runtime.worker`. It imports next to nothing by itself, so
that it starts fast, and it never outlives its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import struct
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Generator

REQUEST = struct.Struct(">QQ")
"""Length of the pickled call that follows, and the bytes of memory that it may take (0: no limit)."""
ANSWER = struct.Struct(">Q")
"""Length of the answer that follows: one byte for its kind, then MessagePack."""

READY, VALUE, FAILURE, OUT_OF_MEMORY = b"r", b"=", b"!", b"m"

LONGEST_MESSAGE = 64 * 1024
_NICENESS = 5
_PR_SET_PDEATHSIG = 1


class Failure(msgspec.Struct, frozen=True):
    """What a function raised, without any object of the worker in it."""

    classes: list[str]
    """Our own error classes it is an instance of, the most special first; empty for a foreign exception."""
    name: str
    message: str
    facts: dict[str, str | int | float | bool | None]
    """The plain attributes of an error of ours."""
    trace: str


def main() -> None:
    """Serve calls until standard input ends."""
    calls, answers = _take_pipes()
    _end_with_parent(calls)
    _be_modest()
    with contextlib.suppress(EOFError, BrokenPipeError):
        sys.path[:] = pickle.loads(_frame(calls)[1])  # noqa: S301 - from our own parent
        _send(answers, READY)
        while True:
            memory, call = _frame(calls)
            _send(answers, _answer(call, memory))


def _answer(call: bytes, memory: int) -> bytes:
    try:
        with _limited(memory):
            function, args = pickle.loads(call)  # noqa: S301 - from our own parent
            return VALUE + msgspec.msgpack.encode(function(*args))
    except MemoryError:
        return OUT_OF_MEMORY
    except BaseException as error:  # noqa: BLE001 - whatever it was, the caller must hear of it
        return FAILURE + msgspec.msgpack.encode(_failure(error))


def _failure(error: BaseException) -> Failure:
    ours = isinstance(error, PenstockError)
    names = [f"{one.__module__}.{one.__qualname__}" for one in type(error).__mro__ if issubclass(one, PenstockError)]
    return Failure(
        classes=names if ours else [],
        name=type(error).__name__,
        message=str(error)[:LONGEST_MESSAGE],
        facts={name: value for name, value in vars(error).items() if _is_plain(value)} if ours else {},
        trace="".join(traceback.format_tb(error.__traceback__))[-LONGEST_MESSAGE:],
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return value is None or isinstance(value, float) or (isinstance(value, str) and len(value) <= LONGEST_MESSAGE)


@contextlib.contextmanager
def _limited(memory: int) -> Generator[None]:
    """Let the address space grow by `memory` bytes at most; where the system cannot tell, by any amount."""
    size = _address_space()
    if not memory or not size:
        yield
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size + memory if hard == resource.RLIM_INFINITY else min(size + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib is not imported here
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to ourselves: what a function reads or prints must not end up between the answers."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return calls, answers


def _end_with_parent(calls: BinaryIO) -> None:
    """Die when the parent does, also in the middle of a call, also when it was killed."""
    if sys.platform == "linux":
        # Works even while a C extension holds the interpreter.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    closed = select.poll()
    closed.register(calls.fileno(), 0)  # wakes for a hang-up only

    def watch() -> None:
        closed.poll()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _be_modest() -> None:
    """Give way to the event loop, and to the kernel when memory is short; leave no secrets in a core file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the parent to handle
    os.nice(_NICENESS)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("500")
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _frame(calls: BinaryIO) -> tuple[int, bytes]:
    length, memory = REQUEST.unpack(_exactly(calls, REQUEST.size))
    return memory, _exactly(calls, length)


def _exactly(calls: BinaryIO, length: int) -> bytes:
    data = calls.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _send(answers: BinaryIO, payload: bytes) -> None:
    left = memoryview(ANSWER.pack(len(payload)) + payload)
    while left:
        left = left[answers.write(left) :]


if __name__ == "__main__":
    main()
