"""What describes an image: manifests and indexes, read with bounds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec

from penstock.errors import PenstockError
from penstock.sources.oci.reference import InvalidReference, check_digest

LARGEST = 4 << 20
"""Bytes of a manifest, as registries themselves limit them."""

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
ACCEPT = f"{MANIFEST}, {INDEX}, {DOCKER_MANIFEST}, {DOCKER_INDEX}"

CONFIG = "application/vnd.cncf.flux.config.v1+json"
CONTENT = "application/vnd.cncf.flux.content.v1.tar+gzip"
CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

CREATED = "org.opencontainers.image.created"
SOURCE = "org.opencontainers.image.source"
REVISION = "org.opencontainers.image.revision"


T = TypeVar("T", "Manifest", "Index")


class ManifestError(PenstockError):
    """A manifest is damaged, too large, or of a kind that cannot be used."""


class Platform(msgspec.Struct, frozen=True):
    """The machine an image is for."""

    os: str = ""
    architecture: str = ""


class Descriptor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A piece of content by its digest."""

    media_type: str
    digest: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    artifact_type: str = ""
    platform: Platform | None = None
    data: str = ""
    """The content itself, in base64, if it is small; never trusted here."""


class Manifest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One image: its configuration and its layers."""

    schema_version: int
    config: Descriptor
    layers: tuple[Descriptor, ...]
    media_type: str = MANIFEST
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    artifact_type: str = ""
    subject: Descriptor | None = None


class Index(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Several images under one name, such as one for each platform."""

    manifests: tuple[Descriptor, ...]
    media_type: str = INDEX
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A manifest or index as it came, with the digest of its bytes."""

    content: bytes
    media_type: str
    digest: str

    @property
    def is_index(self) -> bool:
        return self.media_type in (INDEX, DOCKER_INDEX)

    def manifest(self) -> Manifest:
        return _decode(self, Manifest)

    def index(self) -> Index:
        return _decode(self, Index)


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def document(content: bytes, media_type: str, *, expected: str | None = None) -> Document:
    """The document, its digest computed and, if one is expected, compared."""
    algorithm = expected.partition(":")[0] if expected else "sha256"
    digest = f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
    if expected is not None and digest != expected:
        raise ManifestError(f"the manifest has digest {digest}, but {expected} was asked for")
    return Document(content, _media_type(content, media_type), digest)


def choose(index: Index) -> Descriptor:
    """The image for linux/amd64, the platform of everything that is no program."""
    for entry in index.manifests:
        platform = entry.platform
        if platform and (platform.os, platform.architecture) == ("linux", "amd64"):
            return entry
    raise ManifestError("the index has no image for linux/amd64")


def select(manifest: Manifest, media_type: str) -> Descriptor:
    """The first layer, or the first one of this media type."""
    if not manifest.layers:
        raise ManifestError("no layers found in artifact")
    if not media_type:
        return manifest.layers[0]
    for layer in manifest.layers:
        if layer.media_type == media_type:
            return layer
    raise ManifestError(f"failed to find layer with media type '{media_type}' in artifact")


class _Kind(msgspec.Struct, rename="camel"):
    """As much of a document as says which kind it is."""

    media_type: str = ""
    manifests: Any = None


def _media_type(content: bytes, header: str) -> str:
    """What the document says of itself counts; the header of the answer only when it says nothing."""
    try:
        kind = msgspec.json.decode(content, type=_Kind)
    except msgspec.MsgspecError as error:
        raise ManifestError(f"the manifest is damaged: {error}") from error
    return kind.media_type or header.partition(";")[0].strip() or (INDEX if kind.manifests is not None else MANIFEST)


def _decode(found: Document, kind: type[T]) -> T:
    try:
        decoded = msgspec.json.decode(found.content, type=kind)
    except msgspec.MsgspecError as error:
        raise ManifestError(f"the manifest {found.digest} is damaged: {error}") from error
    for part in _parts(decoded):
        try:
            check_digest(part.digest)
        except InvalidReference as error:
            raise ManifestError(f"the manifest {found.digest} names a part wrongly: {error}") from error
    return decoded


def _parts(decoded: Manifest | Index) -> tuple[Descriptor, ...]:
    if isinstance(decoded, Index):
        return decoded.manifests
    return (decoded.config, *decoded.layers)
