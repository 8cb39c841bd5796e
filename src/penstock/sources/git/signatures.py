"""Who signed a commit or a tag? Checked in this process, with the keys of a Secret and nothing else.

PGP comes from rPGP, through the extra `pgp`; its error texts quote what it read, so they never leave this module.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from penstock.sources.git import sshsig
from penstock.sources.git.errors import ModeUnusable, NotVerified

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from openpgp.composed import SignedPublicKey
    from openpgp.packet import Signature

    from penstock.sources.git.objects import Signed

Mode = Literal["HEAD", "Tag", "TagAndHEAD"]
_BEGINNINGS = {
    b"-----BEGIN PGP SIGNATURE-----": "openpgp",
    b"-----BEGIN PGP MESSAGE-----": "openpgp",
    b"-----BEGIN SSH SIGNATURE-----": "ssh",
    b"-----BEGIN SIGNED MESSAGE-----": "x509",
}
_WEAK = frozenset({"md5", "sha1", "ripemd160"})


class _NoMatch(Exception):
    """Why a signature does not count."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Whose signature is wanted, and on what."""

    mode: Mode
    pgp: tuple[str, ...] = ()
    ssh: tuple[str, ...] = ()

    @classmethod
    def of_secret(cls, mode: str, data: Mapping[str, bytes]) -> Verification:
        """The keys of a Secret: `*.sshpub` are for SSH, everything else is for PGP."""
        texts = {key: value.decode("utf-8", "replace") for key, value in sorted(data.items())}
        ssh = tuple(text for key, text in texts.items() if key.endswith(".sshpub"))
        pgp = tuple(text for key, text in texts.items() if not key.endswith(".sshpub"))
        wanted: Mode = "HEAD" if mode == "head" else mode  # type: ignore[assignment]
        return cls(wanted, pgp, ssh)

    def check(self, commit: Signed, tag: Signed | None, *, tag_name: str) -> str:
        """Whose signatures they carry, in words; NotVerified when one is missing or wrong.

        `tag_name` is the tag that was asked for, empty when the reference is none; `tag` is None for a light one.
        """
        lines: list[str] = []
        if self.mode != "HEAD":
            lines.append(self._checked_tag(tag, tag_name))
        if self.mode != "Tag":
            lines.append(self._checked_commit(commit))
        return "verified signature of" + "".join(f"\n\t- {line}" for line in lines)

    def _checked_tag(self, tag: Signed | None, name: str) -> str:
        if not name:
            raise ModeUnusable
        if tag is None or not tag.signature:
            shown = f"{name}@{tag.hash}" if tag else name
            raise NotVerified(
                f"cannot verify signature of tag '{shown}' since it is not signed", reason="InvalidGitObject"
            )
        shown = f"{name}@{tag.hash}"
        try:
            _check_name(tag, name)
            return f"tag '{shown}' with key '{self._signer(tag)}'"
        except _NoMatch as error:
            raise NotVerified(
                f"signature verification of tag '{shown}' failed: {error}", reason="InvalidTagSignature"
            ) from None

    def _checked_commit(self, commit: Signed) -> str:
        try:
            return f"commit '{commit.hash}' with key '{self._signer(commit)}'"
        except _NoMatch as error:
            raise NotVerified(
                f"signature verification of commit '{commit.hash}' failed: {error}", reason="InvalidCommitSignature"
            ) from None

    def _signer(self, signed: Signed) -> str:
        kind = kind_of(signed.signature)
        if kind == "ssh":
            return self._ssh_signer(signed)
        if kind == "openpgp":
            return self._pgp_signer(signed)
        if kind == "empty":
            raise _NoMatch("it is not signed")
        raise _NoMatch(f"signatures of the kind {kind} are not supported")

    def _ssh_signer(self, signed: Signed) -> str:
        try:
            return sshsig.signer(signed.signature, signed.payload, "\n".join(self.ssh), namespace="git")
        except sshsig.InvalidSignature as error:
            raise _NoMatch(str(error)) from None

    def _pgp_signer(self, signed: Signed) -> str:
        if find_spec("openpgp") is None:
            raise _NoMatch("PGP signatures need the extra 'pgp': pip install 'penstock[pgp]'")
        from openpgp.composed import DetachedSignature

        try:
            with _without_panic():
                detached, _ = DetachedSignature.from_armor(signed.signature.decode("ascii"))
        except ValueError:
            raise _NoMatch("its PGP signature cannot be read") from None
        if detached.signature.hash_alg() in _WEAK:
            raise _NoMatch(f"its PGP signature uses {detached.signature.hash_alg()}, which is broken")
        for key in _public_keys(self.pgp):
            try:
                with _without_panic():
                    detached.verify(key, signed.payload)
            except ValueError:
                continue
            _check_usable(key, detached.signature, now=time.time())
            return key.key_id.upper()
        raise _NoMatch("unable to verify payload with any of the given key rings")


