"""Fetches artifacts from wherever they are served, ours or Flux's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp
import structlog

from penstock.errors import PenstockError
from penstock.runtime.delays import Backoff
from penstock.sources.store import digests

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from yarl import URL

    from penstock.api.meta import Artifact

TRIES = 9
LOCALHOST = "SOURCE_CONTROLLER_LOCALHOST"
"""Environment variable with the `host:port` that takes the place of the one in every URL."""
LARGEST = 2 << 30
"""Bytes of one artifact."""
QUIET = 60.0
"""Seconds without a byte after which a try is given up."""
_CHUNK = 256 * 1024

log = structlog.get_logger()


Latest = Callable[[], "Artifact | None"]
"""Gives the artifact that a source has at that moment, if it has one."""


class FetchError(PenstockError):
    """An artifact could not be fetched; the next try may fare better."""


class ArtifactGone(FetchError):
    """The server does not have the artifact; its source will make a new one."""


class DigestMismatch(FetchError):
    """What came is not what the status of the source promised."""


class _Again(Exception):
    """This try failed in a way that another may not."""


class ArtifactFetcher:
    """Downloads artifacts and believes only their digest."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        tries: int = TRIES,
        backoff: Backoff | None = None,
        largest: int = LARGEST,
        host: str = "",
    ) -> None:
        """`host` takes the place of the host and port in every URL."""
        self._session = session
        self._tries, self._largest, self._host = tries, largest, host
        self._backoff = backoff or Backoff(base=1.0, cap=30.0)

    @classmethod
    @asynccontextmanager
    async def open(cls, **options: object) -> AsyncGenerator[ArtifactFetcher]:
        """A fetcher with connections of its own; the environment may name another host for all URLs."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=QUIET)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False, auto_decompress=False) as session:
            yield cls(session, **{"host": os.environ.get(LOCALHOST, ""), **options})  # type: ignore[arg-type]

    async def fetch(
        self,
        artifact: Artifact,
        into: Path,
        *,
        latest: Latest = lambda: None,
        needless: Callable[[], Awaitable[bool]] | None = None,
    ) -> bool:
        """Put the artifact into a new file; after an error there is no file.

        Broken connections and troubled servers are tried again, at the address that `latest` has by then: who served
        it may be gone, and somebody else serves the same. False when it was `needless` to try again. The caller bounds
        the whole.
        """
        url = self._url(artifact)
        told = ""
        for attempt in range(self._tries):
            if attempt:
                await asyncio.sleep(self._backoff.delay(attempt - 1))
                if needless is not None and await needless():
                    return False
                url = self._moved(artifact, latest()) or url
            try:
                await self._attempt(url, artifact, into)
            except (_Again, aiohttp.ClientError, TimeoutError) as error:
                told = str(error) or type(error).__name__
                log.info("fetching an artifact failed", path=artifact.path, error=told)
                continue
            return True
        raise FetchError(f"cannot fetch the artifact '{artifact.path}' after {self._tries} tries: {told}")

    async def check(self, artifact: Artifact) -> None:
        """Ask whether the artifact is still there, without fetching it; ArtifactGone when it is not."""
        try:
            async with self._session.head(self._url(artifact), allow_redirects=False) as answer:
                _judge(answer, artifact)
        except (_Again, aiohttp.ClientError, TimeoutError) as error:
            raise FetchError(f"cannot ask for the artifact '{artifact.path}': {error}") from error

    def _url(self, artifact: Artifact) -> URL:
        from yarl import URL

        parts = urlsplit(artifact.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise FetchError(f"the artifact '{artifact.path}' has no address over HTTP")
        digests.split(artifact.digest)
        if self._host:
            parts = parts._replace(netloc=self._host)
        return URL(parts.geturl(), encoded=True)

    def _moved(self, artifact: Artifact, now: Artifact | None) -> URL | None:
        """Where the artifact is by now; None when nobody knows better."""
        if now is None:
            return None
        if not digests.same(now.digest, artifact.digest):
            raise ArtifactGone(f"the artifact '{artifact.path}' is no longer what its source offers")
        return self._url(now)

    async def _attempt(self, url: URL, artifact: Artifact, into: Path) -> None:
        async with self._session.get(url, allow_redirects=False) as answer:
            _judge(answer, artifact)
            try:
                digest = await self._receive(answer, artifact, into)
            except BaseException:
                await asyncio.to_thread(into.unlink, missing_ok=True)
                raise
        if not digests.same(digest, artifact.digest):
            await asyncio.to_thread(into.unlink, missing_ok=True)
            raise DigestMismatch(f"the artifact '{artifact.path}' has the digest {digest}, not {artifact.digest}")

    async def _receive(self, answer: aiohttp.ClientResponse, artifact: Artifact, into: Path) -> str:
        """Write the body to a file, no more of it than was promised; the answer is its digest."""
        limit = min(self._largest, artifact.size or self._largest)
        too_large = FetchError(f"the artifact '{artifact.path}' is larger than {limit} bytes")
        if (answer.content_length or 0) > limit:
            raise too_large
        with await asyncio.to_thread(into.open, "xb") as file:
            out = digests.Hashing(file, digests.split(artifact.digest)[0])
            async for part in answer.content.iter_chunked(_CHUNK):
                await asyncio.to_thread(out.write, part)
                if out.size > limit:
                    raise too_large
            await asyncio.to_thread(file.flush)
        return out.digest


def _judge(answer: aiohttp.ClientResponse, artifact: Artifact) -> None:
    status = answer.status
    if status == 200:
        return
    if status == 404:
        raise ArtifactGone(f"the artifact '{artifact.path}' is not found; its source may be building a new one")
    if status == 429 or (status >= 500 and status != 501):
        raise _Again(f"the server answered {status}")
    if 300 <= status < 400:
        raise FetchError(f"the artifact '{artifact.path}' is answered with a redirect, which is not followed")
    raise FetchError(f"the artifact '{artifact.path}' is answered with status {status}")
