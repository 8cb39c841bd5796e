"""YAML in, with its comments.

The parser (libyaml's, through PyYAML) drops comments but says where every event stands; what stands between the
events and begins with `#` is a comment. It goes where its column says: into the deepest open block that does not
begin further right.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import yaml

from penstock.sops.errors import LoadError
from penstock.sops.values import Branch, Comment, Value
from penstock.sops.yaml_comments import end_of, is_block, remarks, start_of, too_many
from penstock.sops.yaml_scalars import resolve

_DEPTH = 200
_MOST_EVENTS = 200_000  # about two a value
_MOST_COPIES = 100_000  # values that aliases may add
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class _Frame:
    """A container that is being read."""

    value: Branch | list[Value]
    column: int
    flow: bool
    anchor: str | None
    key: str | None = None
    key_end: int = -1
    names: set[str] = field(default_factory=set[str])


def load(data: bytes) -> list[Branch]:
    """All documents of a file; each is a mapping, or empty."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise LoadError("the file is not UTF-8") from None  # the cause would carry the file along
    text = text.removeprefix("\ufeff")
    try:
        events = list(islice(yaml.parse(text, Loader=_LOADER), _MOST_EVENTS))
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise LoadError(f"{where}{error.problem or 'not YAML'}") from None
    except (yaml.YAMLError, UnicodeError, RecursionError):
        raise LoadError("the text holds characters that YAML does not allow") from None
    if len(events) == _MOST_EVENTS or too_many(text):
        raise LoadError("the file holds far more values or comments than anybody needs")
    return _Builder(text, events).documents()


