"""Artifacts as `flux push artifact` makes them: one layer with the files, annotations that say where they are from."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from penstock.paths import IgnoreRules, pack
from penstock.paths.ignore import parse
from penstock.sources.oci.manifest import (
    CONFIG,
    CONTENT,
    CREATED,
    MANIFEST,
    REVISION,
    SOURCE,
    Descriptor,
    Manifest,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from penstock.sources.oci.manifest import Document
    from penstock.sources.oci.registry import Registry

IGNORED = (
    *(".git/", ".gitignore", ".gitmodules", ".gitattributes"),
    *("*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip"),
)
"""What stays out unless other patterns are given; unlike a source, a push does not read `.sourceignore`."""

EPOCH = "1970-01-01T00:00:00Z"
PUSH = "push,pull"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where an artifact comes from."""

    source: str
    revision: str
    created: str
    """RFC 3339."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """More of them; they win over the others."""

    def all(self) -> dict[str, str]:
        return {CREATED: self.created, SOURCE: self.source, REVISION: self.revision, **self.annotations}


def build(directory: Path, ignore: Sequence[str] = IGNORED) -> bytes:
    """The files of a directory as a layer; the same files give the same bytes. Blocks."""
    buffer = io.BytesIO()
    pack(directory, buffer, leaving_out=IgnoreRules(parse("\n".join(ignore))))
    return buffer.getvalue()


async def push(registry: Registry, tag: str, layer: bytes, metadata: Metadata) -> str:
    """Upload a layer and the manifest for it; the digest of the artifact."""
    plain = await asyncio.to_thread(gzip.decompress, layer)
    config = _config(metadata, sha256(plain))
    content = Descriptor(CONTENT, sha256(layer), len(layer))
    manifest = Manifest(
        schema_version=2,
        media_type=MANIFEST,
        config=Descriptor(CONFIG, sha256(config), len(config)),
        layers=(content,),
        annotations=dict(sorted(metadata.all().items())),
    )
    await upload(registry, config)
    await upload(registry, layer)
    return await put(registry, tag, _encoded(manifest), MANIFEST)


async def tag(registry: Registry, reference: str, name: str) -> str:
    """Give an artifact another name in the same repository; its digest."""
    found: Document = await registry.manifest(reference)
    return await put(registry, name, found.content, found.media_type)


async def upload(registry: Registry, content: bytes) -> None:
    """Upload a blob, unless it is there already."""
    digest = sha256(content)
    there = frozenset((200, 404))
    async with registry.transport.send("HEAD", f"{registry.root}/blobs/{digest}", actions=PUSH, accept=there) as answer:
        if answer.status == 200:
            return
    async with registry.transport.send(
        "POST", f"{registry.root}/blobs/uploads/", actions=PUSH, accept=frozenset((202,))
    ) as answer:
        location = answer.headers["Location"]
    url = f"{location}{'&' if '?' in location else '?'}digest={digest}"
    headers = {"Content-Type": "application/octet-stream"}
    async with registry.transport.send(
        "PUT", url, headers=headers, data=content, actions=PUSH, accept=frozenset((201, 204))
    ):
        pass


async def put(registry: Registry, name: str, content: bytes, media_type: str) -> str:
    """Keep a manifest under a name; its digest."""
    async with registry.transport.send(
        "PUT",
        f"{registry.root}/manifests/{name}",
        headers={"Content-Type": media_type},
        data=content,
        actions=PUSH,
        accept=frozenset((201,)),
    ):
        return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _config(metadata: Metadata, diff: str) -> bytes:
    """An image must have one; nothing in it matters but the time, and the digest of the files before compression."""
    created = metadata.all()[CREATED]
    return msgspec.json.encode(
        {
            "architecture": "",
            "created": created,
            "history": [{"created": created}],
            "os": "",
            "rootfs": {"type": "layers", "diff_ids": [diff]},
            "config": {},
        }
    )


def _encoded(manifest: Manifest) -> bytes:
    # The media type is its default, which the encoder leaves out; readers want it.
    return msgspec.json.encode({"mediaType": MANIFEST, **msgspec.to_builtins(manifest)})
