"""Comments of a YAML text. The parser drops them, but says where every value stands: what is left may be one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT = re.compile(r"(?<![^\s,\[\]{}])#[^\n\r]*")
_MOST = 100_000
_DASH = re.compile(r"^[ \t]*-(?=\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment at its place; `behind` says that something else stands before it on the line."""

    index: int
    column: int
    text: str
    behind: bool
    in_item: bool
    """True when the dash of a list item stands between the last value and this."""


def remarks(text: str, events: list[yaml.Event]) -> list[Remark]:
    """All comments, in their order."""
    if "#" not in text:
        return []
    found: list[Remark] = []
    at = 0
    for event in events:
        begin, finish = start_of(event).index, end_of(event).index
        if not isinstance(event, yaml.ScalarEvent) or finish <= begin:
            continue
        found.extend(_between(text, at, begin))
        at = finish
        if is_block(event):
            found.extend(_between(text, begin, text.find("\n", begin)))
            at = _end_of_block(text, begin, finish)
    found.extend(_between(text, at, len(text)))
    return found


def too_many(text: str) -> bool:
    """True when the text has more comments than anybody writes; they are counted before any is made."""
    return text.count("#") > _MOST and sum(1 for _ in _COMMENT.finditer(text)) > _MOST


def _end_of_block(text: str, begin: int, end: int) -> int:
    """Where a block of text ends; the parser counts the comments that follow it, if they begin further left, in."""
    start = text.find("\n", begin, end) + 1
    indent = -1
    while 0 < start < end:
        line_end = text.find("\n", start)
        line = text[start : line_end if line_end >= 0 else len(text)]
        bare = line.lstrip(" ")
        if bare and indent < 0:
            indent = len(line) - len(bare)
        if bare.startswith("#") and len(line) - len(bare) < indent:
            return start
        if line_end < 0:
            break
        start = line_end + 1
    return end


def _between(text: str, start: int, end: int) -> Iterator[Remark]:
    """The comments in a stretch that holds no value."""
    if text.find("#", start, end) < 0:
        return
    dash = _DASH.search(text, start, end)
    for match in _COMMENT.finditer(text, start, end):
        index = match.start()
        line_start = text.rfind("\n", 0, index) + 1
        behind = bool(text[line_start:index].strip())
        in_item = dash is not None and dash.start() < index
        yield Remark(index, index - line_start, match[0][1:].rstrip(), behind, in_item)


def start_of(event: yaml.Event) -> Any:
    """The place at which an event begins."""
    return event.start_mark


def end_of(event: yaml.Event) -> Any:
    """The place just behind an event."""
    return event.end_mark


def is_block(event: yaml.Event) -> bool:
    """True for text of several lines after a `|` or `>`."""
    return isinstance(event, yaml.ScalarEvent) and event.style in ("|", ">")
