"""S3 and everything that speaks its protocol."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote_plus, urlsplit

from penstock.sources.bucket.client import (
    LARGEST_OBJECT,
    LARGEST_PAGE,
    BucketError,
    Changed,
    Entry,
    Gone,
    Requests,
    local,
    parse_xml,
    refusal,
    text,
    unquoted,
)
from penstock.sources.sigv4 import Keys, Scope, signature
from penstock.sources.web import read, save

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from pathlib import Path

    from penstock.sources.web import Web

PAGE = 1000
"""Objects of one answer."""

_EMPTY = hashlib.sha256(b"").hexdigest()
_AWS = re.compile(r"s3[.-](?:dualstack\.)?(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
_SAFE = "-._~"


class S3Client:
    """One bucket of an S3 storage."""

    def __init__(
        self,
        web: Web,
        *,
        endpoint: str,
        bucket: str,
        keys: Keys,
        region: str = "",
        insecure: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._requests = Requests(web)
        scheme, host = "http" if insecure else "https", endpoint.strip("/")
        if _hosted(host, bucket):
            self._base = f"{scheme}://{bucket}.{host}"
        else:
            self._base = f"{scheme}://{host}/{quote(bucket, safe=_SAFE)}"
        self._keys = keys
        self._region = region or _region(host)
        self._now = now

    async def exists(self) -> bool:
        """Whether the bucket is there; learns on the way in which region, if the storage tells."""
        statuses = frozenset((200, 301, 400, 403, 404))
        for _ in range(2):
            async with self._requests.get(f"{self._base}/", self._sign, method="HEAD", accept=statuses) as answer:
                region = answer.headers.get("x-amz-bucket-region", self._region)
                if answer.status in (200, 404):
                    return answer.status == 200
                if region == self._region:
                    raise await refusal("HEAD", answer)
                self._region = region
        raise BucketError(f"{self._base}: the storage names another region each time")

    async def entries(self, prefix: str) -> AsyncIterator[Entry]:
        token = ""
        while True:
            query = {"list-type": "2", "encoding-type": "url", "max-keys": str(PAGE), "prefix": prefix}
            if token:
                query["continuation-token"] = token
            url = f"{self._base}/?{_query(query.items())}"
            async with self._requests.get(url, self._sign) as answer:
                page = parse_xml(await read(answer, LARGEST_PAGE))
            encoded = text(page, "EncodingType") == "url"
            for element in page:
                if local(element) == "Contents":
                    key, etag = text(element, "Key"), unquoted(text(element, "ETag"))
                    yield Entry(unquote_plus(key) if encoded else key, etag, etag)
            following = text(page, "NextContinuationToken") if text(page, "IsTruncated") == "true" else ""
            if not following or following == token:
                return
            token = following

    async def content(self, key: str, *, most: int) -> bytes:
        async with self._requests.get(self._url(key), self._sign) as answer:
            return await read(answer, most)

    async def look(self, key: str) -> Entry:
        async with self._requests.get(self._url(key), self._sign, method="HEAD") as answer:
            etag = unquoted(answer.headers.get("ETag", ""))
            return Entry(key, etag, etag)

    async def save(self, entry: Entry, path: Path) -> None:
        condition = {"If-Match": f'"{entry.version}"'} if entry.version else {}
        async with self._requests.get(self._url(entry.key), self._sign, headers=condition) as answer:
            if entry.version and unquoted(answer.headers.get("ETag", entry.version)) != entry.version:
                raise Changed(f"'{entry.key}' changed, and the storage did not say so")
            if await save(answer, path, most=LARGEST_OBJECT) > LARGEST_OBJECT:
                raise BucketError(f"'{entry.key}' is larger than {LARGEST_OBJECT} bytes")

    def _url(self, key: str) -> str:
        if not key:
            raise Gone("there is no object without a name")
        return f"{self._base}/{quote(key, safe=_SAFE + '/')}"

    def _sign(self, method: str, url: str, headers: Mapping[str, str]) -> Mapping[str, str]:
        if not self._keys.access_key:
            return headers
        return {**headers, **signed_headers(method, url, keys=self._keys, region=self._region, now=self._now())}


def signed_headers(method: str, url: str, *, keys: Keys, region: str, now: datetime) -> dict[str, str]:
    """The headers that sign a request without a body."""
    scope = Scope(now.strftime("%Y%m%dT%H%M%SZ"), region, "s3")
    parts = urlsplit(url)
    signed = {"host": parts.netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": scope.stamp}
    if keys.session_token:
        signed["x-amz-security-token"] = keys.session_token
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        (
            method,
            parts.path or "/",
            _query(parse_qsl(parts.query, keep_blank_values=True)),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            _EMPTY,
        )
    )
    value = signature(canonical, scope, keys)
    credential = f"Credential={keys.access_key}/{scope}"
    del signed["host"]
    return {**signed, "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={value}"}


def _query(pairs: Iterable[tuple[str, str]]) -> str:
    encoded = [(quote(name, safe=_SAFE), quote(value, safe=_SAFE)) for name, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))


def _hosted(host: str, bucket: str) -> bool:
    """Amazon wants the bucket in the name of the host; everybody else takes it in the path."""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn")) and "." not in bucket


def _region(host: str) -> str:
    found = _AWS.fullmatch(host)
    return found["region"] if found else "us-east-1"
