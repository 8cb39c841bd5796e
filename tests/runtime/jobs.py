"""Functions for worker processes to run."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

from penstock.errors import PenstockError, UsageError


@dataclass(frozen=True)
class Sum:
    total: int
    parts: tuple[int, ...]


class ForeignError(PenstockError):
    """Not below `penstock.`: comes back as the nearest class that is."""


def add(*parts: int) -> Sum:
    return Sum(sum(parts), parts)


def echo(value: Any) -> Any:
    return value


def pid() -> int:
    return os.getpid()


def chatter() -> str:
    print("this must not end up in the answer")  # noqa: T201 - that is the point
    os.write(1, b"nor this")
    return sys.stdin.read()


def refuse(sentence: str) -> None:
    error = UsageError(sentence)
    error.exit_code = 7
    raise error


def answer_404() -> None:
    from penstock.kube.errors import Status, api_error  # heavy: only for those who need it

    raise api_error(Status(code=404, reason="NotFound", message="apps is not there", name="apps"))


def refuse_in_foreign_words(sentence: str) -> None:
    raise ForeignError(sentence)


def stumble() -> None:
    raise LookupError("no such thing")


def leave() -> None:
    sys.exit(3)


def hang() -> None:
    time.sleep(3600)


def spin() -> None:
    while True:
        pass


def swell(size: int) -> int:
    return len(bytearray(size))


def die(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(3600)


def lie() -> int:
    return "not a number"  # type: ignore[return-value]


def nest() -> Any:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


def interrupted() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "still here"
