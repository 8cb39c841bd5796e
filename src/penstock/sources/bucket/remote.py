"""A bucket as the place that a Bucket object names."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from penstock.paths import IgnoreError, IgnoreRules
from penstock.paths.ignore import parse
from penstock.sources.access import AccessError, Trust
from penstock.sources.bucket.azure import AzureClient
from penstock.sources.bucket.client import BucketError, Changed, Gone
from penstock.sources.bucket.cloud_logins import azure_login, gcs_token
from penstock.sources.bucket.gcs import GcsClient
from penstock.sources.bucket.index import location, revision
from penstock.sources.bucket.logins import check, s3_keys
from penstock.sources.bucket.s3 import S3Client
from penstock.sources.bucket.secrets import BucketSecrets
from penstock.sources.remote import Fetched, SourceError
from penstock.sources.web import Unreachable, Web, shown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

    from penstock.api.bucket import BucketSpec
    from penstock.sources.bucket.client import BucketClient, Entry

IGNORE = ".sourceignore"
WORKERS = 100
"""Objects that are fetched at the same time."""
LARGEST_IGNORE = 1 << 20
MOST_OBJECTS = 1_000_000

log = structlog.get_logger()

_TRIES = 3  # of an object that changes each time it is fetched


class BucketRemote:
    """One bucket, or the part of it that begins with a prefix.

    Only the `.sourceignore` at its root counts; nothing is left out by default.
    """

    def __init__(self, spec: BucketSpec, secrets: BucketSecrets | None = None) -> None:
        self._spec = spec
        self._secrets = secrets or BucketSecrets()
        self._entries: dict[str, Entry] | None = None

    async def resolve(self) -> str:
        """The revision of what the bucket holds now: it is listed, and nothing is fetched but the ignore rules."""
        if self._entries is None:
            async with self._client() as client:
                self._entries = await self._listed(client)
        return _revision(self._entries)

    async def fetch(self, into: Path) -> Fetched:
        """Fetch what was listed. Objects that vanish meanwhile are left out, changed ones taken as they are now."""
        async with self._client() as client:
            if self._entries is None:
                self._entries = await self._listed(client)
            fetched = await self._fetched(client, self._entries, into)
        self._entries = fetched
        return Fetched(
            revision=_revision(fetched),
            summary=f"with {len(fetched)} fetched files from '{self._spec.bucket_name}' bucket",
        )

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[BucketClient]:
        spec, secrets = self._spec, self._secrets
        check(spec, secrets)
        # Clouds have certificates that everybody trusts, and want none of ours.
        trusted = secrets.trust if spec.provider in ("generic", "aws") else Trust()
        try:
            async with Web(trusted, secrets.proxy, connections=WORKERS) as web:
                yield await self._made(web)
        except (AccessError, Unreachable) as error:
            raise SourceError(str(error), reason="AuthenticationFailed") from error

    async def _made(self, web: Web) -> BucketClient:
        spec, secrets = self._spec, self._secrets
        name, endpoint, insecure = spec.bucket_name, spec.endpoint, spec.insecure
        if spec.provider == "gcp":
            endpoint = endpoint.partition("://")[2] or endpoint
            return GcsClient(web, endpoint=endpoint, bucket=name, token=gcs_token(secrets, web), insecure=insecure)
        if spec.provider == "azure":
            return AzureClient(web, endpoint=endpoint, container=name, login=azure_login(spec, secrets))
        if "/" in endpoint.rstrip("/"):
            told = f"the endpoint '{shown(endpoint)}' is not a host with or without a port"
            raise SourceError(told, reason="AuthenticationFailed")
        keys = await s3_keys(spec, secrets)
        return S3Client(web, endpoint=endpoint, bucket=name, keys=keys, region=spec.region, insecure=insecure)

    async def _listed(self, client: BucketClient) -> dict[str, Entry]:
        await self._check_exists(client)
        rules = await self._rules(client)
        found: dict[str, Entry] = {}
        try:
            async for entry in client.entries(self._spec.prefix):
                if entry.key.endswith("/") or entry.key == IGNORE or rules.excludes(entry.key):
                    continue
                found[entry.key] = entry
                if len(found) > MOST_OBJECTS:
                    raise self._failed(f"bucket '{self._name}' holds more than {MOST_OBJECTS} objects")
        except BucketError as error:
            raise self._failed(f"indexation of objects from bucket '{self._name}' failed: {error}") from error
        return found

    async def _check_exists(self, client: BucketClient) -> None:
        try:
            exists = await client.exists()
        except BucketError as error:
            raise self._failed(f"failed to confirm existence of '{self._name}' bucket: {error}") from error
        if not exists:
            raise self._failed(f"bucket '{self._name}' not found")

    async def _rules(self, client: BucketClient) -> IgnoreRules:
        """The rules of the bucket, and those of the spec, which win."""
        try:
            text = (await client.content(IGNORE, most=LARGEST_IGNORE)).decode(errors="replace")
        except Gone:
            text = ""
        except BucketError as error:
            raise self._failed(f"failed to get Etag for '{IGNORE}' object: {error}") from error
        try:
            return IgnoreRules([*parse(text), *parse(self._spec.ignore)])
        except IgnoreError as error:
            raise SourceError(str(error), reason="SourceIgnoreError") from error

    async def _fetched(self, client: BucketClient, entries: dict[str, Entry], into: Path) -> dict[str, Entry]:
        """The objects that were really fetched, as they were then."""
        found: dict[str, Entry] = {}
        waiting = iter(entries.values())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(WORKERS, len(entries))):
                    group.create_task(self._work(client, waiting, into, found))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return found

    async def _work(self, client: BucketClient, waiting: Iterator[Entry], into: Path, found: dict[str, Entry]) -> None:
        for entry in waiting:
            try:
                found[entry.key] = await _fetch(client, entry, into)
            except Gone:
                log.info("indexed object disappeared from bucket", key=entry.key, bucket=self._name)
            except BucketError as error:
                told = f"fetch from bucket '{self._name}' failed: failed to get '{entry.key}' object: {error}"
                raise self._failed(told) from error

    @property
    def _name(self) -> str:
        return self._spec.bucket_name

    def _failed(self, told: str) -> SourceError:
        return SourceError(told, reason="BucketOperationFailed")


async def _fetch(client: BucketClient, entry: Entry, into: Path) -> Entry:
    """Save an object as it is; if it changed since it was listed, as it is now."""
    target = await asyncio.to_thread(_place, entry.key, into)
    for _ in range(_TRIES):
        try:
            await client.save(entry, target)
        except Changed:
            entry = await client.look(entry.key)
        except FileExistsError:
            raise BucketError("another object has the same path") from None
        else:
            return entry
    raise BucketError("it changes each time it is fetched")


def _place(key: str, into: Path) -> Path:
    path = location(key)
    if not path or "\0" in path:
        raise BucketError("its key is no path")
    target = into / path
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BucketError(f"its path cannot be made: {error.strerror}") from error
    return target


def _revision(entries: dict[str, Entry]) -> str:
    return revision({key: entry.etag for key, entry in entries.items()})
