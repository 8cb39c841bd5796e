"""HTTP to one registry: the login, tries, redirects and proxies.

A login goes to the registry itself and to the token service that it names, and nowhere else: registries redirect
downloads to other hosts, and those get none. Nothing goes from https to http, nor to an address that only this
machine's surroundings can mean.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from penstock.errors import PenstockError
from penstock.runtime.redaction import redact_text
from penstock.sources.access import Trust, system_proxy
from penstock.sources.oci.authorization import LARGEST_TOKEN, AuthorizationError, Authorizer, parse_challenge
from penstock.sources.oci.credentials import Credential

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from aiohttp.abc import ResolveResult

    from penstock.sources.oci.authorization import TokenRequest
    from penstock.sources.oci.reference import Repository

USER_AGENT = "flux/v2"
RETRIED = frozenset((408, 500, 502, 503, 504))
TRIES = 3
FIRST_PAUSE = 1.0
"""Seconds before the second try; each further pause is three times as long."""
REDIRECTS = 5

_ANSWER = 64 << 10  # bytes of an error's body that are read
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)  # the whole is bounded by the caller


class RegistryError(PenstockError):
    """The registry could not be reached, or said no."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; 0 when there was no answer."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How a registry is reached."""

    credential: Credential = field(default_factory=Credential, repr=False)
    trust: Trust = field(default_factory=Trust, repr=False)
    proxy: str | None = field(default=None, repr=False)
    insecure: bool = False
    """Plain HTTP is tried after https. Otherwise it is never spoken."""


class Transport:
    """Sends requests to the registry of one repository; use it as a context manager."""

    def __init__(self, repository: Repository, connection: Connection) -> None:
        self._repository = repository
        self._connection = connection
        self._base = ""
        self._authorizer = Authorizer(connection.credential, registry=repository.registry, ask=self._ask)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        if (self._connection.proxy or "").startswith("socks5"):
            raise RegistryError("a socks5 proxy is not supported for registries; use an http or https proxy")
        context = await asyncio.to_thread(self._connection.trust.context)
        connector = aiohttp.TCPConnector(ssl=context, resolver=_Resolver())
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=_TIMEOUT,
            headers={"User-Agent": USER_AGENT},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            requote_redirect_url=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: Any = None,
        actions: str = "pull",
        accept: frozenset[int] = frozenset((200,)),
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """The answer to a request, which has one of the accepted statuses; RegistryError otherwise.

        A path that begins with a scheme is an address that the registry gave. Data that can be read only once must
        be a callable that opens it anew for each try.
        """
        url = await self._address(path)
        response = await self._persist(method, url, dict(headers or {}), data, actions)
        try:
            if response.status not in accept:
                raise await _refusal(method, response)
            yield response
        finally:
            response.release()

    async def _address(self, path: str) -> str:
        if not self._base:
            self._base = await self._choose_scheme()
        url = urljoin(f"{self._base}/", path)
        self._check_hop(self._base, url)
        return url

    async def _choose_scheme(self) -> str:
        """https, or what answers if plain HTTP is allowed too; asked without a login."""
        host = self._repository.host
        if not self._connection.insecure:
            return f"https://{host}"
        try:
            (await self._once("GET", f"https://{host}/v2/", {}, None)).release()
        except RegistryError:
            return f"http://{host}"
        return f"https://{host}"

    async def _persist(
        self, method: str, url: str, headers: dict[str, str], data: Any, actions: str
    ) -> aiohttp.ClientResponse:
        """Try again what a moment's trouble spoiled."""
        pause = FIRST_PAUSE
        for attempt in range(1, TRIES + 1):
            try:
                response = await self._authorized(method, url, headers, data, actions)
            except RegistryError as error:
                if attempt == TRIES or error.status:
                    raise
            else:
                if attempt == TRIES or response.status not in RETRIED:
                    return response
                response.release()
            await asyncio.sleep(pause * random.uniform(1, 1.1))  # noqa: S311 - spreads load, guards nothing
            pause *= 3
        raise AssertionError("the last try returns or raises")

    async def _authorized(
        self, method: str, url: str, headers: dict[str, str], data: Any, actions: str
    ) -> aiohttp.ClientResponse:
        """One try, with the login if the registry asks for it; redirects are followed."""
        scope = f"repository:{self._repository.name}:{actions}"
        known = self._authorizer.header(scope)
        response = await self._following(method, url, headers, data, known)
        if response.status != 401:
            return response
        told = response.headers.getall("WWW-Authenticate", [])
        try:
            answer = await self._authorizer.answer(parse_challenge(told), scope) if told else ""
        except AuthorizationError as error:
            response.release()
            raise RegistryError(str(error), status=401) from error
        if not answer or answer == known:
            return response
        response.release()
        return await self._following(method, url, headers, data, answer)

    async def _following(
        self, method: str, url: str, headers: dict[str, str], data: Any, authorization: str
    ) -> aiohttp.ClientResponse:
        for _ in range(REDIRECTS + 1):
            same = _origin(url) == _origin(self._base)
            login = {"Authorization": authorization} if authorization and same else {}
            response = await self._once(method, url, {**headers, **login}, data)
            location = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or not location or method not in ("GET", "HEAD"):
                return response
            response.release()
            here, url = url, urljoin(url, location)
            self._check_hop(here, url)
        raise RegistryError(f"{method} {_shown(url)}: more than {REDIRECTS} redirects", status=310)

    async def _once(self, method: str, url: str, headers: Mapping[str, str], data: Any) -> aiohttp.ClientResponse:
        if self._session is None:
            raise AssertionError("a transport is used inside its context")
        proxy = self._connection.proxy or system_proxy(url)
        try:
            return await self._session.request(
                method,
                URL(url, encoded=True),
                headers=headers,
                data=data() if callable(data) else data,
                allow_redirects=False,
                proxy=proxy,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = redact_text(str(error)) or type(error).__name__
            raise RegistryError(f"{method} {_shown(url)}: {reason}") from error

    async def _ask(self, request: TokenRequest) -> bytes:
        self._check_hop(self._base, request.url)
        url = str(URL(request.url).update_query(request.query)) if request.query else request.url
        headers = {"Authorization": request.authorization} if request.authorization else {}
        method = "POST" if request.form else "GET"
        response = await self._once(method, url, headers, aiohttp.FormData(request.form) if request.form else None)
        try:
            if response.status != 200:
                raise await _refusal(method, response)
            return await read(response, LARGEST_TOKEN)
        finally:
            response.release()

    def _check_hop(self, here: str, there: str) -> None:
        """Refuse a way on that leaves TLS, or leads to an address that means something else on every machine."""
        before, after = urlsplit(here), urlsplit(there)
        if after.scheme not in ("http", "https") or not after.hostname or after.username is not None:
            raise RegistryError(f"{_shown(here)} leads to an address that is not http or https", status=310)
        if before.scheme == "https" and after.scheme == "http" and not self._connection.insecure:
            raise RegistryError(f"{_shown(here)} leads from https to http, to {after.hostname}", status=310)
        if is_link_local(after.hostname):
            raise RegistryError(f"{_shown(here)} leads to the link-local address {after.hostname}", status=310)


async def read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer, refused when it is larger than that."""
    content = bytearray()
    try:
        async for chunk in response.content.iter_chunked(64 << 10):
            content += chunk
            if len(content) > most:
                raise RegistryError(f"{_shown(str(response.url))}: the answer is larger than {most} bytes", status=200)
    except (aiohttp.ClientError, OSError) as error:
        raise RegistryError(f"{_shown(str(response.url))}: the answer broke off") from error
    return bytes(content)


def is_link_local(host: str) -> bool:
    """Whether a host is written as an address such as 169.254.169.254, where clouds keep their secrets."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        return False


class _Problem(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Problems(msgspec.Struct, frozen=True):
    errors: tuple[_Problem, ...] = ()


async def _refusal(method: str, response: aiohttp.ClientResponse) -> RegistryError:
    told = ""
    try:
        problems = msgspec.json.decode(await response.content.read(_ANSWER), type=_Problems).errors
        told = "; ".join(f"{problem.code}: {problem.message}" for problem in problems[:3])
    except (msgspec.MsgspecError, aiohttp.ClientError, OSError):
        pass  # the status alone has to do
    reason = redact_text(told)[:1024] or f"unexpected status code {response.status} {response.reason or ''}".rstrip()
    return RegistryError(f"{method} {_shown(str(response.url))}: {reason}", status=response.status)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _shown(url: str) -> str:
    """An address without what may be secret in it: signatures stand in queries."""
    parts = urlsplit(url)
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
