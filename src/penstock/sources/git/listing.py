"""Which refs does a repository have? Asked over HTTP by ourselves: one small request, on connections that are kept.

A server that speaks version 2 of the protocol is asked for the refs we want and no others. That it does is learned
from a first request and remembered; an older server answers the first request with all its refs.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import aiohttp
from yarl import URL

from penstock.sources.git import pktline
from penstock.sources.git.address import Address
from penstock.sources.git.errors import InvalidAddress, RemoteTrouble
from penstock.sources.git.guard import check_literal

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from penstock.sources.git.credentials import Credentials
    from penstock.sources.git.pktline import Refs
    from penstock.sources.git.proxy import Proxy

_LARGEST = 64 << 20  # bytes of an answer
_REDIRECTS = 5
_REMEMBERED = 10_000
_TRUSTS = 128  # each holds all authorities of the system
_MOVED = frozenset({301, 302, 303, 307, 308})
_SUFFIX = "/info/refs"
_SERVICE = "service=git-upload-pack"
_STATUSES = {401: "authentication required", 403: "authorization failed", 404: "repository not found"}
_SECONDS = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)


@dataclass(frozen=True, slots=True)
class Algorithms:
    """What SSH may use; empty means what `ssh` takes by itself."""

    key_exchange: tuple[str, ...] = ()
    host_key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, with everything needed to call it."""

    address: Address
    credentials: Credentials
    proxy: Proxy | None = None
    algorithms: Algorithms = Algorithms()

    @property
    def key(self) -> tuple[str, str, str]:
        """What must be equal for two places to be the same to the same person."""
        proxy = self.proxy.identity if self.proxy else ""
        return self.address.url, self.credentials.fingerprint, proxy

    def at(self, address: Address) -> Place:
        """Another repository, called with what of ours may be known there."""
        same = address.origin == self.address.origin
        return replace(self, address=address, credentials=self.credentials if same else self.credentials.elsewhere())


@dataclass(frozen=True, slots=True)
class _Known:
    """A server of version 2: where it really is, and with which hash it works."""

    place: Place
    sha256: bool


class Listing:
    """Asks servers for refs; remembers which of them speak version 2, and where they moved to."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._trusts: OrderedDict[tuple[bytes, bytes, bytes], ssl.SSLContext] = OrderedDict()
        self._known: OrderedDict[tuple[str, str, str], _Known] = OrderedDict()

    async def refs(self, place: Place, prefixes: Sequence[str]) -> tuple[Place, Refs]:
        """The refs with these prefixes (an old server sends all), and the place to fetch from."""
        known = self._known.get(place.key)
        if known is not None:
            try:
                return known.place, await self._asked(known, prefixes)
            except RemoteTrouble:
                del self._known[place.key]  # it moved, or was replaced: look again
        moved, advertisement = await self._discovered(place)
        if advertisement.refs is not None:
            return moved, advertisement.refs
        known = _Known(moved, advertisement.sha256)
        refs = await self._asked(known, prefixes)
        self._known[place.key] = known
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return moved, refs

    async def _discovered(self, place: Place) -> tuple[Place, pktline.Advertisement]:
        for _ in range(_REDIRECTS + 1):
            query = f"{place.address.query}&{_SERVICE}" if place.address.query else _SERVICE
            url = f"{_base(place.address)}{_SUFFIX}?{query}"
            status, location, body = await self._call("GET", url, place, headers={"Git-Protocol": "version=2"})
            if status not in _MOVED:
                return place, pktline.advertised(body)
            place = place.at(_target(place.address, url, location))
        raise RemoteTrouble(f"more than {_REDIRECTS} redirects")

    async def _asked(self, known: _Known, prefixes: Sequence[str]) -> Refs:
        kind = "application/x-git-upload-pack"
        headers = {"Git-Protocol": "version=2", "Content-Type": f"{kind}-request", "Accept": f"{kind}-result"}
        url = f"{_base(known.place.address)}/git-upload-pack"
        question = pktline.question(prefixes, sha256=known.sha256)
        status, _, body = await self._call("POST", url, known.place, headers=headers, data=question)
        if status in _MOVED:
            raise RemoteTrouble("it moved while it was asked")
        return pktline.listed(body)

    async def _trust(self, credentials: Credentials) -> ssl.SSLContext:
        """Whom to believe: made in a thread, and shared by all who believe the same, as their connections are."""
        key = (credentials.authority, credentials.certificate, credentials.certificate_key)
        if key in self._trusts:
            self._trusts.move_to_end(key)
            return self._trusts[key]
        context = self._trusts[key] = await asyncio.to_thread(credentials.trust)
        if len(self._trusts) > _TRUSTS:
            self._trusts.popitem(last=False)
        return context

    async def _call(
        self, method: str, url: str, place: Place, *, headers: dict[str, str], data: bytes | None = None
    ) -> tuple[int, str, bytes]:
        """Status, `Location` and body; RemoteTrouble for every status that is neither fine nor a redirect."""
        check_literal(place.address.host)
        if authorization := place.credentials.authorization:
            headers = {**headers, "Authorization": authorization}
        secure = place.address.scheme == "https"
        greeting = place.proxy.headers if place.proxy else {}
        if not secure:
            headers = {**headers, **greeting}
        trust = await self._trust(place.credentials) if secure else True
        try:
            async with self._session.request(
                method,
                URL(url, encoded=True),
                headers=headers,
                data=data,
                ssl=trust,
                allow_redirects=False,
                timeout=_SECONDS,
                proxy=place.proxy.url if place.proxy else None,
                proxy_headers=greeting if secure else None,
            ) as response:
                if response.status in _MOVED:
                    return response.status, response.headers.get("Location", ""), b""
                if response.status != 200:
                    words = _STATUSES.get(response.status, f"the server answered {response.status}")
                    raise RemoteTrouble(words, is_missing=response.status == 404)
                return response.status, "", await _bounded(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RemoteTrouble(_reason(error)) from None


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LARGEST:
            raise RemoteTrouble(f"its list of refs is larger than {_LARGEST >> 20} MiB")
    return bytes(body)


def _base(address: Address) -> str:
    return f"{address.scheme}://{address.authority}{address.path.rstrip('/')}"


def _target(old: Address, url: str, location: str) -> Address:
    """Where a redirect leads: to another repository, and never from https to http."""
    try:
        target = URL(url, encoded=True).join(URL(location, encoded=True))
        new = Address.parse(str(target))
    except (ValueError, InvalidAddress):
        raise RemoteTrouble("its redirect leads nowhere") from None
    if new.scheme != old.scheme and new.scheme != "https":
        raise RemoteTrouble("its redirect leads away from https")
    if not new.path.endswith(_SUFFIX):
        raise RemoteTrouble("its redirect leads to something else than a repository")
    return replace(new, path=new.path.removesuffix(_SUFFIX), query=old.query)


def _reason(error: Exception) -> str:
    """What went wrong with a connection, without anything that we sent."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate = error.certificate_error
        words = getattr(certificate, "verify_message", "") or "it cannot be verified"
        return f"its certificate is not trusted: {words}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "the proxy cannot be reached"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"it cannot be reached: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError):
        return "the connection broke"
    return f"the connection failed ({type(error).__name__})"
