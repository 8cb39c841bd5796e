"""Requests to one registry: the login, tries, and redirects.

A login goes to the registry itself and to the token service that it names, and nowhere else: registries redirect
downloads to other hosts, and those get none. Nothing goes from https to http.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec
from yarl import URL

from penstock.errors import PenstockError
from penstock.runtime.redaction import redact_text
from penstock.sources.access import Trust
from penstock.sources.oci.authorization import LARGEST_TOKEN, AuthorizationError, Authorizer, parse_challenge
from penstock.sources.oci.credentials import Credential
from penstock.sources.web import FIRST_PAUSE, RETRIED, TRIES, Forbidden, TooLarge, Unreachable, Web, origin, read, shown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from penstock.sources.oci.authorization import TokenRequest
    from penstock.sources.oci.reference import Repository

REDIRECTS = 5

_ANSWER = 64 << 10  # bytes of an error's body that are read


class RegistryError(PenstockError):
    """The registry could not be reached, or said no."""

    def __init__(self, message: str, *, status: int = 0, final: bool = False) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; 0 when there was no answer that we could use."""
        self.final = final or status != 0
        """Trying again at once does not help."""


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
        self._web = Web(connection.trust, connection.proxy)

    async def __aenter__(self) -> Self:
        try:
            await self._web.__aenter__()
        except Unreachable as error:
            raise RegistryError(str(error)) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._web.__aexit__()

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
        except (Unreachable, TooLarge) as error:  # while the answer was read
            raise RegistryError(str(error), status=response.status) from error
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
                if attempt == TRIES or error.final:
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
            same = origin(url) == origin(self._base)
            login = {"Authorization": authorization} if authorization and same else {}
            response = await self._once(method, url, {**headers, **login}, data)
            location = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or not location or method not in ("GET", "HEAD"):
                return response
            response.release()
            here, url = url, urljoin(url, location)
            self._check_hop(here, url)
        raise RegistryError(f"{method} {shown(url)}: more than {REDIRECTS} redirects", final=True)

    async def _once(self, method: str, url: str, headers: Mapping[str, str], data: Any) -> aiohttp.ClientResponse:
        try:
            return await self._web.send(method, url, headers=headers, data=data() if callable(data) else data)
        except Forbidden as error:
            raise RegistryError(str(error), final=True) from error
        except Unreachable as error:
            raise RegistryError(str(error)) from error

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
        """Refuse a way on that leaves TLS."""
        before, after = urlsplit(here), urlsplit(there)
        if before.scheme == "https" and after.scheme == "http" and not self._connection.insecure:
            raise RegistryError(f"{shown(here)} leads from https to http, to {after.hostname}", final=True)


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
    return RegistryError(f"{method} {shown(str(response.url))}: {reason}", status=response.status)
