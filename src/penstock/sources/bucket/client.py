"""What every kind of storage can be asked about one bucket, and how the answers are got."""

from __future__ import annotations

import asyncio
import random
import re
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from xml.etree import ElementTree as ET

import aiohttp

from penstock.errors import PenstockError
from penstock.runtime.redaction import redact_text
from penstock.sources.web import FIRST_PAUSE, RETRIED, TRIES, Forbidden, TooLarge, Unreachable, Web, shown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
    from pathlib import Path

LARGEST_PAGE = 16 << 20
"""Bytes of one page of a listing."""
LARGEST_OBJECT = 4 << 30
"""Bytes of one object."""

_ANSWER = 64 << 10


class BucketError(PenstockError):
    """The storage could not be reached, or said no. Never tells a signature."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Gone(BucketError):
    """There is no such object (any more)."""


class Changed(BucketError):
    """The object is another one than was listed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a listing."""

    key: str
    etag: str
    """Without quotes, as it goes into the revision."""
    version: str
    """What a conditional request names it by: the etag, or a generation."""


class BucketClient(Protocol):
    """One bucket."""

    async def exists(self) -> bool: ...

    def entries(self, prefix: str) -> AsyncIterator[Entry]:
        """All objects whose keys begin with this text, in the order of the storage."""
        ...

    async def content(self, key: str, *, most: int) -> bytes:
        """A small object; Gone if it is not there."""
        ...

    async def look(self, key: str) -> Entry:
        """The object as it is now; Gone if it is not there."""
        ...

    async def save(self, entry: Entry, path: Path) -> None:
        """Write the object to a new file; Gone or Changed if it is not the one that was listed any more."""
        ...


class Requests:
    """Sends requests that are signed anew for each try."""

    def __init__(self, web: Web) -> None:
        self._web = web

    @asynccontextmanager
    async def get(
        self,
        url: str,
        sign: Callable[[str, str, Mapping[str, str]], Mapping[str, str]],
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        accept: frozenset[int] = frozenset((200,)),
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """The answer, which has an accepted status; `sign` gives the headers for method, address and headers."""
        response = await self._persist(method, url, sign, headers or {})
        try:
            if response.status not in accept:
                raise await refusal(method, response)
            yield response
        except (Unreachable, TooLarge) as error:  # while the answer was read
            raise BucketError(str(error)) from error
        finally:
            response.release()

    async def _persist(
        self,
        method: str,
        url: str,
        sign: Callable[[str, str, Mapping[str, str]], Mapping[str, str]],
        headers: Mapping[str, str],
    ) -> aiohttp.ClientResponse:
        pause = FIRST_PAUSE
        for attempt in range(1, TRIES + 1):
            try:
                response = await self._web.send(method, url, headers=sign(method, url, headers))
            except Unreachable as error:
                if attempt == TRIES or isinstance(error, Forbidden):
                    raise BucketError(str(error)) from error
            else:
                if attempt == TRIES or response.status not in RETRIED:
                    return response
                response.release()
            await asyncio.sleep(pause * random.uniform(1, 1.1))  # noqa: S311 - spreads load, guards nothing
            pause *= 3
        raise AssertionError("the last try returns or raises")


async def refusal(method: str, response: aiohttp.ClientResponse) -> BucketError:
    """What a status means, with the storage's own code and words where it gives them."""
    told = ""
    with suppress(aiohttp.ClientError, OSError):  # the status alone has to do then
        told = _told((await response.content.read(_ANSWER)).decode(errors="replace"))
    reason = redact_text(told)[:512] or f"unexpected status code {response.status} {response.reason or ''}".rstrip()
    kind = {404: Gone, 412: Changed}.get(response.status, BucketError)
    return kind(f"{method} {shown(str(response.url))}: {reason}", status=response.status)


def parse_xml(content: bytes) -> ET.Element:
    """A storage's answer. Entities and document types have no place in one, and could make it explode."""
    if b"<!" in content:
        raise BucketError("the storage's answer holds declarations, which no listing has")
    try:
        return ET.fromstring(content)  # noqa: S314 - what makes it dangerous is refused above
    except ET.ParseError as error:
        raise BucketError(f"the storage's answer is damaged: {error}") from error


def text(element: ET.Element, *path: str) -> str:
    """The text of a nested element by its local names; empty if it is not there."""
    found: ET.Element | None = element
    for name in path:
        if found is None:
            return ""
        found = next((child for child in found if local(child) == name), None)
    return (found.text or "") if found is not None else ""


def local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def unquoted(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def _told(answer: str) -> str:
    """Code and message of an error in XML or JSON, by sight: half an answer is enough."""
    code = re.search(r'<Code>([^<]{1,200})</Code>|"(?:status|reason)"\s*:\s*"([^"]{1,200})"', answer)
    message = re.search(r'<Message>([^<]{1,400})|"message"\s*:\s*"([^"]{1,400})"', answer)
    parts = [next(group for group in found.groups() if group) for found in (code, message) if found]
    return " ".join(": ".join(parts).split())
