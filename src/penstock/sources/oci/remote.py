"""An image of a registry as the place that an OCIRepository names.

The tag is looked up once, and everything after that goes by digest: what was verified is what is fetched, whatever
happens to the tag meanwhile.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Protocol

import re2

from penstock.api.ocirepository import LayerSelector, OCIReference
from penstock.paths import ArchiveError, unpack
from penstock.semver import Constraint, InvalidConstraint, InvalidVersion, Version
from penstock.sources.access import AccessError
from penstock.sources.oci.manifest import CHART, REVISION, SOURCE, ManifestError, select
from penstock.sources.oci.reference import (
    DEFAULT_TAG,
    InvalidReference,
    check_digest,
    check_tag,
    is_digest,
    parse_repository,
)
from penstock.sources.oci.registry import Registry
from penstock.sources.oci.transport import RegistryError
from penstock.sources.remote import Fetched, SourceError, Stalled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable
    from pathlib import Path

    from penstock.sources.oci.manifest import Descriptor, Manifest
    from penstock.sources.oci.transport import Connection

PULL_FAILED = "OCIArtifactPullFailed"
LAYER_FAILED = "OCIArtifactLayerOperationFailed"

_LAYER = ".layer"  # of the downloaded bytes, in the directory to fetch into


class Verifier(Protocol):
    """Checks who signed an image."""

    async def verify(self, registry: Registry, digest: str) -> bool:
        """True when the signature holds, False when the policy says not to look; VerificationFailed otherwise."""
        ...


class OCIRemote:
    """One image of a registry, by digest, range of versions or tag."""

    def __init__(
        self,
        url: str,
        connection: Connection,
        *,
        reference: OCIReference | None = None,
        layer: LayerSelector | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        self._url = url
        self._connection = connection
        self._wanted = reference or OCIReference()
        self._layer = layer or LayerSelector()
        self._verifier = verifier
        self._revision = ""

    async def resolve(self) -> str:
        """The revision that the reference names now: one request, one more for a range of versions."""
        if not self._revision:
            async with self._registry() as registry:
                self._revision = await self._resolved(registry)
        return self._revision

    async def fetch(self, into: Path) -> Fetched:
        """Download one layer and unpack it, or keep it as it is.

        Links in the layer are left out, as Flux does; anything else that is no file or directory is refused.
        """
        revision = await self.resolve()
        async with self._registry() as registry:
            verified = await self._verified(self._verifier, registry, revision) if self._verifier else ""
            manifest = await self._manifest(registry, digest_of(revision))
            file = await self._download(registry, manifest, into)
        if self._layer.operation == "extract":
            await asyncio.to_thread(_unpack, file, into)
        return Fetched(
            revision=revision,
            summary=self._summary(revision, manifest),
            metadata=manifest.annotations,
            blob=file if self._layer.operation == "copy" else None,
            verified=verified,
        )

    @asynccontextmanager
    async def _registry(self) -> AsyncGenerator[Registry]:
        try:
            repository = parse_repository(self._url)
        except InvalidReference as error:
            raise Stalled(f"URL validation failed for '{self._url}': {error}", reason="URLInvalid") from error
        try:
            async with Registry(repository, self._connection) as registry:
                yield registry
        except (AccessError, RegistryError) as error:
            raise SourceError(
                f"failed to generate transport for '{self._url}': {error}", reason="AuthenticationFailed"
            ) from error

    async def _resolved(self, registry: Registry) -> str:
        with _failing(f"failed to determine the artifact tag for '{self._url}'", "ReadOperationFailed"):
            reference = await self._reference(registry)
        with _failing("failed to determine artifact digest", PULL_FAILED):
            digest = await registry.digest(reference)
        return digest if is_digest(reference) else f"{reference}@{digest}"

    async def _reference(self, registry: Registry) -> str:
        if self._wanted.digest:
            return check_digest(self._wanted.digest)
        if self._wanted.semver:
            tags = await registry.tags()
            return newest(tags, self._wanted.semver, only=self._wanted.semver_filter, chart=self._is_chart)
        return check_tag(self._wanted.tag or DEFAULT_TAG)

    async def _verified(self, verifier: Verifier, registry: Registry, revision: str) -> str:
        if await verifier.verify(registry, digest_of(revision)):
            return f"verified signature of revision {revision}"
        return ""

    async def _manifest(self, registry: Registry, digest: str) -> Manifest:
        with _failing(f"failed to pull artifact from '{self._url}'", PULL_FAILED):
            found = await registry.image(digest)
        with _failing("failed to parse artifact manifest", LAYER_FAILED):
            return found.manifest()

    async def _download(self, registry: Registry, manifest: Manifest, into: Path) -> Path:
        layer = self._selected(manifest)
        target = into / _LAYER
        with _failing("failed to extract layer contents from artifact", LAYER_FAILED):
            await registry.save_blob(layer, target)
        return target

    def _selected(self, manifest: Manifest) -> Descriptor:
        try:
            return select(manifest, self._layer.media_type)
        except ManifestError as error:
            raise SourceError(str(error), reason=LAYER_FAILED) from error

    @property
    def _is_chart(self) -> bool:
        return self._layer.media_type == CHART

    def _summary(self, revision: str, manifest: Manifest) -> str:
        """What the event says, with where the content came from before it was an image."""
        origin = [
            f", {name} '{manifest.annotations[key]}'"
            for name, key in (("origin source", SOURCE), ("origin revision", REVISION))
            if manifest.annotations.get(key)
        ]
        return f"with revision '{revision}' from '{self._url}'" + "".join(origin)


def newest(tags: Iterable[str], wanted: str, *, only: str = "", chart: bool = False) -> str:
    """The tag with the highest version in the range, among those that match the regular expression.

    Tags that are no versions do not count. Charts write the `+` of a version as `_`, which a tag may have.
    """
    try:
        constraint = Constraint.parse(wanted)
    except InvalidConstraint as error:
        raise InvalidReference(f"semver '{wanted}' parse error: {error}") from error
    found = [
        (version, tag)
        for tag in _filtered(tags, only)
        if (version := _version(tag.replace("_", "+") if chart else tag)) and constraint.allows(version)
    ]
    if not found:
        raise InvalidReference(f"no match found for semver: {wanted}")
    # Versions that differ in build metadata only are equal; the name decides, so that the choice is stable.
    return max(found, key=lambda one: (one[0].precedence, one[1]))[1]


def digest_of(revision: str) -> str:
    return revision.rpartition("@")[2]


def _filtered(tags: Iterable[str], only: str) -> Iterable[str]:
    if not only:
        return tags
    try:
        pattern = re2.compile(only)
    except re2.error as error:
        raise InvalidReference(f"semverFilter '{only}' is not a regular expression") from error
    return [tag for tag in tags if pattern.search(tag)]


def _version(tag: str) -> Version | None:
    try:
        return Version.of_tag(tag)
    except InvalidVersion:
        return None


@contextmanager
def _failing(what: str, reason: str) -> Generator[None]:
    """Say what was being tried, and under which reason the status shows it."""
    try:
        yield
    except (RegistryError, ManifestError, InvalidReference) as error:
        raise SourceError(f"{what}: {error}", reason=reason) from error


def _unpack(file: Path, into: Path) -> None:
    """Unpack the layer beside itself, and be rid of it: no archive of the tree is to hold it."""
    with file.open("rb") as layer:
        file.unlink()
        try:
            unpack(layer, into, links="skip")
        except ArchiveError as error:
            raise SourceError(
                f"failed to extract layer contents from artifact: {error}", reason=LAYER_FAILED
            ) from error