@contextmanager
def _without_panic() -> Generator[None]:
    """A panic of the library, which stands beside all other errors, is a text that it cannot read."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise ValueError("the library gave up") from None
        raise


def _check_name(tag: Signed, name: str) -> None:
    """Else somebody could serve an old, signed tag under the name of a new one."""
    if tag.name != name:
        raise _NoMatch(f"the signed tag calls itself '{tag.name[:100]}'")


def kind_of(signature: bytes) -> str:
    """The kind of a signature, from its first line."""
    text = signature.strip()
    if not text:
        return "empty"
    return next((kind for beginning, kind in _BEGINNINGS.items() if text.startswith(beginning)), "unknown")


def _public_keys(rings: Sequence[str]) -> list[SignedPublicKey]:
    from openpgp.composed import SignedPublicKey

    found: list[SignedPublicKey] = []
    for number, ring in enumerate(rings, 1):
        try:
            with _without_panic():
                found += SignedPublicKey.from_armor_many(ring)[0]
        except ValueError:
            raise _NoMatch(f"key ring {number} of the Secret is not an armored PGP public key") from None
    return found


def _check_usable(key: SignedPublicKey, signature: Signature, *, now: float) -> None:
    """Refuse a key that was withdrawn, has expired, or is not for signatures."""
    name = key.key_id.upper()
    if signature.typ() not in ("binary", "text"):
        raise _NoMatch("its PGP signature is not one of a document")
    try:
        key.verify_bindings()
    except ValueError:
        raise _NoMatch(f"the key '{name}' of the Secret is damaged") from None
    if key.details.revocation_signatures:
        raise _NoMatch(f"the key '{name}' is revoked")
    own = [*key.details.direct_signatures, *(one for user in key.details.users for one in user.signatures)]
    if _has_expired(own, key.created_at, now):
        raise _NoMatch(f"the key '{name}' has expired")
    issuers = {issuer.lower() for issuer in (*signature.issuer_key_id(), *signature.issuer_fingerprint())}
    for subkey in key.public_subkeys:
        if subkey.key.key_id.lower() not in issuers and subkey.key.fingerprint.lower() not in issuers:
            continue
        if any(one.typ() == "subkey-revocation" for one in subkey.signatures):
            raise _NoMatch(f"the subkey that signed is revoked in the key '{name}'")
        if not any(one.key_flags().sign for one in subkey.signatures):
            raise _NoMatch(f"the subkey that signed is not for signatures in the key '{name}'")
        if _has_expired(subkey.signatures, subkey.key.created_at, now):
            raise _NoMatch(f"the subkey that signed has expired in the key '{name}'")


def _has_expired(signatures: Sequence[Signature], created: int, now: float) -> bool:
    """By what the newest signature says; a key without a word on it lives forever."""
    dated = [(one.created() or 0, one.key_expiration_time() or 0) for one in signatures]
    seconds = max(dated, default=(0, 0))[1]
    return bool(seconds) and created + seconds < now
