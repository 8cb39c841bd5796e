"""Logging in as a GitHub App: a signed word of ours is exchanged for a token that lives an hour."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from yarl import URL

from penstock.sources.git.address import Address
from penstock.sources.git.credentials import Credentials, Lease
from penstock.sources.git.errors import LoginFailed, ProviderUnusable, RemoteTrouble
from penstock.sources.git.guard import check_literal
from penstock.sources.remote import Stalled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sources.git.proxy import Proxy

T = TypeVar("T")

NUMBER = "githubAppID"
_API = "https://api.github.com"
_USER = "x-access-token"
_EARLY, _VALID = 30, 120  # seconds: clocks differ, and the word is used at once
_LARGEST = 1 << 20
_SECONDS = aiohttp.ClientTimeout(total=30)


class _Installation(msgspec.Struct, frozen=True):
    id: int


class _Token(msgspec.Struct, frozen=True):
    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class GitHubApp:
    """An App, where it is installed, and its key."""

    number: str
    key: bytes
    owner: str = ""
    installation: str = ""
    api: str = _API
    authority: bytes = b""
    proxy: Proxy | None = None

    @classmethod
    def of_secret(cls, data: Mapping[str, bytes], *, proxy: Proxy | None = None) -> GitHubApp:
        """The App that a Secret describes; Stalled when a part is missing, for only an edit can help."""
        texts = {key: value.decode("utf-8", "replace").strip() for key, value in data.items()}
        if not texts.get(NUMBER):
            raise ProviderUnusable("secretRef with github app data must be specified when provider is set to github")
        owner, installation = texts.get("githubAppInstallationOwner", ""), texts.get("githubAppInstallationID", "")
        if not texts[NUMBER].isdigit():
            raise _refused("app ID must be a number")
        if not texts.get("githubAppPrivateKey"):
            raise _refused("private key must be provided")
        if not owner and not installation:
            raise _refused("app installation owner or ID must be provided")
        if owner and installation:
            raise _refused("only one of app installation owner or ID must be provided")
        if installation and not installation.isdigit():
            raise _refused("app installation ID must be a number")
        api = (texts.get("githubAppBaseURL") or _API).rstrip("/")
        if not api.startswith(("https://", "http://")):
            raise _refused("githubAppBaseURL must be an http or https URL")
        authority = data.get("ca.crt") or data.get("caFile") or b""
        return cls(texts[NUMBER], data["githubAppPrivateKey"], owner, installation, api, authority, proxy)

    @property
    def identity(self) -> str:
        """What stands for the App where a token changes every hour."""
        key = hashes.Hash(hashes.SHA256())
        key.update(self.key)
        return "\n".join((self.number, self.owner, self.installation, self.api, key.finalize().hex()))

    def word(self, now: float) -> str:
        """Our signed word (a JSON web token) that we are this App; blocking, since RSA takes its time."""
        issued = int(now) - _EARLY
        claims = {"iat": issued, "exp": issued + _VALID, "iss": self.number}
        text = f"{_encoded({'alg': 'RS256', 'typ': 'JWT'})}.{_encoded(claims)}"
        signature = _rsa(self.key).sign(text.encode("ascii"), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{base64.urlsafe_b64encode(signature).decode('ascii').rstrip('=')}"


async def lease(app: GitHubApp, session: aiohttp.ClientSession, now: float) -> Lease:
    """A login with a new token of the App."""
    word = await asyncio.to_thread(app.word, now)
    number = app.installation or await _installation(app, session, word)
    path = f"app/installations/{number}/access_tokens"
    token = await _call(app, session, "POST", path, word, _Token)
    login = Credentials(username=_USER, password=token.token, authority=app.authority, application=app.identity)
    return Lease(login, token.expires_at.timestamp())


async def _installation(app: GitHubApp, session: aiohttp.ClientSession, word: str) -> str:
    owner = quote(app.owner, safe="")
    try:
        found = await _call(app, session, "GET", f"orgs/{owner}/installation", word, _Installation)
    except LoginFailed:
        found = await _call(app, session, "GET", f"users/{owner}/installation", word, _Installation)
    return str(found.id)


async def _call(app: GitHubApp, session: aiohttp.ClientSession, method: str, path: str, word: str, form: type[T]) -> T:
    url = f"{app.api}/{path}"
    headers = {"Authorization": f"Bearer {word}", "Accept": "application/vnd.github+json"}
    greeting = app.proxy.headers if app.proxy else {}
    if not url.startswith("https:"):
        headers |= greeting
    try:
        check_literal(Address.parse(url).host)
        trust = await asyncio.to_thread(Credentials(authority=app.authority).trust)
        async with session.request(
            method,
            URL(url, encoded=True),
            headers=headers,
            ssl=trust,
            allow_redirects=False,
            timeout=_SECONDS,
            proxy=app.proxy.url if app.proxy else None,
            proxy_headers=greeting,
        ) as response:
            if response.status not in (200, 201):
                raise LoginFailed(f"GitHub answered {response.status} to {method} {path}")
            return msgspec.json.decode(await response.content.read(_LARGEST), type=form)
    except (aiohttp.ClientError, OSError, msgspec.DecodeError, msgspec.ValidationError, RemoteTrouble) as error:
        raise LoginFailed(f"GitHub cannot be asked ({type(error).__name__}) for {path}") from None


@lru_cache(maxsize=64)
def _rsa(pem: bytes) -> rsa.RSAPrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError):
        raise _refused("could not parse private key") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise _refused("the private key is not one of RSA")
    return key


def _encoded(claims: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(claims)).decode("ascii").rstrip("=")


def _refused(words: str) -> Stalled:
    return Stalled(
        f"failed to configure authentication options: {words} to use github app authentication",
        reason="AuthenticationFailed",
    )
