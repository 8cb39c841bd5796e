"""The connections to one API server, shared by every identity that uses it.

A request is bounded in time, counted by the limiter, and tried again only where that cannot do anything twice.
Streams (watches) have connections of their own and no slot: they stay open for minutes.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from asyncio import sslproto
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import aiohttp
import orjson
from yarl import URL

from penstock import __version__
from penstock.kube.certificates import expiry
from penstock.kube.connector import Connector
from penstock.kube.errors import (
    ApiError,
    BadAnswer,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    api_error,
    parse_status,
)
from penstock.kube.limiter import Limiter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from multidict import CIMultiDict

    from penstock.kube.credentials import Credential
    from penstock.kube.settings import Settings

TIMEOUT = 30.0
"""Seconds one try may take."""

TRIES = 5
LONGEST_PAUSE = 30.0
"""A server that asks for a longer pause than this gets none: the error, with its wish, goes to the caller."""

TLS_READ_BUFFER = 16 * 1024
"""One TLS record. asyncio's own 256 kB a connection is what makes hundreds of watches expensive."""

USER_AGENT = f"penstock/{__version__}"

_UNBOUNDED = aiohttp.ClientTimeout(total=None, sock_connect=None)  # `asyncio.timeout` is around it


@dataclass(frozen=True, slots=True)
class Request:
    """One call, before any identity or connection is known."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str | None = None
    accept: str | None = None
    kind: str = ""
    """What the limiter files its answer time under; empty for requests that say nothing about load."""
    repeatable: bool = False
    """True when doing it twice is the same as doing it once."""
    timeout: float = TIMEOUT

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """Talks HTTP to one API server."""

    def __init__(self, settings: Settings, *, limiter: Limiter | None = None) -> None:
        self.settings = settings
        self.limiter = limiter or Limiter()
        self.observe: Callable[[str, int], None] = lambda _method, _code: None
        """Called with method and status code of every answer; metrics hook in here."""
        self._session: aiohttp.ClientSession | None = None
        self._retired: aiohttp.ClientSession | None = None
        self._credential: Credential | None = None
        self._refreshing = asyncio.Lock()
        self._prefix = urlsplit(settings.server).path.rstrip("/")
        self._base = settings.server.removesuffix(self._prefix) if self._prefix else settings.server
        self._proxy = settings.proxy_address()

    async def close(self) -> None:
        for session in (self._session, self._retired):
            if session is not None:
                await session.close()
        self._session = self._retired = None

    async def call(self, request: Request, headers: CIMultiDict[str], *, urgent: bool = False) -> Any:
        """Send and decode the answer; `urgent` passes the limiter by (leases must not queue behind applies)."""
        for attempt in range(1, TRIES + 1):
            try:
                return await self._try(request, headers, urgent=urgent)
            except (Unreachable, ApiError) as error:
                pause = self._pause(error, request, attempt)
                if pause is None:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def stream(
        self, request: Request, headers: CIMultiDict[str], *, quiet: float | None
    ) -> AsyncGenerator[aiohttp.StreamReader]:
        """Open a stream; it ends with TimedOut when nothing arrives for `quiet` seconds, or never when that is None."""
        session, credential = await self._connected()
        timeout = aiohttp.ClientTimeout(total=None, sock_read=quiet)
        opening = self._ask(session, request, headers, credential, timeout=timeout)
        with _translated(request, self.settings):
            async with AsyncExitStack() as opened:
                async with asyncio.timeout(request.timeout):
                    response = await opened.enter_async_context(opening)
                    body = await response.read() if response.status != 200 else b""
                self.observe(request.method, response.status)
                if response.status != 200:
                    refusal = _refusal(request, response, body)
                    if isinstance(refusal, Unauthorized):
                        await self._renewed(credential)  # the next one who asks has the new one
                    raise refusal
                yield response.content

    async def _try(self, request: Request, headers: CIMultiDict[str], *, urgent: bool) -> Any:
        if urgent:
            return await self._send(request, headers)
        async with self.limiter.slot():
            return await self._send(request, headers)

    async def _send(self, request: Request, headers: CIMultiDict[str]) -> Any:
        session, credential = await self._connected()
        try:
            return await self._exchange(session, request, headers, credential)
        except Unauthorized as error:
            # Refused before anything was done. A rotated token gets one more chance.
            if not await self._renewed(credential):
                raise _explained(error, credential, self.settings) from error
        session, credential = await self._connected()
        return await self._exchange(session, request, headers, credential)

    async def _exchange(
        self, session: aiohttp.ClientSession, request: Request, headers: CIMultiDict[str], credential: Credential
    ) -> Any:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            with _translated(request, self.settings):
                async with (
                    asyncio.timeout(request.timeout),
                    self._ask(session, request, headers, credential) as response,
                ):
                    body = await response.read()
        except TimedOut:
            self.limiter.refused()
            raise
        self.observe(request.method, response.status)
        if not 200 <= response.status < 300:
            error = _refusal(request, response, body)
            if isinstance(error, TooManyRequests | Unavailable):
                self.limiter.refused(min(error.status.retry_after or 0.0, LONGEST_PAUSE))
            raise error
        if request.kind:
            self.limiter.answered(request.kind, loop.time() - begun)
        return _decode(request, body)

    def _ask(
        self,
        session: aiohttp.ClientSession,
        request: Request,
        headers: CIMultiDict[str],
        credential: Credential,
        *,
        timeout: aiohttp.ClientTimeout = _UNBOUNDED,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return session.request(
            request.method,
            self._url(request),
            data=request.body,
            headers=self._headers(request, headers, credential),
            proxy=self._proxy,
            server_hostname=self.settings.server_name,
            timeout=timeout,
            allow_redirects=False,  # what we send is for this server, not for whomever it names
        )

    @staticmethod
    def _pause(error: Unreachable | ApiError, request: Request, attempt: int) -> float | None:
        """Seconds until the next try, or None when there must be none."""
        if attempt == TRIES:
            return None
        backoff = min(10.0, 0.1 * 2.0**attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
        if isinstance(error, Unreachable):
            # After a time-out the caller's bound has passed already.
            again = error.retryable and not isinstance(error, TimedOut) and (request.repeatable or not error.sent)
            return backoff if again else None
        # A 429 is turned away at the door: nothing was done. A 503 may come from half way.
        if not isinstance(error, TooManyRequests) and not (isinstance(error, Unavailable) and request.repeatable):
            return None
        asked = error.status.retry_after
        if asked is None:
            return backoff
        return asked + random.random() / 10 if asked <= LONGEST_PAUSE else None  # noqa: S311

    async def _connected(self) -> tuple[aiohttp.ClientSession, Credential]:
        if self._session is not None and self._credential is not None and self._credential.fresh:
            return self._session, self._credential
        async with self._refreshing:
            if self._session is None or self._credential is None or not self._credential.fresh:
                await self._adopt(await self.settings.credentials.fetch())
            assert self._session is not None  # noqa: S101 - `_adopt` has just made it
            assert self._credential is not None  # noqa: S101
            return self._session, self._credential

    async def _renewed(self, refused: Credential) -> bool:
        """Fetch the credential again after a 401; False when it is still the refused one."""
        async with self._refreshing:
            if self._credential is None or _same(self._credential, refused):  # else somebody was faster
                await self._adopt(await self.settings.credentials.fetch())
            return self._credential is None or not _same(self._credential, refused)

    async def _adopt(self, credential: Credential) -> None:
        old = self._credential
        if (
            self._session is None
            or old is None
            or (old.certificate, old.key) != (credential.certificate, credential.key)
        ):
            session = await self._open(credential)
            if self._retired is not None:
                await self._retired.close()
            # What is under way on the old certificate may finish until the next one comes.
            self._retired, self._session = self._session, session
        self._credential = credential

    async def _open(self, credential: Credential) -> aiohttp.ClientSession:
        sslproto.SSLProtocol.max_size = TLS_READ_BUFFER
        context = await asyncio.to_thread(self.settings.tls, credential)
        connector = Connector(ssl=context if context is not None else True, limit=0)
        session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": USER_AGENT},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
        )
        # By itself aiohttp sends a PUT again whose connection broke. What may be repeated is decided in `call`.
        session._retry_connection = False  # noqa: SLF001 - there is no public way
        return session

    def _url(self, request: Request) -> URL:
        query = _query_string(tuple(request.query.items())) if request.query else ""
        return URL(f"{self._base}{self._prefix}{request.path}{query}", encoded=True)

    def _headers(self, request: Request, headers: CIMultiDict[str], credential: Credential) -> CIMultiDict[str]:
        complete = headers.copy()
        complete["Accept"] = request.accept or "application/json"
        if self.settings.loopback:
            complete["Accept-Encoding"] = "identity"  # compression costs more than the loopback saves
        if credential.authorization:
            complete["Authorization"] = credential.authorization
        if request.content_type:
            complete["Content-Type"] = request.content_type
        return complete


@lru_cache(maxsize=1024)
def _query_string(query: tuple[tuple[str, str], ...]) -> str:
    # The same few options come back with every request; encoding them was a tenth of its cost.
    return f"?{urlencode(query)}"


class _translated:  # noqa: N801 - reads as a word in `with _translated(...)`
    """Turns what aiohttp raises into our errors, once. A class: cheaper than a generator on the hot path."""

    def __init__(self, request: Request, settings: Settings) -> None:
        self._request = request
        self._settings = settings

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is None or not isinstance(error, aiohttp.ClientError | TimeoutError | OSError):
            return
        where = f"{self._settings.server} ({self._settings.origin})"
        if isinstance(error, TimeoutError):
            raise TimedOut(f"no answer from {where} to {self._request} in the time allowed") from error
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
            raise Unreachable(
                f"no trust between us and {where}: {_tls_problem(error)}", sent=False, retryable=False
            ) from error
        if isinstance(error, aiohttp.ClientHttpProxyError | aiohttp.ClientProxyConnectionError):
            raise Unreachable(f"the proxy on the way to {where} does not let us through", sent=False) from error
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = _reason(error.os_error)
            raise Unreachable(f"cannot connect to {where}: {reason}", sent=False) from error
        if isinstance(error.__cause__, ssl.SSLError) and "ALERT" in (error.__cause__.reason or ""):
            # In TLS 1.3 a server judges our certificate after the handshake; it reads no request before.
            problem = f"it does not accept our certificate ({_tls_reason(error.__cause__)})"
            raise Unreachable(f"no trust between us and {where}: {problem}", sent=False, retryable=False) from error
        raise Unreachable(f"the connection to {where} broke during {self._request}: {_told(error)}") from error


def _tls_problem(error: aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError) -> str:
    inner = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error.os_error
    return getattr(inner, "verify_message", "") or _tls_reason(inner)


def _tls_reason(error: BaseException) -> str:
    reason: str = getattr(error, "reason", "") or str(error)
    return reason.replace("_", " ").lower()


def _reason(error: OSError) -> str:
    """Why a connection was not made; what asyncio says of a refused one is an address, which stands there already."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return error.strerror or _told(error)


def _told(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _refusal(request: Request, response: aiohttp.ClientResponse, body: bytes) -> ApiError:
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = body[:2000].decode(errors="replace")
    asked = response.headers.get("Retry-After", "")
    return api_error(parse_status(response.status, parsed, float(asked) if asked.isdecimal() else None), str(request))


def _same(one: Credential, other: Credential) -> bool:
    return (one.authorization, one.certificate) == (other.authorization, other.certificate)


def _explained(error: Unauthorized, credential: Credential, settings: Settings) -> Unauthorized:
    """The same refusal, with what is wrong with the credential as far as we can see."""
    where = f"{settings.server} ({settings.origin})"
    expired = expiry(credential.certificate) if credential.certificate else None
    if expired is not None and expired < datetime.now(UTC):
        told = f"{where} does not accept our client certificate: it expired on {expired:%Y-%m-%d %H:%M} UTC"
    elif credential.authorization or credential.certificate:
        told = f"{where} does not accept our credentials: {error}"
    else:
        told = f"{where} wants to know who we are, and there are no credentials: {error}"
    return Unauthorized(replace(error.status, message=told), error.request)


def _decode(request: Request, body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadAnswer(f"the answer to {request} is not JSON ({len(body)} bytes)") from error
