"""All that is needed to reach one API server, whatever file or Secret it was read from."""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from penstock.kube.credentials import Credential, Credentials, Static
from penstock.kube.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

    from penstock.kube.identity import Identity


@dataclass(frozen=True, slots=True)
class Settings:
    """One API server and who we are to it."""

    server: str
    origin: str
    """Where these settings come from, for messages: a file and context, or a Secret."""
    namespace: str = "default"
    authority: bytes | None = field(default=None, repr=False)
    """PEM certificates that sign the server's; None means those the system trusts."""
    verify: bool = True
    server_name: str | None = None
    credentials: Credentials = field(default_factory=Static, repr=False)
    proxy: str | None = field(default=None, repr=False)
    identity: Identity | None = None

    def __post_init__(self) -> None:
        if "@" in self.server:
            raise ConfigError(f"{self.origin}: server must not hold a user or password; give them as user")
        if not _is_address(self.server):
            raise ConfigError(f"{self.origin}: server {self.server!r} is not an http or https address")
        if self.proxy is not None and not _is_address(self.proxy):
            # Not quoted: it may hold a password.
            raise ConfigError(f"{self.origin}: proxy-url is not an http or https address")

    @property
    def loopback(self) -> bool:
        return urlsplit(self.server).hostname in {"127.0.0.1", "::1", "localhost"}

    def proxy_address(self) -> str | None:
        """The proxy for this server: the one of the settings, else what the environment says of other machines."""
        if self.proxy or self.loopback:
            return self.proxy
        parts = urlsplit(self.server)
        return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)

    def tls(self, credential: Credential) -> ssl.SSLContext | None:
        """The TLS side of the connection; blocking, since it may read the system's certificates."""
        if not self.server.startswith("https://"):
            return None
        try:
            context = self._trust()
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"{self.origin}: the certificate authority is not a PEM certificate") from error
        if credential.certificate and credential.key:
            try:
                with as_file(credential.certificate + b"\n" + credential.key) as path:
                    # Without a password OpenSSL would ask for one at the terminal, and wait.
                    context.load_cert_chain(path, password="")
            except ssl.SSLError as error:
                raise ConfigError(
                    f"{self.origin}: the client certificate and key are damaged, encrypted, or do not belong together"
                ) from error
        return context

    def _trust(self) -> ssl.SSLContext:
        if not self.verify:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        if self.authority is None:
            return ssl.create_default_context()
        if not self.authority.strip():
            raise ValueError("empty")  # to OpenSSL this would mean the system's
        return ssl.create_default_context(cadata=self.authority.decode("ascii"))


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return text.startswith(("http://", "https://")) and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@contextmanager
def as_file(secret: bytes) -> Generator[str]:
    """A path under which OpenSSL can read the secret; it never touches a disk where the system allows that."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("client-certificate")
        try:
            os.write(descriptor, secret)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "client.pem")
        path.touch(mode=0o600)
        path.write_bytes(secret)
        yield str(path)
