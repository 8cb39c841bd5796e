"""Signatures of cosign without a key: a short-lived certificate says who signed, a public log says when.

The checks are those of the library `sigstore` (extra `keyless`). Its root of trust comes from the Secret, or from the
public Sigstore, which is asked once and again only after a pause. Signatures of cosign 3 are bundles that hold all
proofs; those of cosign 2 lack the log's, which is then asked of the log itself.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import re2
from cryptography import x509

from penstock.sources.oci.manifest import ManifestError
from penstock.sources.oci.transport import Connection, RegistryError
from penstock.sources.oci.verification.attached import CERTIFICATE, bundles, legacy
from penstock.sources.oci.verification.errors import NotSigned, VerificationFailed
from penstock.sources.oci.verification.signatures import check_simple_signing, check_statement
from penstock.sources.oci.verification.transparency import PUBLIC_LOG, completed, log_address

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from penstock.sources.oci.registry import Registry

PROVIDER = "cosign keyless"
RETRY = 60.0
"""Seconds until the public root of trust is asked for again after a failure."""

_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_OLD_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_OTHER_NAME = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who may have signed: regular expressions that are to be found in issuer and subject."""

    issuer: str
    subject: str

    def check(self) -> None:
        """VerificationFailed unless both are regular expressions."""
        for text in (self.issuer, self.subject):
            _pattern(text)

    def matches(self, issuer: str, subjects: Sequence[str]) -> bool:
        wanted = _pattern(self.subject)
        return bool(_pattern(self.issuer).search(issuer)) and any(wanted.search(subject) for subject in subjects)


class Keyless:
    """Trusts certificates of the given identities; without any, everybody's whom the root of trust knows."""

    def __init__(
        self,
        identities: Sequence[Identity],
        *,
        trusted_root: bytes | None = None,
        connection: Connection | None = None,
    ) -> None:
        """`connection` says by which proxy and certificates the log is reached; its login is not for the log."""
        if find_spec("sigstore") is None:
            raise VerificationFailed(PROVIDER, "it needs the extra 'keyless': pip install 'penstock[keyless]'")
        for identity in identities:
            identity.check()
        self._identities = tuple(identities)
        self._root = trusted_root
        self._connection = connection or Connection()

    async def verify(self, registry: Registry, digest: str) -> bool:
        reasons: list[str] = []
        try:
            async for candidate in self._candidates(registry, digest, reasons):
                try:
                    return await asyncio.to_thread(self._check, await self._verifier(), candidate, digest)
                except NotSigned as error:
                    reasons.append(str(error))
        except (RegistryError, ManifestError) as error:
            raise VerificationFailed(PROVIDER, str(error)) from error
        if reasons:
            raise VerificationFailed(PROVIDER, "no matching signatures: " + "; ".join(dict.fromkeys(reasons)))
        raise VerificationFailed(PROVIDER, f"no matching signatures were found for '{registry.repository.at(digest)}'")

    async def _candidates(self, registry: Registry, digest: str, reasons: list[str]) -> AsyncGenerator[_Candidate]:
        """The bundles of the image, then its older signatures; why one cannot be looked at goes to `reasons`."""
        async for content in bundles(registry, digest):
            yield _Candidate(content)
        async for layer, payload in legacy(registry, digest):
            if CERTIFICATE not in layer.annotations:
                continue
            try:
                content = await completed(layer, payload, self._log_address(), self._connection)
            except NotSigned as error:
                reasons.append(str(error))
            else:
                yield _Candidate(content, payload)

    def _log_address(self) -> str:
        return PUBLIC_LOG if self._root is None else log_address(self._root)

    async def _verifier(self) -> Any:
        if self._root is None:
            return await _public.get()
        return await asyncio.to_thread(_private, self._root)

    def _check(self, verifier: Any, candidate: _Candidate, digest: str) -> bool:
        from sigstore.errors import Error
        from sigstore.models import Bundle

        policy = _Policy(self._identities)
        try:
            bundle = Bundle.from_json(candidate.bundle)
            if candidate.payload is None:
                payload_type, payload = verifier.verify_dsse(bundle, policy)
            else:
                verifier.verify_artifact(candidate.payload, bundle, policy)
                payload_type, payload = "", candidate.payload
        except (Error, ValueError) as error:
            raise NotSigned(str(error)) from error
        if candidate.payload is None:
            check_statement(payload_type, payload, digest)
        else:
            check_simple_signing(payload, digest)
        return True


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A signature that may hold: its bundle, and what it is over if that is not in the bundle."""

    bundle: bytes
    payload: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Policy:
    """What the library asks about a certificate that it has found valid."""

    identities: tuple[Identity, ...]

    def verify(self, cert: x509.Certificate) -> None:
        issuer, subjects = _issuer(cert), _subjects(cert)
        if not self.identities or any(identity.matches(issuer, subjects) for identity in self.identities):
            return
        from sigstore.errors import VerificationError

        raise VerificationError(
            f"none of the expected identities matched what was in the certificate, got subjects {subjects} "
            f"with issuer {issuer}"
        )


class _Public:
    """The root of trust of the public Sigstore, kept once it is there."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._verifier: Any = None
        self._failed_at = float("-inf")
        self._told = ""

    async def get(self) -> Any:
        if self._verifier is None:
            if time.monotonic() - self._failed_at < RETRY:
                raise VerificationFailed(PROVIDER, self._told)
            try:
                self._verifier = await asyncio.to_thread(self._load)
            except Exception as error:
                self._failed_at = time.monotonic()
                self._told = f"unable to initialize trusted root: {type(error).__name__}"
                raise VerificationFailed(PROVIDER, self._told) from error
        return self._verifier


def _production() -> Any:
    from sigstore.verify import Verifier

    return Verifier.production()


_public = _Public(_production)


def _private(root: bytes) -> Any:
    """A verifier for a `trusted_root.json`; blocking."""
    from sigstore.errors import Error
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trusted_root.json")
        path.write_bytes(root)
        try:
            return Verifier(trusted_root=TrustedRoot.from_file(str(path)))
        except (Error, ValueError) as error:
            raise VerificationFailed(PROVIDER, "unable to parse trusted root") from error


def _issuer(certificate: x509.Certificate) -> str:
    with suppress(x509.ExtensionNotFound, UnicodeError, AttributeError):
        value = certificate.extensions.get_extension_for_oid(_ISSUER).value
        return _utf8(value.value)  # type: ignore[attr-defined]
    with suppress(x509.ExtensionNotFound, UnicodeError, AttributeError):
        old = certificate.extensions.get_extension_for_oid(_OLD_ISSUER).value
        return bytes(old.value).decode()  # type: ignore[attr-defined]
    return ""


def _subjects(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    found = [*names.get_values_for_type(x509.RFC822Name), *names.get_values_for_type(x509.UniformResourceIdentifier)]
    for other in names.get_values_for_type(x509.OtherName):
        if other.type_id == _OTHER_NAME:
            with suppress(UnicodeError):
                found.append(_utf8(other.value))
    return found


def _utf8(der: bytes) -> str:
    """The text of a DER UTF8String shorter than 64 kB."""
    if der[:1] != b"\x0c":
        raise UnicodeError("not a UTF8String")
    return der[2 + (der[1] & 0x7F if der[1] & 0x80 else 0) :].decode()


def _pattern(text: str) -> Any:
    try:
        return re2.compile(text)
    except re2.error as error:
        raise VerificationFailed(PROVIDER, f"matchOIDCIdentity: {text!r} is not a regular expression") from error
