"""Answers to a registry that wants to know who asks: Basic, and Bearer tokens from a token service.

Nothing is sent before the registry has asked, so a registry that needs no login never sees one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from penstock.sources.oci.credentials import Credential

LARGEST_TOKEN = 1 << 20
"""Bytes of a token service's answer."""

_CHALLENGE = re.compile(r"\s*(?P<scheme>[A-Za-z0-9_-]{1,32})(?:\s+(?P<parameters>.{0,4096}))?\s*", re.DOTALL)
_PARAMETER = re.compile(r'([A-Za-z0-9_-]{1,32})\s*=\s*(?:"((?:[^"\\]|\\.){0,2048})"|([^\s,"]{1,2048}))')


class AuthorizationError(PenstockError):
    """The registry wants a login that we do not have, or in a way that we do not know."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a registry says along with 401."""

    scheme: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """One question to a token service: a form to post, or else a query to get."""

    url: str
    query: tuple[tuple[str, str], ...] = ()
    form: tuple[tuple[str, str], ...] = ()
    authorization: str = ""


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""


def parse_challenge(headers: list[str]) -> Challenge:
    """The one of several challenges that we can answer best."""
    found = [challenge for header in headers if (challenge := _parse(header))]
    for scheme in ("bearer", "basic"):
        for challenge in found:
            if challenge.scheme == scheme:
                return challenge
    told = ", ".join(sorted({challenge.scheme for challenge in found})) or "nothing"
    raise AuthorizationError(f"the registry asks for a login by {told}; only Basic and Bearer are known")


class Authorizer:
    """The Authorization header for one registry and one login; tokens are kept by scope."""

    def __init__(
        self, credential: Credential, *, registry: str, ask: Callable[[TokenRequest], Awaitable[bytes]]
    ) -> None:
        self._credential = credential
        self._registry = registry
        self._ask = ask
        self._challenge: Challenge | None = None
        self._tokens: dict[str, str] = {}

    def header(self, scope: str) -> str:
        """What to send for this scope, as far as is known yet; empty before the first challenge."""
        if self._challenge is None:
            return ""
        if self._challenge.scheme == "basic":
            return self._credential.basic
        token = self._tokens.get(scope)
        return f"Bearer {token}" if token else ""

    async def answer(self, challenge: Challenge, scope: str) -> str:
        """The header that answers a challenge; empty when we have nothing to say."""
        self._challenge = challenge
        if challenge.scheme == "basic":
            return self._credential.basic
        self._tokens[scope] = self._credential.registry_token or await self._token(challenge, scope)
        return self.header(scope)

    async def _token(self, challenge: Challenge, scope: str) -> str:
        realm = challenge.parameters.get("realm", "")
        self._check(realm)
        service = challenge.parameters.get("service", "")
        content = await self._ask(self._request(realm, service, scope))
        try:
            answer = msgspec.json.decode(content, type=_Token)
        except msgspec.MsgspecError:
            raise AuthorizationError(f"the token service of {self._registry} gave an answer that is no JSON") from None
        token = answer.token or answer.access_token
        if not token or not token.isascii() or not token.isprintable():
            raise AuthorizationError(f"the token service of {self._registry} gave no usable token")
        return token

    def _request(self, realm: str, service: str, scope: str) -> TokenRequest:
        facts = [("service", service)] if service else []
        facts.append(("scope", scope))
        if self._credential.identity_token:
            form = [
                *facts,
                ("client_id", "penstock"),
                ("grant_type", "refresh_token"),
                ("refresh_token", self._credential.identity_token),
            ]
            return TokenRequest(realm, form=tuple(form))
        return TokenRequest(realm, query=tuple(facts), authorization=self._credential.basic)

    def _check(self, realm: str) -> None:
        try:
            parts = urlsplit(realm)
            usable = bool(parts.hostname) and parts.scheme in ("http", "https") and parts.username is None
        except ValueError:
            usable = False
        if not usable:
            raise AuthorizationError(f"the registry {self._registry} names no usable token service")


def _parse(header: str) -> Challenge | None:
    found = _CHALLENGE.fullmatch(header)
    if found is None:
        return None
    parameters = {
        name.lower(): re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        for name, quoted, plain in _PARAMETER.findall(found["parameters"] or "")
    }
    return Challenge(found["scheme"].lower(), parameters)