class _Builder:
    def __init__(self, text: str, events: list[yaml.Event]) -> None:
        self.text = text
        self.events = events
        self.remarks = remarks(text, events)
        self.next_remark = 0
        self.frames: list[_Frame] = []
        self.anchors: dict[str, Value] = {}
        self.copies = 0
        self.roots: list[Branch] = []

    def documents(self) -> list[Branch]:
        ends = [at for at, event in enumerate(self.events) if isinstance(event, yaml.DocumentEndEvent)]
        start = 0
        for end in ends:
            self.roots.append(self._document(start, end))
            start = end + 1
        if self.roots:
            self.roots[-1].extend((comment, None) for comment in self._until(None))
        return self.roots

    def _document(self, start: int, end: int) -> Branch:
        root: Value = None
        self.anchors.clear()
        leading: list[Comment] = []
        for position in range(start, end):
            event = self.events[position]
            if isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                leading += self._until(end_of(event).index)
                continue
            finished = self._event(event, position)
            if finished is not None:
                root = finished[0]
        branch = self._as_branch(root)
        branch.pairs[:0] = [(comment, None) for comment in leading]
        branch.extend((comment, None) for comment in self._until(start_of(self.events[end]).index))
        return branch

    def _as_branch(self, root: Value) -> Branch:
        if isinstance(root, Branch):
            return root
        if root is None:
            return Branch()
        kind = "list" if isinstance(root, list) else "single value"
        raise LoadError(f"a YAML document must be a mapping, and one of them is a {kind}")

    def _event(self, event: yaml.Event, position: int) -> tuple[Value] | None:
        """Take one event in; a pair around the document's root when that is complete."""
        match event:
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
                return None
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                return self._close(event, position)
            case yaml.AliasEvent():
                self._heads(event)
                return self._add(self._copy(event.anchor), event, position)
            case yaml.ScalarEvent():
                self._heads(event)
                value = resolve(event.value, event.tag, plain=bool(event.implicit[0]))
                if event.anchor:
                    self.anchors[event.anchor] = value
                return self._add(value, event, position)
            case _:
                return None

    def _open(self, event: Any) -> None:
        if len(self.frames) >= _DEPTH:
            raise LoadError(f"the document is nested more than {_DEPTH} levels deep")
        frame = self.frames[-1] if self.frames else None
        if frame and isinstance(frame.value, Branch) and frame.key is None:
            raise LoadError(f"line {event.start_mark.line + 1}: a list or mapping cannot be a key")
        self._heads(event, opening=True)
        value: Branch | list[Value] = Branch() if isinstance(event, yaml.MappingStartEvent) else []
        mark = start_of(event)
        self.frames.append(_Frame(value, mark.column, bool(event.flow_style), event.anchor))

    def _close(self, event: yaml.Event, position: int) -> tuple[Value] | None:
        frame = self.frames.pop()
        first, last = start_of(event), end_of(event)
        if frame.flow:
            _extend(frame.value, self._until(first.index))
            _insert(frame.value, self._same_line(last.index, before=self._next_content(position)))
        else:
            _extend(frame.value, self._belonging(frame.column, self._next_content(position)))
        if frame.anchor:
            self.anchors[frame.anchor] = frame.value
        if not self.frames:
            return (frame.value,)
        self._put(frame.value)
        return None

    def _add(self, value: Value, event: yaml.Event, position: int) -> tuple[Value] | None:
        if not self.frames:
            return (value,)
        frame = self.frames[-1]
        if isinstance(frame.value, Branch) and frame.key is None:
            self._name(frame, value, event)
            return None
        mark = start_of(event) if is_block(event) else end_of(event)
        behind = self._same_line(mark.index, before=start_of(self.events[position + 1]).index)
        _extend(frame.value, [Comment(comment.text, inline=True) for comment in behind])
        self._put(value)
        return None

    def _name(self, frame: _Frame, key: Value, event: yaml.Event) -> None:
        line = start_of(event).line + 1
        if not isinstance(key, str):
            raise LoadError(f"line {line}: a key is not text; quote it")
        if key in frame.names:
            raise LoadError(f"line {line}: the key {key!r} is there already")
        frame.names.add(key)
        frame.key, frame.key_end = key, end_of(event).index

    def _put(self, value: Value) -> None:
        frame = self.frames[-1]
        if isinstance(frame.value, Branch):
            frame.value.append((frame.key or "", value))
            frame.key = None
        else:
            frame.value.append(value)

    def _heads(self, event: Any, *, opening: bool = False) -> None:
        """Put the comments above this event where they belong, before the event itself is taken in."""
        begin = start_of(event).index
        if not self.frames:
            return
        frame = self.frames[-1]
        if frame.key is not None:
            behind_key = self._same_line(frame.key_end, before=begin)
            _extend(frame.value, behind_key)
        if opening:
            return  # what stands above the first entry of a block goes into the block
        _extend(frame.value, self._until(begin))

    def _copy(self, anchor: str | None) -> Value:
        if anchor is None or anchor not in self.anchors:
            raise LoadError("an alias stands before its anchor")
        return self._copied(self.anchors[anchor])

    def _copied(self, value: Value) -> Value:
        self.copies += 1
        if self.copies > _MOST_COPIES:
            raise LoadError(f"aliases add more than {_MOST_COPIES} values to the document")
        if isinstance(value, Branch):
            return Branch((key, self._copied(inner)) for key, inner in value)
        return [self._copied(item) for item in value] if isinstance(value, list) else value

    def _next_content(self, position: int) -> int | None:
        following = self.events[position + 1] if position + 1 < len(self.events) else None
        while isinstance(following, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            position += 1
            following = self.events[position + 1]
        return int(start_of(following).index) if following else None

    def _until(self, index: int | None) -> list[Comment]:
        end = len(self.remarks) if index is None else bisect_left(self.remarks, index, key=lambda r: r.index)
        taken = self.remarks[self.next_remark : end]
        self.next_remark = max(self.next_remark, end)
        return [Comment(remark.text) for remark in taken]

    def _belonging(self, column: int, before: int | None) -> list[Comment]:
        taken: list[Comment] = []
        while self.next_remark < len(self.remarks):
            remark = self.remarks[self.next_remark]
            if remark.column < column or remark.in_item or (before is not None and remark.index >= before):
                break
            taken.append(Comment(remark.text))
            self.next_remark += 1
        return taken

    def _same_line(self, index: int, *, before: int | None) -> list[Comment]:
        """The comment that ends the line of a place, if nothing else stands before it."""
        if self.next_remark >= len(self.remarks):
            return []
        remark = self.remarks[self.next_remark]
        if not remark.behind or (before is not None and remark.index >= before):
            return []
        if self.text.find("\n", index, remark.index) >= 0:
            return []
        self.next_remark += 1
        return [Comment(remark.text)]


def _extend(container: Branch | list[Value], comments: list[Comment]) -> None:
    if isinstance(container, Branch):
        container.extend((comment, None) for comment in comments)
    else:
        container.extend(comments)


def _insert(container: Branch | list[Value], comments: list[Comment]) -> None:
    if isinstance(container, Branch):
        container.pairs[:0] = [(comment, None) for comment in comments]
    else:
        container[:0] = comments
