"""Waits until objects that were deleted are really gone, by watch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.health import Lookout, open_lookout
from penstock.kube.errors import NoMatch, NotServed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube import Client, ObjectRef

TICK = 5.0


async def until_gone(client: Client, wanted: Mapping[ObjectRef, str], *, timeout: float) -> list[ObjectRef]:
    """Wait until these objects, given with their uids, are gone; what is still there after `timeout` seconds.

    A namesake with another uid is another object. A kind that the server says it does not serve took its objects with
    it; one of which discovery knows nothing did not.
    """
    remaining = dict(wanted)
    try:
        async with asyncio.timeout(timeout), open_lookout(client) as view:
            seen = await view.look(remaining)
            if not _forget(view, remaining):
                return []
            view.follow(seen)
            while _forget(view, remaining):
                await view.rings(TICK)
    except TimeoutError:
        return list(remaining)
    return []


def _forget(view: Lookout, remaining: dict[ObjectRef, str]) -> bool:
    """Drop what is gone; whether anything is left."""
    for ref, uid in list(remaining.items()):
        sight = view.sight(ref)
        if sight is None or (sight.error is not None and not isinstance(sight.error, NoMatch | NotServed)):
            continue
        found = (sight.obj.get("metadata") or {}).get("uid") if sight.obj is not None else None
        if found is None or (uid and found != uid):
            del remaining[ref]
    return bool(remaining)
