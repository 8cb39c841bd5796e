"""The ASGI application: who asks, what for, may they, and what is the answer."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from penstock.embedded.server.answers import Answer, audit_id, error_answer, not_found_page, shaped, wants_pretty
from penstock.embedded.server.bodies import LIMIT
from penstock.embedded.server.handlers import Handlers
from penstock.embedded.server.objects import new_uid
from penstock.embedded.server.paths import request_info
from penstock.embedded.server.ports import RequestInfo, User
from penstock.embedded.server.site import Site
from penstock.embedded.status import StatusError, bad_request, internal_error, not_served, too_large

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping

    from penstock.embedded.server.api import Engine

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger("penstock.embedded")

ADMIN = User("system:admin", ("system:masters", "system:authenticated"))
QUERY_LIMIT = 1024
"""How many query parameters are read."""
_BODY_METHODS = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_TOO_LARGE = f"Request entity too large: limit is {LIMIT}"


@dataclass(slots=True)
class Call:
    """One request, as the handlers see it."""

    method: str
    info: RequestInfo
    query: dict[str, list[str]]
    headers: dict[bytes, bytes]
    user: User
    body: bytes = b""
    warnings: list[str] = field(default_factory=list[str])
    """What the answer will warn of, whether it is an error or not."""

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class App:
    """The API server as an ASGI application."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._handlers = Handlers(engine)
        self._site = Site(engine)
        self._constant = (
            (b"cache-control", b"no-cache, private"),
            (b"x-kubernetes-pf-flowschema-uid", new_uid().encode()),
            (b"x-kubernetes-pf-prioritylevel-uid", new_uid().encode()),
        )
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End all streams; their clients connect again elsewhere."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            call, answer = await self._answer(scope, receive)
        except StatusError as error:
            call, answer = None, error_answer(error)
        headers: dict[bytes, bytes] = call.headers if call else dict(scope["headers"])
        if answer.stream is not None:
            await self._stream(answer, receive, send)
            return
        pretty = wants_pretty(call.query if call else {}, headers.get(b"user-agent", b"").decode("latin-1"))
        body = await shaped(answer, pretty=pretty, compress=b"gzip" in headers.get(b"accept-encoding", b""))
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": answer.code, "headers": [*self._headers(answer), length]})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _headers(self, answer: Answer) -> list[tuple[bytes, bytes]]:
        return [
            (b"audit-id", audit_id()),
            *self._constant,
            (b"content-type", answer.content_type.encode()),
            *answer.headers,
        ]

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[Call | None, Answer]:
        call: Call | None = None
        try:
            call = self._read(scope)
            if call.method in _BODY_METHODS:
                call.body = await _body(call.headers, receive)
            return call, await self._route(call)
        except StatusError as error:
            return call, error_answer(error).warn(call.warnings if call is not None else [])
        except RecursionError:
            return call, error_answer(bad_request("the body of the request is nested too deeply"))
        except Exception as error:
            # One request that trips over a defect must not take the others with it.
            log.exception("a request failed: %s %s", scope["method"], scope["path"])
            return call, error_answer(internal_error(f"{type(error).__name__}: {error}"))

    def _read(self, scope: Scope) -> Call:
        raw: list[tuple[bytes, bytes]] = scope["headers"]
        try:
            text = scope["query_string"].decode("latin-1")
            query = parse_qs(text, keep_blank_values=True, max_num_fields=QUERY_LIMIT) if text else {}
        except ValueError as error:
            raise bad_request(f"invalid query: {error}") from error
        info = request_info(scope["method"], scope["path"], query)
        access = self._engine.plugins.access
        user = ADMIN if access is None else access.authenticate(raw)
        if access is not None:
            access.authorize(user, info)
        return Call(scope["method"], info, query, dict(raw), user)

    async def _route(self, call: Call) -> Answer:
        info = call.info
        if not info.is_resource:
            return await self._site.answer(call)
        resource = self._engine.catalog.find(info.group, info.version, info.resource)
        if resource is None:
            if self._engine.catalog.has_builtin(info.group):
                raise not_served()
            return not_found_page()
        return await self._handlers.answer(call, resource)

    async def _stream(self, answer: Answer, receive: Receive, send: Send) -> None:
        """Send pieces as they come, until they end or the client goes."""
        assert answer.stream is not None  # noqa: S101 - asked by the only caller
        await send({"type": "http.response.start", "status": answer.code, "headers": self._headers(answer)})
        async with aclosing(answer.stream) as pieces:
            sending = asyncio.ensure_future(_send_all(pieces, send))
            ends = (asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(self._stopping.wait()))
            try:
                await asyncio.wait((sending, *ends), return_when=asyncio.FIRST_COMPLETED)
                if sending.done() and not sending.cancelled():
                    sending.result()
            finally:
                for task in (sending, *ends):
                    task.cancel()
                await asyncio.gather(sending, *ends, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_all(pieces: AsyncGenerator[bytes], send: Send) -> None:
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(headers: dict[bytes, bytes], receive: Receive) -> bytes:
    """The body, or 413 as soon as it is known to be too long."""
    told = headers.get(b"content-length", b"0")
    if told.isdigit() and int(told) > LIMIT:
        raise too_large(_TOO_LARGE)
    message = await receive()
    if not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > LIMIT:
            raise too_large(_TOO_LARGE)
        return body
    pieces = [message.get("body", b"")]
    size = len(pieces[0])
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise bad_request("the client went away before its request was complete")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > LIMIT:
            raise too_large(_TOO_LARGE)
    return b"".join(pieces)
