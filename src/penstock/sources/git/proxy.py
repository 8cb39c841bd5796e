"""The proxy between us and a repository."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from penstock.sources.remote import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sources.git.address import Address

_SCHEMES = ("http", "https", "socks5")
_LONGEST = 2048


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """Where to go through, and as whom."""

    scheme: str
    authority: str
    username: str = ""
    password: str = ""

    @classmethod
    def of_secret(cls, data: Mapping[str, bytes]) -> Proxy:
        """The proxy that a Secret describes by `address`, `username` and `password`."""
        address = data.get("address", b"").decode("utf-8", "replace").strip()
        if not address:
            raise _refused("the Secret has no key 'address'")
        username, password = (data.get(key, b"").decode("utf-8", "replace") for key in ("username", "password"))
        if password and not username:
            raise _refused("the Secret has a 'password' and no 'username'")
        return cls._of_url(address, username, password)

    @classmethod
    def of_environment(cls, address: Address) -> Proxy | None:
        """The proxy that this process was told to use for an address, by HTTPS_PROXY and its kin."""
        url = getproxies().get(address.scheme, "")
        if not url or proxy_bypass(address.authority):
            return None
        return cls._of_url(url if "://" in url else f"http://{url}", "", "")

    @classmethod
    def _of_url(cls, url: str, username: str, password: str) -> Proxy:
        if not _is_usable(url):
            raise _refused("its address is not an http, https or socks5 URL of at most 2048 characters")
        parts = urlsplit(url)
        authority = parts.netloc.rpartition("@")[2]
        user, own = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(parts.scheme, authority, username or user, password or own)

    @property
    def url(self) -> str:
        """The URL without a login."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url_with_login(self) -> str:
        """The URL for libcurl, which takes the login from there; `socks5h` lets the proxy look up the name."""
        scheme = "socks5h" if self.scheme == "socks5" else self.scheme
        if not self.username:
            return f"{scheme}://{self.authority}"
        return f"{scheme}://{quote(self.username, safe='')}:{quote(self.password, safe='')}@{self.authority}"

    @property
    def headers(self) -> dict[str, str]:
        """The login as a header for the proxy."""
        if not self.username:
            return {}
        login = b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")
        return {"Proxy-Authorization": f"Basic {login}"}

    @property
    def identity(self) -> str:
        return self.url_with_login


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return named and len(url) <= _LONGEST and url.isprintable() and " " not in url


def _refused(words: str) -> SourceError:
    return SourceError(f"failed to configure proxy options: {words}", reason="AuthenticationFailed")
