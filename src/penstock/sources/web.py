"""HTTP to places that somebody else names: nothing is followed, trusted or sent that was not asked for.

No cookies, no automatic redirects, no logins from files of this machine, and no link-local addresses, where clouds
keep their secrets: a registry or bucket is never there.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from penstock.errors import PenstockError
from penstock.kube.connector import Connector
from penstock.runtime.redaction import redact_text
from penstock.sources.access import system_proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from aiohttp.abc import ResolveResult

    from penstock.sources.access import Trust

USER_AGENT = "flux/v2"
RETRIED = frozenset((408, 500, 502, 503, 504))
TRIES = 3
FIRST_PAUSE = 1.0
"""Seconds before the second try; each further pause is three times as long."""

_CHUNK = 1 << 20
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)  # the whole is bounded by the caller


class Unreachable(PenstockError):
    """There was no answer, or it broke off."""


class Forbidden(Unreachable):
    """An address that is not gone to, or whose certificate is not trusted; trying again does not help."""


class TooLarge(PenstockError):
    """The answer is larger than it may be."""


class Web:
    """Connections with one set of certificates and one proxy; use it as a context manager."""

    def __init__(self, trust: Trust, proxy: str | None, *, connections: int = 100) -> None:
        self._trust = trust
        self._proxy = proxy
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        if (self._proxy or "").startswith("socks5"):
            raise Forbidden("a socks5 proxy is not supported here; use an http or https proxy")
        context = await asyncio.to_thread(self._trust.context)
        self._session = aiohttp.ClientSession(
            connector=Connector(ssl=context, resolver=_Resolver(), limit=self._connections),
            timeout=_TIMEOUT,
            headers={"User-Agent": USER_AGENT},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, data: Any = None
    ) -> aiohttp.ClientResponse:
        """The answer, whatever its status; the caller releases it. The address is used as it is encoded."""
        if self._session is None:
            raise AssertionError("connections are used inside their context")
        check_address(url)
        try:
            return await self._session.request(
                method,
                URL(url, encoded=True),
                headers=headers,
                data=data,
                allow_redirects=False,
                proxy=self._proxy or system_proxy(url),
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = redact_text(str(error)) or type(error).__name__
            kind = Forbidden if isinstance(error, aiohttp.ClientSSLError) else Unreachable
            raise kind(f"{method} {shown(url)}: {reason}") from error


async def read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer."""
    content = bytearray()
    try:
        async for chunk in response.content.iter_chunked(64 << 10):
            content += chunk
            if len(content) > most:
                raise TooLarge(f"{shown(str(response.url))}: the answer is larger than {most} bytes")
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(f"{shown(str(response.url))}: the answer broke off") from error
    return bytes(content)


async def save(
    response: aiohttp.ClientResponse, path: Path, *, most: int, also: Callable[[bytes], Any] | None = None
) -> int:
    """Write the body to a new file, off the event loop, and give its size. `also` sees each part, for its digest.

    Reading ends after the first part beyond `most`, so that the size tells.
    """
    file = _File(path, also)
    size, buffer = 0, bytearray()
    try:
        await _in_thread(file.open)
        async for chunk in response.content.iter_chunked(_CHUNK):
            buffer += chunk
            size += len(chunk)
            if size > most:
                break
            if len(buffer) >= _CHUNK:
                await _in_thread(file.write, bytes(buffer))
                buffer.clear()
        await _in_thread(file.write, bytes(buffer))
    except aiohttp.ClientError as error:
        raise Unreachable(f"{shown(str(response.url))}: the answer broke off after {size} bytes") from error
    finally:
        await _in_thread(file.close)
    return size


class _File:
    """A new file that is written in threads."""

    def __init__(self, path: Path, also: Callable[[bytes], Any] | None) -> None:
        self._path = path
        self._also = also
        self._file: BinaryIO | None = None

    def open(self) -> None:
        self._file = self._path.open("xb")

    def write(self, content: bytes) -> None:
        if self._also is not None:
            self._also(content)
        if self._file is not None:
            self._file.write(content)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


async def _in_thread(call: Callable[..., None], *arguments: Any) -> None:
    """Run it in a thread, and be done with it before a cancellation goes on: no handle is left behind."""
    task = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def check_address(url: str) -> None:
    """Refuse what is no address of a web server, or one that means something else on every machine."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        usable = False
    if not usable:
        raise Forbidden(f"{shown(url)} is not an http or https address")
    if is_link_local(urlsplit(url).hostname or ""):
        raise Forbidden(f"{shown(url)} is a link-local address")


def is_link_local(host: str) -> bool:
    """Whether a host is written as an address such as 169.254.169.254."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_link_local


def origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def shown(url: str) -> str:
    """An address without what may be secret in it: signatures stand in queries."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class _Resolver(AbstractResolver):
    """Looks names up, and takes no link-local address for an answer."""

    def __init__(self) -> None:
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = [one for one in await self._resolver.resolve(host, port, family) if not is_link_local(one["host"])]
        if not found:
            raise OSError(f"{host} has only link-local addresses")
        return found

    async def close(self) -> None:
        await self._resolver.close()
