"""The small HTTP endpoints of a controller: /healthz, /readyz and /metrics.

Three fixed answers need no web framework: this server reads one short request a connection and closes it. Sizes and
times are bounded, so a stranger who can reach the port cannot hold anything up.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog

from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from penstock.runtime.metrics import Metrics

    Endpoint = Callable[[Mapping[str, str]], Awaitable["Answer"]]

TIMEOUT = 10.0
"""Seconds for one request, from the first byte to the last."""
LARGEST_REQUEST = 16 * 1024
_PLAIN = "text/plain; charset=utf-8"

log = structlog.get_logger()


class AddressInUse(PenstockError):
    """The address cannot be listened on."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. An empty host means every interface, port 0 a free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, flag: str) -> Address | None:
        """Read `:8080`, `127.0.0.1:8080` or `[::1]:8080`; `0` or nothing means: do not listen."""
        if text in {"", "0"}:
            return None
        host, colon, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise UsageError(f'{flag}: "{text}" is not an address like :8080 or 127.0.0.1:8080')
        if not bracketed and (":" in host or "/" in host):
            raise UsageError(f'{flag}: "{text}" is not an address; write an IPv6 one as [::1]:8080')
        return cls(host[1:-1] if bracketed else host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint says."""

    status: HTTPStatus
    body: bytes
    content_type: str = _PLAIN

    def encode(self, *, head: bool) -> bytes:
        lines = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "X-Content-Type-Options: nosniff",
            "Connection: close",
        )
        return "\r\n".join((*lines, "", "")).encode("latin-1") + (b"" if head else self.body)


class Endpoints:
    """What is served at which path; the same set may be served at several addresses."""

    def __init__(self) -> None:
        self._paths: dict[str, Endpoint] = {}

    def check(self, path: str, problem: Callable[[], str]) -> None:
        """Serve a check: fine while `problem` says nothing, 503 with its sentence otherwise."""

        async def answer(_: Mapping[str, str]) -> Answer:
            told = problem()
            if told:
                return Answer(HTTPStatus.SERVICE_UNAVAILABLE, told.encode())
            return Answer(HTTPStatus.OK, b"ok")

        self._paths[path] = answer

    def metrics(self, metrics: Metrics) -> None:
        """Serve the metrics at /metrics, in the format that the scraper asks for."""

        async def answer(headers: Mapping[str, str]) -> Answer:
            body, content_type = await metrics.exposition(headers.get("accept", ""))
            return Answer(HTTPStatus.OK, body, content_type)

        self._paths["/metrics"] = answer

    @asynccontextmanager
    async def serving(self, address: Address) -> AsyncGenerator[Address]:
        """Listen at the address while the body runs; the answer has the port that was really taken."""
        try:
            server = await asyncio.start_server(
                self._connected, address.host or None, address.port, limit=LARGEST_REQUEST
            )
        except OSError as error:
            raise AddressInUse(f"cannot listen on {address}: {error.strerror or error}") from error
        async with server:
            port: int = server.sockets[0].getsockname()[1]
            yield Address(address.host, port)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIMEOUT):
                writer.write(await self._answer(reader))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            writer.transport.abort()
        except asyncio.CancelledError:  # the server stops; asyncio would log it as an error
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        first, *rest = request.decode("latin-1").split("\r\n")
        method, _, target = first.partition(" ")
        target, _, version = target.rpartition(" ")
        if not version.startswith("HTTP/1."):
            return _refusal(HTTPStatus.BAD_REQUEST)
        if method not in {"GET", "HEAD"}:
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED)
        endpoint = self._paths.get(target.partition("?")[0])
        if endpoint is None:
            return _refusal(HTTPStatus.NOT_FOUND)
        answer = await _safely(endpoint, _headers(rest))
        return answer.encode(head=method == "HEAD")


async def _safely(endpoint: Endpoint, headers: Mapping[str, str]) -> Answer:
    try:
        return await endpoint(headers)
    except Exception:
        log.exception("an endpoint failed")  # which must not look like a dead process
        return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"internal error")


def _headers(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _refusal(status: HTTPStatus) -> bytes:
    return Answer(status, status.phrase.encode()).encode(head=False)
