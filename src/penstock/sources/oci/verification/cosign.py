"""Signatures of cosign by a key that the Secret holds; no transparency log is asked."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.sources.oci.manifest import ManifestError
from penstock.sources.oci.transport import RegistryError
from penstock.sources.oci.verification.attached import bundles, legacy, parse_bundle, signature_of
from penstock.sources.oci.verification.errors import NotSigned, VerificationFailed
from penstock.sources.oci.verification.signatures import (
    check_any,
    check_simple_signing,
    check_statement,
    decode,
    load_key,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sources.oci.registry import Registry
    from penstock.sources.oci.verification.signatures import PublicKey

PROVIDER = "cosign"
KEY = ".pub"


class CosignKeys:
    """Trusts the public keys `*.pub` of a Secret: one valid signature by one of them is enough.

    Several keys are how keys are rotated: the new one is added first, the old one goes last.
    """

    def __init__(self, data: Mapping[str, bytes], *, origin: str) -> None:
        self._keys = [_load(name, pem, origin) for name, pem in sorted(data.items()) if name.endswith(KEY)]
        if not self._keys:
            raise VerificationFailed(PROVIDER, f"{origin} has no public key: none of its keys ends with '{KEY}'")

    async def verify(self, registry: Registry, digest: str) -> bool:
        try:
            return await self._found(registry, digest)
        except (RegistryError, ManifestError) as error:
            raise VerificationFailed(PROVIDER, str(error)) from error

    async def _found(self, registry: Registry, digest: str) -> bool:
        async for content in bundles(registry, digest):
            with suppress(NotSigned):
                self._check_bundle(content, digest)
                return True
        async for layer, payload in legacy(registry, digest):
            with suppress(NotSigned):
                self._check_payload(signature_of(layer), payload, digest)
                return True
        image = registry.repository.at(digest)
        raise VerificationFailed(PROVIDER, f"no matching signatures were found for '{image}'")

    def _check_bundle(self, content: bytes, digest: str) -> None:
        bundle = parse_bundle(content)
        envelope = bundle.dsse_envelope
        if envelope is None or len(envelope.signatures) != 1:
            raise NotSigned("the bundle holds no envelope with one signature")
        check_any(self._keys, decode(envelope.signatures[0].sig), envelope.signed())
        check_statement(envelope.payload_type, envelope.content(), digest)

    def _check_payload(self, signature: bytes, payload: bytes, digest: str) -> None:
        check_any(self._keys, signature, payload)
        check_simple_signing(payload, digest)


def _load(name: str, pem: bytes, origin: str) -> PublicKey:
    try:
        return load_key(pem)
    except ValueError as error:
        raise VerificationFailed(PROVIDER, f"'{name}' of {origin} is not a public key in PEM: {error}") from error
