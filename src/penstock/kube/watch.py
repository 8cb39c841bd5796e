"""The wire format of a watch: one JSON event a line, for as long as the connection lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import orjson

from penstock.kube.errors import BadAnswer, api_error, parse_status
from penstock.kube.resources import is_object

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from contextlib import AbstractAsyncContextManager

    import aiohttp

    from penstock.kube.resources import Object
    from penstock.kube.transport import Request

QUIET = 150.0
"""Seconds without a byte after which a watch counts as half-open. Bookmarks come about once a minute."""

LONGEST_EVENT = 64 * 1024 * 1024
"""Bytes of one event; etcd stops far below."""

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
_TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change, as the server tells it."""

    type: EventType
    object: Object

    @property
    def resource_version(self) -> str:
        return (self.object.get("metadata") or {}).get("resourceVersion") or ""

    @property
    def initial_end(self) -> bool:
        """True for the bookmark that closes the initial events of a streaming list."""
        annotations = (self.object.get("metadata") or {}).get("annotations") or {}
        return self.type == "BOOKMARK" and annotations.get("k8s.io/initial-events-end") == "true"


async def watch_events(
    stream: AbstractAsyncContextManager[aiohttp.StreamReader], request: Request
) -> AsyncGenerator[WatchEvent]:
    """Decode the events of an open watch; an ERROR event is raised as what it is."""
    async with stream as reader:
        async for line in _lines(reader, request):
            yield _decode(line, request)


async def _lines(reader: aiohttp.StreamReader, request: Request) -> AsyncIterator[bytes]:
    # Not `readline`: aiohttp bounds a line by its read buffer, and objects are larger than that.
    begun = bytearray()
    async for chunk in reader.iter_any():
        begun += chunk
        if b"\n" not in chunk:
            if len(begun) > LONGEST_EVENT:
                raise BadAnswer(f"an event of {request} is longer than {LONGEST_EVENT // 2**20} MiB")
            continue
        *complete, rest = bytes(begun).split(b"\n")
        begun = bytearray(rest)
        for line in complete:
            if line:
                yield line
    if begun:
        raise BadAnswer(f"the watch {request} was cut off in the middle of an event")


def _decode(line: bytes, request: Request) -> WatchEvent:
    try:
        event = orjson.loads(line)
        kind, obj = event["type"], event["object"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise BadAnswer(f"the watch {request} sent something that is no event") from error
    if kind == "ERROR":
        raise api_error(parse_status(500, obj), str(request))
    if kind not in _TYPES:
        raise BadAnswer(f"the watch {request} sent an event of the unknown type {kind!r}")
    if not is_object(obj):
        raise BadAnswer(f"the watch {request} sent an event without an object")
    return WatchEvent(kind, cast("Object", obj))
