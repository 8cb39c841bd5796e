"""Signatures of Notary (`notation`): certificates, and a policy that says which checks count.

Not done: counter-signatures of time-stamping services, and asking whether a certificate was revoked. Where the policy
enforces one of these and the signature needs it, verification fails and names it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID

from penstock.sources.oci.manifest import ManifestError
from penstock.sources.oci.transport import RegistryError
from penstock.sources.oci.verification import cose, jws
from penstock.sources.oci.verification.attached import LARGEST
from penstock.sources.oci.verification.errors import NotSigned, VerificationFailed
from penstock.sources.oci.verification.trust_policy import FILE, PROVIDER, policy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.sources.oci.manifest import Descriptor
    from penstock.sources.oci.registry import Registry
    from penstock.sources.oci.verification.jws import Signed
    from penstock.sources.oci.verification.trust_policy import Check, Policy

SIGNATURE = "application/vnd.cncf.notary.signature"
READERS: Mapping[str, Callable[[bytes], Signed]] = {"application/jose+json": jws.read, "application/cose": cose.read}
"""By the media type of the envelope."""
ATTEMPTS = 3
"""Signatures of one image that are looked at, as Flux does."""

_CERTIFICATES = (".crt", ".pem")


@dataclass(frozen=True, slots=True)
class Notation:
    """Trusts what the policy and the certificates of a Secret say."""

    policy: bytes
    authorities: tuple[x509.Certificate, ...]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def verify(self, registry: Registry, digest: str) -> bool:
        policy = policy_for(self.policy, str(registry.repository))
        if policy.level == "skip":
            return False
        try:
            return await self._found(registry, digest, policy)
        except (RegistryError, ManifestError) as error:
            raise VerificationFailed(PROVIDER, str(error)) from error

    async def _found(self, registry: Registry, digest: str, policy: Policy) -> bool:
        reasons: list[str] = []
        signatures = [one for one in await registry.referrers(digest) if one.artifact_type == SIGNATURE]
        for descriptor in signatures[:ATTEMPTS]:
            try:
                return self._check(await _signed(registry, descriptor), digest, policy)
            except NotSigned as error:
                reasons.append(str(error))
        image = registry.repository.at(digest)
        if not reasons:
            raise VerificationFailed(PROVIDER, f"no signature is associated with '{image}'")
        told = "; ".join(dict.fromkeys(reasons))
        raise VerificationFailed(PROVIDER, f"signature verification failed for all the signatures of '{image}': {told}")

    def _check(self, signed: Signed, digest: str, policy: Policy) -> bool:
        """Whether the signer is known; a check that the policy only logs does not end it."""
        _check_chain(signed.chain)
        if signed.digest != digest:
            raise NotSigned("the signature is over another image")
        checks: dict[Check, Callable[[], None]] = {
            "authenticity": lambda: self._check_authenticity(signed, policy),
            "expiry": lambda: self._check_expiry(signed),
            "authenticTimestamp": lambda: self._check_time(signed),
            "revocation": lambda: _check_revocation(signed),
        }
        failed: set[Check] = set()
        for name, check in checks.items():
            if policy.actions[name] == "skip":
                continue
            try:
                check()
            except NotSigned:
                if policy.actions[name] == "enforce":
                    raise
                failed.add(name)
        return "authenticity" not in failed

    def _check_authenticity(self, signed: Signed, policy: Policy) -> None:
        if not any(certificate in self.authorities for certificate in signed.chain):
            raise NotSigned("the signature is not produced by a trusted signer: no certificate of it is known")
        if not policy.trusts(signed.chain[0]):
            raise NotSigned("the signer is none of the trustedIdentities")

    def _check_expiry(self, signed: Signed) -> None:
        if signed.expiry and signed.expiry <= self.now():
            raise NotSigned(f"the signature expired on {signed.expiry.isoformat()}")

    def _check_time(self, signed: Signed) -> None:
        now = self.now()
        for certificate in signed.chain:
            if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
                raise NotSigned("a certificate of the signer is not valid now, and time stamps are not supported")


def from_secret(data: Mapping[str, bytes], *, origin: str) -> Notation:
    """What `verify.secretRef` says: `trustpolicy.json`, and certificates in `*.crt` and `*.pem`."""
    if FILE not in data:
        raise VerificationFailed(PROVIDER, f"'{FILE}' not found in {origin}")
    names = sorted(name for name in data if name.endswith(_CERTIFICATES))
    if not names:
        raise VerificationFailed(PROVIDER, f"no certificates found in {origin}")
    return Notation(data[FILE], tuple(one for name in names for one in _load(name, data[name], origin)))


def _load(name: str, content: bytes, origin: str) -> list[x509.Certificate]:
    try:
        if b"-----BEGIN" in content:
            return x509.load_pem_x509_certificates(content)
        return [x509.load_der_x509_certificate(content)]
    except ValueError as error:
        raise VerificationFailed(PROVIDER, f"failed to parse certificate '{name}' of {origin}") from error


async def _signed(registry: Registry, descriptor: Descriptor) -> Signed:
    manifest = (await registry.manifest(descriptor.digest)).manifest()
    if len(manifest.layers) != 1:
        raise NotSigned("the manifest of the signature does not have one layer")
    layer = manifest.layers[0]
    read = READERS.get(layer.media_type)
    if read is None:
        raise NotSigned(f"envelopes of the type '{layer.media_type}' are not supported")
    content = await registry.read_blob(layer, most=LARGEST)
    return await asyncio.to_thread(read, content)  # the first time, a library is imported


def _check_chain(chain: tuple[x509.Certificate, ...]) -> None:
    """Each certificate is issued by the next one, the last by itself, and the first is for signing code."""
    leaf = chain[0]
    _check_leaf(leaf)
    for certificate, issuer in zip(chain, (*chain[1:], chain[-1]), strict=True):
        try:
            certificate.verify_directly_issued_by(issuer)
        except (InvalidSignature, ValueError, TypeError):
            raise NotSigned("the certificates of the signature are no chain") from None
        if issuer is not leaf and not _is_authority(issuer):
            raise NotSigned("a certificate of the chain is not allowed to issue others")


def _check_leaf(certificate: x509.Certificate) -> None:
    extensions = certificate.extensions
    try:
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        raise NotSigned("the certificate of the signer does not say what its key is for") from None
    if not usage.digital_signature or usage.key_cert_sign:
        raise NotSigned("the certificate of the signer is not for signatures alone")
    try:
        more = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    if ExtendedKeyUsageOID.CODE_SIGNING not in more:
        raise NotSigned("the certificate of the signer is not for signing code")


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return constraints.ca and usage.key_cert_sign


def _check_revocation(signed: Signed) -> None:
    for certificate in signed.chain[:-1]:
        for oid in (x509.OID_CRL_DISTRIBUTION_POINTS, x509.OID_AUTHORITY_INFORMATION_ACCESS):
            try:
                certificate.extensions.get_extension_for_oid(oid)
            except x509.ExtensionNotFound:
                continue
            raise NotSigned(
                "asking whether a certificate was revoked is not supported; let the policy override 'revocation'"
            )
