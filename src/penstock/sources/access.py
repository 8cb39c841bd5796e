"""How a place is reached: whom TLS trusts, who we are to it, and which proxy stands between.

All of it comes from Secrets of the object's namespace; a Secret's data is a mapping of names to bytes.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from penstock.errors import PenstockError
from penstock.kube.settings import as_file

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_PROXY = 2048
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


class AccessError(PenstockError):
    """A Secret does not hold what it should; its values are never told."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The TLS side of a connection."""

    authority: bytes = b""
    """PEM certificates that are trusted besides the system's."""
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Blocking: it may read the system's certificates."""
        if self == Trust():
            return _system()
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        try:
            if self.authority:
                context.load_verify_locations(cadata=self.authority.decode("ascii"))
        except (ssl.SSLError, UnicodeError) as error:
            raise AccessError("the certificate authority is not a PEM certificate") from error
        if self.certificate:
            self._present(context)
        return context

    def _present(self, context: ssl.SSLContext) -> None:
        try:
            with as_file(self.certificate + b"\n" + self.key) as path:
                # Without a password OpenSSL would ask for one at the terminal, and wait.
                context.load_cert_chain(path, password="")
        except ssl.SSLError as error:
            raise AccessError(
                "the client certificate and key are damaged, encrypted, or do not belong together"
            ) from error


def trust(data: Mapping[str, bytes], *, origin: str) -> Trust:
    """What `certSecretRef` says: `ca.crt`, `tls.crt` and `tls.key`, or their old names."""
    authority = data.get("ca.crt") or data.get("caFile") or b""
    certificate = data.get("tls.crt") or data.get("certFile") or b""
    key = data.get("tls.key") or data.get("keyFile") or b""
    if bool(certificate) != bool(key):
        missing = "tls.key" if certificate else "tls.crt"
        raise AccessError(f"{origin} has a client certificate or a key without the other: '{missing}' is missing")
    if not authority and not certificate:
        raise AccessError(f"{origin} must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")
    return Trust(authority=authority, certificate=certificate, key=key)


def proxy(data: Mapping[str, bytes], *, origin: str) -> str:
    """What `proxySecretRef` says: `address`, and `username` with `password` if it wants a login."""
    try:
        address = data.get("address", b"").decode().strip()
        username, password = data.get("username", b"").decode(), data.get("password", b"").decode()
    except UnicodeError:
        raise AccessError(f"{origin} holds bytes that are no text") from None
    if not address:
        raise AccessError(f"invalid proxy {origin}: key 'address' is missing")
    if len(address) > LONGEST_PROXY:
        raise AccessError(f"invalid proxy {origin}: 'address' is longer than {LONGEST_PROXY} characters")
    if not _is_proxy(address):
        # Not quoted: it may hold a password.
        raise AccessError(f"invalid proxy {origin}: 'address' is not an http, https or socks5 address")
    if password and not username:
        raise AccessError(f"invalid proxy {origin}: a password needs a 'username'")
    if not username:
        return address
    login = quote(username, safe="") + (":" + quote(password, safe="") if password else "")
    parts = urlsplit(address)
    return parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}").geturl()


def _is_proxy(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https", "socks5") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def system_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address; none on the way to ourselves."""
    parts = urlsplit(url)
    if parts.hostname in _LOOPBACK or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


@lru_cache(maxsize=1)
def _system() -> ssl.SSLContext:
    """Read once: it costs tens of milliseconds, and nobody changes it."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
