"""What all Git repositories share: connections, mirrors, threads, and logins that end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp

from penstock.kube.connector import Connector
from penstock.sources.git import pktline
from penstock.sources.git.calling import calling
from penstock.sources.git.checkout import Bounds
from penstock.sources.git.guard import GuardedResolver
from penstock.sources.git.listing import Algorithms, Listing
from penstock.sources.git.mirror import Limits, Mirrors
from penstock.sources.git.program import Program, ProgramFailed
from penstock.sources.git.references import PEELED
from penstock.sources.git.tokens import Tokens
from penstock.sources.git.words import trouble

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from penstock.sources.git.listing import Place
    from penstock.sources.git.pktline import Refs

_CONNECTIONS = 100
_AGENT = "git/2.39 (penstock)"  # some servers know a Git client by the first word


class Git:
    """The one door to Git; open it with `async with Git.open(...)`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        folder: Path,
        *,
        limits: Limits | None,
        bounds: Bounds | None,
        algorithms: Algorithms | None,
    ) -> None:
        self.program = Program()
        self.mirrors = Mirrors(self.program, folder, limits)
        self.tokens = Tokens(session)
        self.bounds = bounds or Bounds()
        self.algorithms = algorithms or Algorithms()
        self._listing = Listing(session)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        folder: Path,
        *,
        limits: Limits | None = None,
        bounds: Bounds | None = None,
        algorithms: Algorithms | None = None,
    ) -> AsyncGenerator[Git]:
        """The door, with its mirrors in a folder of our own; old mirrors are swept away first."""
        connector = Connector(limit=_CONNECTIONS, resolver=GuardedResolver(), ttl_dns_cache=60)
        session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": _AGENT}, trust_env=False
        )
        async with session:
            git = cls(session, folder, limits=limits, bounds=bounds, algorithms=algorithms)
            try:
                await git.mirrors.sweep()
                yield git
            finally:
                git.program.close()

    async def refs(self, place: Place, names: Sequence[str]) -> tuple[Place, Refs]:
        """The refs whose names begin so, and the place to fetch from; RemoteTrouble when it cannot be asked."""
        if place.address.scheme in ("http", "https") and (place.proxy is None or place.proxy.scheme != "socks5"):
            return await self._listing.refs(place, names)
        patterns = [pattern for name in names for pattern in _patterns(name)]
        async with calling(place) as setting:
            try:
                printed = await self.program.output(
                    ["ls-remote", "--quiet", "--", place.address.url, *patterns], setting
                )
            except ProgramFailed as error:
                raise trouble(error.words) from None
        return place, pktline.of_text(printed)


def _patterns(name: str) -> tuple[str, ...]:
    return (f"{name}*",) if name.endswith("/") else (name, name + PEELED)
