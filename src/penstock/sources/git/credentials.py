"""How to log in to a repository, from the keys of a Secret.

Credentials are for one origin (scheme, host and port). A submodule or a redirect elsewhere gets none of them: whoever
can write into a repository must not be able to have its password sent to a place of their choice.
"""

from __future__ import annotations

import hashlib
import ssl
from base64 import b64encode
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from penstock.sources.git.address import login
from penstock.sources.git.errors import LoginFailed
from penstock.sources.git.memory import in_memory
from penstock.sources.remote import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

    from penstock.sources.git.address import Address
    from penstock.sources.git.agent import SigningKey


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """Everything needed to log in; most of it is empty."""

    username: str = ""
    password: str = ""
    bearer: str = ""
    authority: bytes = b""
    """Certificates of further authorities, in PEM."""
    certificate: bytes = b""
    certificate_key: bytes = b""
    identity: bytes = b""
    passphrase: str = ""
    known_hosts: bytes = b""
    secret: str = ""
    """Namespace and name of the Secret, for error texts."""
    application: str = ""
    """Whose short-lived login it is: that stands for user, password and token where something stable is needed."""

    def __repr__(self) -> str:
        return "Credentials(...)"

    @property
    def fingerprint(self) -> str:
        """A digest by which the copies of different logins are kept apart; nothing can be read from it."""
        login = (self.application, "", "") if self.application else (self.username, self.password, self.bearer)
        values = (*login, self.authority, self.certificate, self.certificate_key)
        parts = [value.encode() if isinstance(value, str) else value for value in (*values, self.identity)]
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    @property
    def authorization(self) -> str:
        """The value of the HTTP header; empty when there is nothing to say."""
        if self.bearer:
            return f"Bearer {self.bearer}"
        if not self.username:
            return ""
        return "Basic " + b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")

    def elsewhere(self) -> Credentials:
        """What another origin may know: whom to trust, but no password and no certificate of ours.

        An SSH key may be used there, since it never leaves this process and only a known host gets that far.
        """
        return Credentials(
            authority=self.authority,
            identity=self.identity,
            passphrase=self.passphrase,
            known_hosts=self.known_hosts,
            secret=self.secret,
        )

    def trust(self) -> ssl.SSLContext:
        """Whom we believe over TLS; blocking and costly: whoever needs it often keeps it."""
        return _context(self.authority, self.certificate, self.certificate_key)

    def signing_key(self) -> SigningKey:
        """The SSH key; blocking, since a passphrase is slow on purpose."""
        return _private_key(self.identity, self.passphrase, self.secret)


@dataclass(frozen=True, slots=True)
class Lease:
    """A login that ends, in seconds since 1970."""

    credentials: Credentials
    ends: float


def of_secret(url: str, address: Address, data: Mapping[str, bytes] | None, *, secret: str = "") -> Credentials:
    """The credentials that a Secret holds for a URL; what the URL itself says is the fallback.

    Certificates and keys are read later, off the event loop, by `trust` and `signing_key`.
    """
    data = data or {}
    if address.scheme == "ssh":
        return _for_ssh(data, secret=secret)
    if "bearerToken" in data and (data.get("username") or data.get("password")):
        raise LoginFailed("basic auth and bearer token cannot be set at the same time")
    found = Credentials(
        username=_text(data, "username"),
        password=_text(data, "password"),
        bearer=_text(data, "bearerToken"),
        authority=data.get("ca.crt") or data.get("caFile") or b"",
        certificate=data.get("tls.crt", b""),
        certificate_key=data.get("tls.key", b""),
    )
    user, password = login(url)
    if not found.bearer:
        found = replace(found, username=found.username or user, password=found.password or password)
    if found.password and not found.username:
        raise LoginFailed(f"invalid '{address.scheme}' auth option: 'password' requires 'username' to be set")
    if bool(found.certificate) != bool(found.certificate_key):
        raise LoginFailed("'tls.crt' and 'tls.key' belong together, and one of them is missing")
    _refuse_line_breaks(found)
    return found


def _for_ssh(data: Mapping[str, bytes], *, secret: str) -> Credentials:
    for key in ("identity", "known_hosts"):
        if not data.get(key):
            raise LoginFailed(f"invalid 'ssh' auth option: '{key}' is required")
    return Credentials(
        identity=data["identity"], known_hosts=data["known_hosts"], passphrase=_text(data, "password"), secret=secret
    )


def _refuse_line_breaks(found: Credentials) -> None:
    if any(letter in value for value in (found.bearer, found.username, found.password) for letter in "\r\n\0"):
        raise LoginFailed("a user name, password or token with a line break cannot be sent")


def _text(data: Mapping[str, bytes], key: str) -> str:
    # Whoever makes a Secret from a file gets the line end of the file, too.
    return data.get(key, b"").decode("utf-8", "replace").removesuffix("\n")


def _context(authority: bytes, certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if authority:
            context.load_verify_locations(cadata=authority.decode("ascii"))
        if certificate:
            with in_memory(certificate + b"\n" + key) as descriptor:
                # Without a password OpenSSL would ask for one at the terminal, and wait.
                context.load_cert_chain(f"/proc/self/fd/{descriptor}", password="")
    except (ssl.SSLError, ValueError):
        raise LoginFailed(
            "the certificates or the key of the Secret cannot be read: PEM without a passphrase is expected"
        ) from None
    return context


@lru_cache(maxsize=256)
def _private_key(identity: bytes, passphrase: str, secret: str) -> SigningKey:
    from penstock.sources.git.agent import SigningKey

    try:
        key = _loaded(identity, passphrase.encode() if passphrase else None)
    except TypeError:
        if passphrase:  # it is not encrypted at all, which is as good
            return _private_key(identity, "", secret)
        raise SourceError(
            f"SSH identity key is encrypted but no 'password' field was provided in the secret '{secret}'",
            reason="AuthenticationFailed",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        words = "or 'password' is not its passphrase" if passphrase else "or is of an unknown kind"
        raise LoginFailed(f"'identity' is not a private key, {words}") from None
    try:
        return SigningKey(key)
    except TypeError as error:
        raise LoginFailed(str(error)) from None


def _loaded(identity: bytes, passphrase: bytes | None) -> PrivateKeyTypes:
    if b"BEGIN OPENSSH PRIVATE KEY" in identity:
        return serialization.load_ssh_private_key(identity, passphrase)
    return serialization.load_pem_private_key(identity, passphrase)
