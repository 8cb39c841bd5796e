"""What goes back to a client: code, headers and body."""

from __future__ import annotations

import asyncio
import gzip
import os
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.server.negotiation import JSON, YAML

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from penstock.embedded.status import StatusError

    Send = Callable[[dict[str, Any]], Awaitable[None]]

GZIP_FROM = 128 * 1024
WARNINGS_LIMIT = 4 * 1024
WARNING_LIMIT = 256
"""Characters that all warnings of an answer may have, and each of them once they have more."""
_IN_THREAD = 512 * 1024
TEXT = "text/plain; charset=utf-8"
_PRETTY_AGENTS = ("curl/", "Wget/", "Mozilla/")


@dataclass(slots=True)
class Answer:
    """A whole answer, or the beginning of a stream."""

    code: int = 200
    body: bytes | list[bytes] = b""
    content_type: str = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    stream: AsyncGenerator[bytes] | None = None
    media_type: str = JSON
    """What an object answer is turned into: JSON as it is, or YAML."""

    def warn(self, warnings: list[str]) -> Answer:
        self.headers += [(b"warning", warning_header(text)) for text in shortened(warnings)]
        return self


def json_answer(value: Any, code: int = 200) -> Answer:
    return Answer(code, orjson.dumps(value))


def text_answer(text: str, code: int = 200) -> Answer:
    return Answer(code, text.encode(), TEXT, [(b"x-content-type-options", b"nosniff")])


def not_found_page() -> Answer:
    """What the real server says where no API group lives."""
    return text_answer("404 page not found\n", 404)


def error_answer(error: StatusError) -> Answer:
    answer = Answer(error.code, orjson.dumps(error.body()))
    if error.retry_after:
        answer.headers.append((b"retry-after", str(error.retry_after).encode()))
    return answer


def shortened(warnings: list[str]) -> list[str]:
    """The warnings that go into an answer: each once, and when all are too long each cut and the last left out."""
    told = [text for text in dict.fromkeys(warnings) if text]
    fitting = next((n for n, end in enumerate(accumulate(map(len, told))) if end > WARNINGS_LIMIT), None)
    if fitting is None:
        return told
    cut = [text[:WARNING_LIMIT] for text in told]
    lengths = list(accumulate(map(len, cut)))
    # As on the real server: those that were told before it was too much stay, cut; others follow while there is room.
    return [text for n, text in enumerate(cut) if n <= fitting or lengths[n - 1] < WARNINGS_LIMIT]


def warning_header(text: str) -> bytes:
    """A `Warning` header; what cannot stand in a header is left out."""
    printable = "".join(char for char in text if char.isprintable())
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'.encode()


def audit_id() -> bytes:
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}".encode()


def wants_pretty(query: dict[str, list[str]], agent: str) -> bool:
    told = query.get("pretty")
    if told is not None:
        return told[0].lower() not in ("false", "0")
    return agent.startswith(_PRETTY_AGENTS)


async def shaped(answer: Answer, *, pretty: bool, compress: bool) -> bytes:
    """The body as the client wants it; compression is told by a header of the answer."""
    body = b"".join(answer.body) if isinstance(answer.body, list) else answer.body
    if answer.content_type == JSON:
        if answer.media_type == YAML:
            answer.content_type = YAML
            body = await asyncio.to_thread(_to_yaml, body)
        elif pretty:
            body = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)
    if compress and len(body) >= GZIP_FROM:
        answer.headers += [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
        if len(body) < _IN_THREAD:
            return gzip.compress(body, 1, mtime=0)
        return await asyncio.to_thread(gzip.compress, body, 1, mtime=0)
    return body


def _to_yaml(body: bytes) -> bytes:
    import yaml

    return yaml.dump(orjson.loads(body), Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True)
