"""Google Cloud Storage, by its JSON interface: only that tells the etags that Flux makes revisions of."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from penstock.sources.bucket.client import LARGEST_OBJECT, LARGEST_PAGE, BucketError, Entry, Requests
from penstock.sources.web import read, save

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

    from penstock.sources.web import Web


T = TypeVar("T")


class _Object(msgspec.Struct, frozen=True):
    name: str
    etag: str
    generation: str


class _Page(msgspec.Struct, frozen=True, rename="camel"):
    items: tuple[_Object, ...] = ()
    next_page_token: str = ""


class GcsClient:
    """One bucket of Google Cloud Storage."""

    def __init__(
        self,
        web: Web,
        *,
        endpoint: str,
        bucket: str,
        token: Callable[[], Awaitable[tuple[str, float]]] | None,
        insecure: bool = False,
    ) -> None:
        """`token` gives an access token and until when it holds, in seconds of the clock `time.time`."""
        self._requests = Requests(web)
        scheme = "http" if insecure else "https"
        self._bucket = f"{scheme}://{endpoint.strip('/')}/storage/v1/b/{quote(bucket, safe='')}"
        self._token = token
        self._header = ""
        self._until = 0.0

    async def exists(self) -> bool:
        await self._login()
        async with self._requests.get(self._bucket, self._sign, accept=frozenset((200, 404))) as answer:
            return answer.status == 200

    async def entries(self, prefix: str) -> AsyncIterator[Entry]:
        token = ""
        while True:
            await self._login()
            query = {"prefix": prefix, "fields": "items(name,etag,generation),nextPageToken", "pageToken": token}
            url = f"{self._bucket}/o?{urlencode({name: value for name, value in query.items() if value})}"
            async with self._requests.get(url, self._sign) as answer:
                page = _decode(await read(answer, LARGEST_PAGE), _Page)
            for item in page.items:
                yield Entry(item.name, item.etag, item.generation)
            if not page.next_page_token or page.next_page_token == token:
                return
            token = page.next_page_token

    async def content(self, key: str, *, most: int) -> bytes:
        await self._login()
        async with self._requests.get(f"{self._url(key)}?alt=media", self._sign) as answer:
            return await read(answer, most)

    async def look(self, key: str) -> Entry:
        await self._login()
        async with self._requests.get(self._url(key), self._sign) as answer:
            found = _decode(await read(answer, LARGEST_PAGE), _Object)
        return Entry(key, found.etag, found.generation)

    async def save(self, entry: Entry, path: Path) -> None:
        await self._login()
        condition = f"&ifGenerationMatch={quote(entry.version, safe='')}" if entry.version else ""
        async with self._requests.get(f"{self._url(entry.key)}?alt=media{condition}", self._sign) as answer:
            if await save(answer, path, most=LARGEST_OBJECT) > LARGEST_OBJECT:
                raise BucketError(f"'{entry.key}' is larger than {LARGEST_OBJECT} bytes")

    def _url(self, key: str) -> str:
        return f"{self._bucket}/o/{quote(key, safe='')}"

    async def _login(self) -> None:
        if self._token is None or time.time() < self._until - 60:
            return
        token, self._until = await self._token()
        self._header = f"Bearer {token}"

    def _sign(self, method: str, url: str, headers: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        return {**headers, "Authorization": self._header} if self._header else headers


def _decode(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise BucketError(f"the storage's answer is damaged: {error}") from error
