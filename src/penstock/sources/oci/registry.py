"""What a registry can be asked about one repository. Everything it gives is compared with its digest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import quote, urljoin

import msgspec

from penstock.sources.oci.manifest import ACCEPT, LARGEST, Descriptor, Document, ManifestError, choose, document
from penstock.sources.oci.reference import InvalidReference, check_digest, is_digest
from penstock.sources.oci.transport import RegistryError, Transport
from penstock.sources.web import read, save

if TYPE_CHECKING:
    from pathlib import Path

    import aiohttp

    from penstock.sources.oci.reference import Repository
    from penstock.sources.oci.transport import Connection

LARGEST_BLOB = 4 << 30
"""Bytes of a layer."""
MOST_TAGS = 1_000_000

T = TypeVar("T")

_PAGE = 1000
_LARGEST_PAGE = 16 << 20
_NOT_FOUND = 404
_MOST_PAGES = 50


class _Tags(msgspec.Struct, frozen=True):
    tags: tuple[str, ...] | None = None


class _Referrers(msgspec.Struct, frozen=True):
    manifests: tuple[Descriptor, ...] = ()


class Registry:
    """One repository of a registry, open while the context is."""

    def __init__(self, repository: Repository, connection: Connection) -> None:
        self.repository = repository
        self.transport = Transport(repository, connection)
        self.root = f"/v2/{repository.name}"

    async def __aenter__(self) -> Self:
        await self.transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.__aexit__(None, None, None)

    async def digest(self, reference: str) -> str:
        """The digest of the manifest that a tag names now: one request without a body, where the registry can."""
        if is_digest(reference):
            return check_digest(reference)
        try:
            async with self.transport.send("HEAD", self._manifest(reference), headers={"Accept": ACCEPT}) as answer:
                return check_digest(answer.headers.get("Docker-Content-Digest", ""))
        except RegistryError as error:
            if error.status in (0, 401, 403):
                raise
        except InvalidReference:
            pass  # some registries do not say it
        return (await self.manifest(reference)).digest

    async def manifest(self, reference: str) -> Document:
        """The manifest or index under a tag or digest."""
        async with self.transport.send("GET", self._manifest(reference), headers={"Accept": ACCEPT}) as answer:
            content = await read(answer, LARGEST)
            expected = reference if is_digest(reference) else None
            return document(content, answer.headers.get("Content-Type", ""), expected=expected)

    async def image(self, reference: str) -> Document:
        """The manifest of an image; of an index, the one for linux/amd64."""
        found = await self.manifest(reference)
        if not found.is_index:
            return found
        chosen = await self.manifest(choose(found.index()).digest)
        if chosen.is_index:
            raise ManifestError(f"the index {found.digest} leads to another index")
        return chosen

    async def read_blob(self, descriptor: Descriptor, *, most: int) -> bytes:
        """A small blob, in memory."""
        _check_size(descriptor, most)
        async with self.transport.send("GET", self._blob(descriptor.digest)) as answer:
            content = await read(answer, descriptor.size)
        _compare(descriptor, hashlib.new(_algorithm(descriptor), content).hexdigest(), len(content))
        return content

    async def save_blob(self, descriptor: Descriptor, path: Path, *, most: int = LARGEST_BLOB) -> None:
        """Write a blob to a new file; what is there after an error is not to be used."""
        _check_size(descriptor, most)
        async with self.transport.send("GET", self._blob(descriptor.digest)) as answer:
            hasher = hashlib.new(_algorithm(descriptor))
            size = await save(answer, path, most=descriptor.size, also=hasher.update)
        _compare(descriptor, hasher.hexdigest(), size)

    async def tags(self) -> list[str]:
        """All tags, in the order of the registry."""
        found: list[str] = []
        path: str | None = f"{self.root}/tags/list?n={_PAGE}"
        seen: set[str] = set()
        while path and path not in seen:
            seen.add(path)
            async with self.transport.send("GET", path) as answer:
                found += _decode(await read(answer, _LARGEST_PAGE), _Tags).tags or ()
                path = _next(answer)
            if len(found) > MOST_TAGS:
                raise RegistryError(f"{self.repository} has more than {MOST_TAGS} tags", status=200)
        return found

    async def referrers(self, digest: str) -> tuple[Descriptor, ...]:
        """What is attached to a manifest, such as signatures; empty when there is nothing."""
        path: str | None = f"{self.root}/referrers/{check_digest(digest)}"
        found: list[Descriptor] = []
        seen: set[str] = set()
        try:
            while path and path not in seen and len(seen) < _MOST_PAGES:
                seen.add(path)
                async with self.transport.send("GET", path) as answer:
                    if "json" not in answer.content_type:
                        return await self._tagged_referrers(digest)
                    found += _decode(await read(answer, LARGEST), _Referrers).manifests
                    path = _next(answer)
        except RegistryError as error:
            if found or error.status not in (_NOT_FOUND, 400, 405):
                raise
            return await self._tagged_referrers(digest)
        return tuple(found)

    async def _tagged_referrers(self, digest: str) -> tuple[Descriptor, ...]:
        """Registries that do not know the question keep the answer under a tag made of the digest."""
        try:
            found = await self.manifest(digest.replace(":", "-"))
        except RegistryError as error:
            if error.status == _NOT_FOUND:
                return ()
            raise
        return found.index().manifests if found.is_index else ()

    def _manifest(self, reference: str) -> str:
        return f"{self.root}/manifests/{quote(reference, safe=':')}"

    def _blob(self, digest: str) -> str:
        return f"{self.root}/blobs/{check_digest(digest)}"


def _algorithm(descriptor: Descriptor) -> str:
    return descriptor.digest.partition(":")[0]


def _check_size(descriptor: Descriptor, most: int) -> None:
    if descriptor.size > most:
        raise ManifestError(f"the blob {descriptor.digest} has {descriptor.size} bytes; {most} are allowed")


def _compare(descriptor: Descriptor, found: str, size: int) -> None:
    if size != descriptor.size:
        more = "more" if size > descriptor.size else f"{size}"
        raise ManifestError(f"the blob {descriptor.digest} should have {descriptor.size} bytes and has {more}")
    if f"{_algorithm(descriptor)}:{found}" != descriptor.digest:
        raise ManifestError(f"the content of the blob {descriptor.digest} does not have this digest")


def _next(answer: aiohttp.ClientResponse) -> str | None:
    """Where the next page is; on the same registry, whatever the header says."""
    link = answer.links.get("next")
    if link is None:
        return None
    url = urljoin(str(answer.url), str(link["url"]))
    if not url.startswith(str(answer.url.origin())):
        raise RegistryError("the registry's next page is on another host", final=True)
    return url


def _decode(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise RegistryError(f"the registry's answer is damaged: {error}", status=200) from error
