"""Where signatures lie: as manifests that refer to the image, or, as before, under a tag made of its digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.sources.oci.transport import RegistryError
from penstock.sources.oci.verification.errors import NotSigned
from penstock.sources.oci.verification.signatures import Envelope, decode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from penstock.sources.oci.manifest import Descriptor
    from penstock.sources.oci.registry import Registry

BUNDLE = "application/vnd.dev.sigstore.bundle"
SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE = "dev.cosignproject.cosign/signature"
CERTIFICATE = "dev.sigstore.cosign/certificate"
LOGGED = "dev.sigstore.cosign/bundle"

LARGEST = 1 << 20
"""Bytes of one signature."""
MOST = 64
"""Signatures of one image that are looked at; anybody who may push can attach more."""

_NOT_FOUND = 404


class Bundle(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a Sigstore bundle that a key can vouch for."""

    dsse_envelope: Envelope | None = None


async def bundles(registry: Registry, digest: str) -> AsyncIterator[bytes]:
    """The Sigstore bundles that refer to an image."""
    found = [one for one in await registry.referrers(digest) if _is_bundle(one)]
    for descriptor in found[:MOST]:
        manifest = (await registry.manifest(descriptor.digest)).manifest()
        if manifest.subject is not None and manifest.subject.digest != digest:
            continue
        for layer in manifest.layers[:1]:
            if layer.media_type.startswith(BUNDLE):
                yield await registry.read_blob(layer, most=LARGEST)


async def legacy(registry: Registry, digest: str) -> AsyncIterator[tuple[Descriptor, bytes]]:
    """The layers of the image that holds the signatures, and their payloads."""
    try:
        found = await registry.manifest(f"{digest.replace(':', '-')}.sig")
    except RegistryError as error:
        if error.status == _NOT_FOUND:
            return
        raise
    for layer in found.manifest().layers[:MOST]:
        if layer.media_type == SIMPLE_SIGNING and SIGNATURE in layer.annotations:
            yield layer, await registry.read_blob(layer, most=LARGEST)


def parse_bundle(content: bytes) -> Bundle:
    try:
        return msgspec.json.decode(content, type=Bundle)
    except msgspec.MsgspecError as error:
        raise NotSigned("the bundle is damaged") from error


def signature_of(layer: Descriptor) -> bytes:
    return decode(layer.annotations[SIGNATURE])


def _is_bundle(descriptor: Descriptor) -> bool:
    # Some registries do not say the type of what refers; then the manifest does.
    return not descriptor.artifact_type or descriptor.artifact_type.startswith(BUNDLE)
