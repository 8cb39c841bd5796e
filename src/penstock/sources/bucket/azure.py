"""Azure Blob Storage."""

from __future__ import annotations

import base64
import hmac
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from penstock.sources.bucket.client import (
    LARGEST_OBJECT,
    LARGEST_PAGE,
    BucketError,
    Entry,
    Gone,
    Requests,
    local,
    parse_xml,
    text,
    unquoted,
)
from penstock.sources.web import read, save

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from penstock.sources.web import Web

VERSION = "2023-11-03"


@dataclass(frozen=True, slots=True)
class AzureLogin:
    """One way to log in; with none of them, nobody does."""

    account: str = ""
    account_key: bytes = field(default=b"", repr=False)
    sas: str = field(default="", repr=False)
    """A query that carries its own signature."""
    token: Callable[[], Awaitable[tuple[str, float]]] | None = None
    """Gives an access token and until when it holds, in seconds of the clock `time.time`."""


class AzureClient:
    """One container."""

    def __init__(self, web: Web, *, endpoint: str, container: str, login: AzureLogin) -> None:
        self._requests = Requests(web)
        self._container = f"{endpoint.rstrip('/')}/{quote(container, safe='-._~$')}"
        self._login = login
        self._header = ""
        self._until = 0.0

    async def exists(self) -> bool:
        try:
            async for _ in self._pages({"maxresults": "1"}):
                return True
        except Gone:
            return False
        return True

    async def entries(self, prefix: str) -> AsyncIterator[Entry]:
        async for element in self._pages({"prefix": prefix} if prefix else {}):
            yield element

    async def content(self, key: str, *, most: int) -> bytes:
        await self._authenticate()
        async with self._requests.get(self._url(key), self._sign) as answer:
            return await read(answer, most)

    async def look(self, key: str) -> Entry:
        await self._authenticate()
        async with self._requests.get(self._url(key), self._sign, method="HEAD") as answer:
            etag = unquoted(answer.headers.get("ETag", ""))
            return Entry(key, etag, etag)

    async def save(self, entry: Entry, path: Path) -> None:
        await self._authenticate()
        condition = {"If-Match": f'"{entry.version}"'} if entry.version else {}
        async with self._requests.get(self._url(entry.key), self._sign, headers=condition) as answer:
            if await save(answer, path, most=LARGEST_OBJECT) > LARGEST_OBJECT:
                raise BucketError(f"'{entry.key}' is larger than {LARGEST_OBJECT} bytes")

    async def _pages(self, query: Mapping[str, str]) -> AsyncIterator[Entry]:
        marker = ""
        while True:
            await self._authenticate()
            asked = {"restype": "container", "comp": "list", **query, **({"marker": marker} if marker else {})}
            async with self._requests.get(
                self._with_sas(f"{self._container}?{urlencode(asked)}"), self._sign
            ) as answer:
                page = parse_xml(await read(answer, LARGEST_PAGE))
            for blobs in page:
                if local(blobs) == "Blobs":
                    for blob in blobs:
                        yield _entry(blob)
            following = text(page, "NextMarker")
            if not following or following == marker:
                return
            marker = following

    def _url(self, key: str) -> str:
        return self._with_sas(f"{self._container}/{quote(key, safe='-._~/')}")

    def _with_sas(self, url: str) -> str:
        if not self._login.sas:
            return url
        return f"{url}{'&' if '?' in url else '?'}{self._login.sas.removeprefix('?')}"

    async def _authenticate(self) -> None:
        if self._login.token is None or time.time() < self._until - 60:
            return
        token, self._until = await self._login.token()
        self._header = f"Bearer {token}"

    def _sign(self, method: str, url: str, headers: Mapping[str, str]) -> Mapping[str, str]:
        sent = {**headers, "x-ms-version": VERSION, "x-ms-date": formatdate(usegmt=True)}
        if self._header:
            sent["Authorization"] = self._header
        elif self._login.account_key:
            sent["Authorization"] = shared_key(method, url, sent, self._login.account, self._login.account_key)
        return sent


def shared_key(method: str, url: str, headers: Mapping[str, str], account: str, key: bytes) -> str:
    """The header of Azure's own signature for a request without a body."""
    parts = urlsplit(url)
    own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
    resource = f"/{account}{parts.path}"
    query = sorted((name.lower(), value) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    resource += "".join(f"\n{name}:{value}" for name, value in query)
    fixed = ["", "", "", "", "", "", "", headers.get("If-Match", ""), "", "", ""]
    message = "\n".join([method, *fixed]) + f"\n{own}{resource}"
    value = base64.b64encode(hmac.digest(key, message.encode(), "sha256")).decode()
    return f"SharedKey {account}:{value}"


def _entry(blob: Element) -> Entry:
    name = next((child for child in blob if local(child) == "Name"), None)
    key = (name.text or "") if name is not None else ""
    if name is not None and name.get("Encoded") == "true":
        key = unquote(key)
    etag = unquoted(text(blob, "Properties", "Etag"))
    return Entry(key, etag, etag)
