"""Where a repository lies."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from penstock.sources.git.errors import InvalidAddress

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_PORTS = {"http": 80, "https": 443, "ssh": 22}
_HOST = re.compile(r"[0-9A-Za-z_](?:[0-9A-Za-z._-]*[0-9A-Za-z._])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%[0-9A-Za-z]+)?")
_USER = re.compile(r"[0-9A-Za-z_][0-9A-Za-z._@+-]*")
_SCP = re.compile(r"(?:([0-9A-Za-z_][0-9A-Za-z._-]*)@)?([0-9A-Za-z_][0-9A-Za-z._-]*):([^/\s:][^\s:]*|/[^/\s:][^\s:]*)")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in parts; user and password are in it only as far as the protocol needs them there."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str = ""
    user: str = ""

    @classmethod
    def parse(cls, url: str, *, local: bool = False) -> Address:
        """The address in a URL; `local` allows `file://` too."""
        parts, port = _split(url)
        if parts.scheme == "file" and local:
            return cls("file", "", None, unquote(parts.path))
        if parts.scheme not in _PORTS:
            raise InvalidAddress(f"'{shown(url)}' is not an address of a Git repository: http, https and ssh are known")
        host = parts.hostname or ""
        if not _HOST.fullmatch(host):
            raise InvalidAddress(f"'{shown(url)}' names no host that can be called")
        user = unquote(parts.username or "") if parts.scheme == "ssh" else ""
        if user and not _USER.fullmatch(user):
            raise InvalidAddress(f"'{shown(url)}' names no user that can log in")
        return cls(parts.scheme, host, port, parts.path, parts.query, user)

    @property
    def url(self) -> str:
        """The URL to call, without a password."""
        if self.scheme == "file":
            return f"file://{self.path}"
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self.authority}{self.path}" + (f"?{self.query}" if self.query else "")

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Who gets what we send there: credentials for one origin never go to another."""
        return self.scheme, self.host.lower(), self.port or _PORTS.get(self.scheme, 0)

    def related(self, url: str) -> Address:
        """The address of a submodule: a URL, a `user@host:path`, or a path relative to this repository."""
        if url.startswith(("./", "../")):
            path = posixpath.normpath(posixpath.join(self.path.rstrip("/") + "/", url))
            return Address(self.scheme, self.host, self.port, "/" + path.lstrip("/"), self.query, self.user)
        if "://" not in url and (found := _SCP.fullmatch(url)):
            return Address("ssh", found[2], None, "/" + found[3].removeprefix("/"), user=found[1] or "")
        return Address.parse(url, local=self.scheme == "file")


def shown(url: str) -> str:
    """A URL as texts may show it: without user, password and query."""
    text = _CONTROL.sub("?", url)[:2048]
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text.partition("?")[0]
    authority, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def login(url: str) -> tuple[str, str]:
    """User and password that a URL carries."""
    parts, _ = _split(url)
    return unquote(parts.username or ""), unquote(parts.password or "")


def _split(url: str) -> tuple[SplitResult, int | None]:
    if _CONTROL.search(url) or len(url) > 2048:
        raise InvalidAddress(f"failed to parse url '{shown(url)}': it holds a space or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidAddress(f"failed to parse url '{shown(url)}': {error}") from error
    return parts, port
