"""The proxy itself: plain HTTP on loopback in front, whatever the settings say behind."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import aiohttp
from aiohttp import web
from yarl import URL

from penstock.kube import Settings, load
from penstock.kube.connector import Connector
from tests.faults.rules import Answered, Call, Cut, Reset

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.faults.rules import Rule

HOP_BY_HOP = frozenset(("host", "connection", "content-length", "transfer-encoding", "accept-encoding"))
"""Headers that are between two neighbours."""


class HasKubeconfig(Protocol):
    """A control plane, or the cluster of a test."""

    @property
    def kubeconfig(self) -> Path: ...


class Proxy:
    """Passes everything on, except for what the rules say."""

    def __init__(self, upstream: Settings, *rules: Rule) -> None:
        self._upstream = upstream
        self._rules = list(rules)
        self._session: aiohttp.ClientSession | None = None
        self._watching: set[asyncio.Transport | None] = set()
        self._opened = asyncio.Event()
        self._handling: set[asyncio.Task[object]] = set()
        self._failures: list[Exception] = []
        self.settings = upstream
        """How to reach the server through the proxy; known once it runs."""
        self.calls: list[Call] = []
        """Every request that came, in order, whatever became of it."""
        self.statuses: Counter[int] = Counter()
        """How often each status was answered."""

    def add(self, *rules: Rule) -> None:
        self._rules += rules

    def remove(self, *rules: Rule) -> None:
        self._rules = [rule for rule in self._rules if rule not in rules]

    async def cut_off(self) -> None:
        """Reset every watch that is open, or the next one if none is: rules strike when a watch begins."""
        while not self._watching:
            await self._opened.wait()
        for transport in list(self._watching):
            _reset(transport)
        self._watching.clear()

    def forget(self) -> None:
        """Begin to count anew."""
        self.calls.clear()
        self.statuses.clear()

    def count(self, verb: str | None = None, path: str = "") -> int:
        """How many requests came; the verb is the method, or WATCH."""
        return sum(path in call.path and verb in (None, "WATCH" if call.watch else call.method) for call in self.calls)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Proxy]:
        credential = await self._upstream.credentials.fetch()
        context = await asyncio.to_thread(self._upstream.tls, credential)
        connector = Connector(ssl=context if context is not None else True, limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:
            self._session = session
            runner = web.ServerRunner(web.Server(self._handle, handler_cancellation=True), shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            # The client's own headers say who it is; only the way there changes.
            self.settings = replace(self._upstream, server=f"http://{host}:{port}", authority=None)
            try:
                yield self
            finally:
                await runner.cleanup()
                for task in list(self._handling):
                    task.cancel()
                await asyncio.gather(*self._handling, return_exceptions=True)
        if self._failures:
            raise ExceptionGroup("the proxy failed", self._failures)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        now = asyncio.get_running_loop().time()
        call = Call(request.method, request.path, dict(request.query), headers, now)
        self.calls.append(call)
        if (task := asyncio.current_task()) is not None:
            self._handling.add(task)
            task.add_done_callback(self._handling.discard)
        rules = [rule for rule in self._rules if rule.strikes(call)]
        try:
            for rule in rules:
                await rule.before()
            return await self._pass_on(request, call, rules)
        except Answered as answer:
            self.statuses[answer.status] += 1
            head = {"Content-Type": "application/json"} | answer.headers
            return web.Response(status=answer.status, body=answer.body, headers=head)
        except Cut as cut:
            return await _cut(request, cut)
        except (Reset, aiohttp.ClientError, OSError):
            _reset(request.transport)
        except Exception as error:  # noqa: BLE001 - told at the end, where the test sees it
            self._failures.append(error)
            _reset(request.transport)
        return web.Response()  # for nobody

    async def _pass_on(self, request: web.BaseRequest, call: Call, rules: list[Rule]) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in call.headers.items() if name not in HOP_BY_HOP}
        for rule in rules:
            headers = rule.ask(headers)
        url = URL(f"{self._upstream.server}{request.raw_path}", encoded=True)
        async with self._session.request(
            call.method, url, headers=headers, data=await request.read() or None, allow_redirects=False
        ) as answer:
            self.statuses[answer.status] += 1
            head = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers}
            if call.watch and answer.status == 200:
                self._watching.add(request.transport)
                self._opened.set()
                self._opened.clear()
                try:
                    return await _stream(request, head, _lines(answer.content), rules)
                finally:
                    self._watching.discard(request.transport)
            body = await answer.read()
            for rule in rules:
                body = await rule.body(body)
            return web.Response(status=answer.status, body=body, headers=head)


@asynccontextmanager
async def faulty(target: Settings | HasKubeconfig, *rules: Rule) -> AsyncGenerator[Proxy]:
    """A proxy before an API server: one that settings name, or a control plane with a kubeconfig."""
    settings = target if isinstance(target, Settings) else await asyncio.to_thread(load, target.kubeconfig)
    async with Proxy(settings, *rules).running() as proxy:
        yield proxy


async def _lines(content: aiohttp.StreamReader) -> AsyncGenerator[bytes]:
    begun = b""
    async for chunk in content.iter_any():
        *whole, begun = (begun + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if begun:
        yield begun


async def _stream(
    request: web.BaseRequest, head: dict[str, str], lines: AsyncGenerator[bytes], rules: list[Rule]
) -> web.StreamResponse:
    response = web.StreamResponse(headers=head)
    await response.prepare(request)
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(aclosing(lines))
        for rule in rules:
            lines = await opened.enter_async_context(aclosing(rule.events(lines)))
        async for line in lines:
            await response.write(line)
    await response.write_eof()
    return response


async def _cut(request: web.BaseRequest, cut: Cut) -> web.StreamResponse:
    response = web.StreamResponse()
    response.content_length = max(cut.promised, len(cut.kept) + 1)
    await response.prepare(request)
    await response.write(cut.kept)
    assert request.transport is not None
    request.transport.close()
    return response


def _reset(transport: asyncio.Transport | None) -> None:
    if transport is None or transport.is_closing():
        return
    sock: socket.socket = transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
