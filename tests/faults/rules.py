"""What can be done to a request and its answer."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@dataclass(frozen=True, slots=True)
class Call:
    """One request on its way through."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Names in lower case."""
    at: float = field(default=0.0, repr=False)
    """When it came, by the clock of the loop."""

    @property
    def watch(self) -> bool:
        return self.query.get("watch") in ("true", "1")

    def __str__(self) -> str:
        return f"{'WATCH' if self.watch else self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Where:
    """Which requests a rule strikes; what is left out does not matter."""

    methods: frozenset[str] = frozenset()
    path: str = ""
    """A pattern that is searched for in the path."""
    watch: bool | None = None

    def matches(self, call: Call) -> bool:
        if self.methods and call.method not in self.methods:
            return False
        if self.watch is not None and call.watch != self.watch:
            return False
        return re.search(self.path, call.path) is not None


ANYTHING = Where()
READS = Where(methods=frozenset({"GET"}), watch=False)
WRITES = Where(methods=frozenset({"POST", "PUT", "PATCH", "DELETE"}))
WATCHES = Where(watch=True)


class Answered(Exception):
    """The proxy answers by itself; the server is not asked, or its answer is thrown away."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers


class Reset(Exception):
    """The connection of the client is torn down."""


class Cut(Exception):
    """Only the beginning of the answer arrives."""

    def __init__(self, kept: bytes, promised: int) -> None:
        super().__init__(len(kept))
        self.kept, self.promised = kept, promised


class Rule:
    """One fault; what it does is one of the four methods at the end."""

    def __init__(self, *, where: Where = ANYTHING, after: int = 0, times: int | None = None) -> None:
        """Strikes the requests that `where` names, from number `after` on, `times` in all (None: for ever)."""
        self.where = where
        self._after = after
        self._times = times
        self.seen = 0
        self.struck = 0

    def strikes(self, call: Call) -> bool:
        """Count the call, and tell whether it is struck."""
        if not self.where.matches(call):
            return False
        self.seen += 1
        if self.seen <= self._after or (self._times is not None and self.struck >= self._times):
            return False
        self.struck += 1
        return True

    def ask(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers with which the server is asked."""
        return headers

    async def before(self) -> None:
        """Ahead of asking the server; raises to end it here."""

    async def body(self, body: bytes, /) -> bytes:
        """The answer of the server, on its way back."""
        return body

    def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """The lines of a watch, on their way back."""
        return events


class _Answers(Rule):
    def __init__(self, status: int, body: bytes, headers: dict[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._answer = (status, body, headers)

    async def before(self) -> None:
        raise Answered(*self._answer)


def answers(status: int, body: Any = None, *, retry_after: float | None = None, **options: Any) -> Rule:
    """The server is not asked; the answer is this status, with a Status object unless a body is given."""
    if body is None:
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "message": "by order"}
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:.0f}"}
    return _Answers(status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers, **options)


class _Resets(Rule):
    def __init__(self, when: Literal["before", "after"], **options: Any) -> None:
        super().__init__(**options)
        self._when = when

    async def before(self) -> None:
        if self._when == "before":
            raise Reset

    async def body(self, _body: bytes, /) -> bytes:
        raise Reset


def resets(when: Literal["before", "after"] = "before", **options: Any) -> Rule:
    """The connection is reset before the request reached the server, or after the server did what was asked."""
    return _Resets(when, **options)


class _Hangs(Rule):
    async def before(self) -> None:
        await asyncio.Event().wait()


def hangs(**options: Any) -> Rule:
    """The request is taken and never answered."""
    return _Hangs(**options)


class _Cuts(Rule):
    def __init__(self, keep: int, **options: Any) -> None:
        super().__init__(**options)
        self._keep = keep

    async def body(self, body: bytes, /) -> bytes:
        raise Cut(body[: self._keep], len(body))


def cuts(*, keep: int = 10, **options: Any) -> Rule:
    """Only the first bytes of the answer arrive, then the connection breaks."""
    return _Cuts(keep, **options)


class _Garbles(Rule):
    def __init__(self, garbage: bytes, **options: Any) -> None:
        super().__init__(**options)
        self._garbage = garbage

    async def body(self, _body: bytes, /) -> bytes:
        return self._garbage


def garbles(garbage: bytes = b"<html>It works!</html>", **options: Any) -> Rule:
    """The server does what was asked, and the answer arrives as something else."""
    return _Garbles(garbage, **options)
