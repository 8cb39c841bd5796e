"""Logins that end: kept until shortly before, and asked for again only then."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from penstock.sources.git import clouds, githubapp
from penstock.sources.git.githubapp import GitHubApp

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiohttp

    from penstock.sources.git.clouds import CloudLogin
    from penstock.sources.git.credentials import Credentials, Lease

    Lender = GitHubApp | CloudLogin

_SPARE = 300  # seconds before its end in which a login is not handed out any more
_REMEMBERED = 1000


class Tokens:
    """The logins of GitHub Apps and clouds."""

    def __init__(self, session: aiohttp.ClientSession, *, clock: Callable[[], float] = time.time) -> None:
        self._session, self._clock = session, clock
        self._kept: OrderedDict[str, Lease] = OrderedDict()

    async def credentials(self, lender: Lender) -> Credentials:
        """The login that is at hand, or a new one."""
        lease = self._kept.get(lender.identity)
        if lease is None or lease.ends - _SPARE < self._clock():
            lease = await self._fresh(lender)
            self._kept[lender.identity] = lease
            if len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)
        return lease.credentials

    def forget(self, lender: Lender) -> None:
        """Ask anew next time: the login was refused."""
        self._kept.pop(lender.identity, None)

    async def _fresh(self, lender: Lender) -> Lease:
        if isinstance(lender, GitHubApp):
            return await githubapp.lease(lender, self._session, self._clock())
        return await clouds.lease(lender, self._clock())
