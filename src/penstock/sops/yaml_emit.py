"""YAML out: four columns a level, comments where they were, byte for byte as SOPS writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.sops.values import Branch, Comment, Value, encoded
from penstock.sops.yaml_scalars import as_block, block, spell

if TYPE_CHECKING:
    from collections.abc import Iterable

_INDENT = 4
_LONGEST_KEY = 128  # bytes


def emit(documents: Iterable[Branch]) -> bytes:
    """All documents, with `---` between them."""
    texts: list[str] = []
    for document in documents:
        lines: list[str] = []
        _mapping(document, 0, "", lines)
        texts.append("".join(f"{line}\n" for line in lines))
    return encoded("---\n".join(texts))


class _Comments:
    """The comments seen since the last entry."""

    def __init__(self, lines: list[str], pad: str) -> None:
        self.lines = lines
        self.pad = pad
        self.above: list[str] = []
        self.behind: list[str] = []

    def add(self, comment: Comment) -> None:
        (self.behind if comment.inline else self.above).append(comment.text)

    def write_above(self) -> None:
        self.lines.extend(f"{self.pad}#{text}" for text in self.above)
        self.above.clear()

    def take_behind(self) -> str:
        text = "".join(f"\n{self.pad}#{text}" for text in self.behind)
        self.behind.clear()
        return text.replace(f"\n{self.pad}", " ", 1)

    def write_rest(self) -> None:
        self.above += self.behind
        self.write_above()


def _deeper(column: int) -> int:
    return (column + _INDENT) // _INDENT * _INDENT


def _mapping(branch: Branch, column: int, lead: str, lines: list[str]) -> None:
    """Write the entries; `lead` stands before the first one (`- ` of a list)."""
    pad = " " * column
    comments = _Comments(lines, pad if not lead else lead[: len(lead) - len(lead.lstrip(" "))])
    empty = True
    for key, value in branch:
        if isinstance(key, Comment):
            comments.add(key)
            continue
        comments.write_above()
        behind = comments.take_behind()
        comments.pad = pad
        _entry(key, value, (lead or pad, column), behind, lines)
        lead = ""
        empty = False
    if empty:
        comments.write_rest()
        lines.append(f"{lead or pad}{{}}")
    comments.write_rest()


def _sequence(items: list[Value], column: int, lead: str, lines: list[str]) -> None:
    pad = " " * column
    comments = _Comments(lines, pad if not lead else lead[: len(lead) - len(lead.lstrip(" "))])
    for item in items:
        if isinstance(item, Comment):
            comments.add(item)
            continue
        comments.write_above()
        behind = comments.take_behind()
        comments.pad = pad
        _node(item, f"{lead or pad}- ", column + 2, behind, lines)
        lead = ""
    comments.write_rest()


def _node(value: Value, lead: str, column: int, behind: str, lines: list[str]) -> None:
    """An item of a list: what follows its dash starts at `column`."""
    if isinstance(value, Branch):
        if _has_entries(value):
            _mapping(value, column, lead, lines)
        else:
            lines.append(f"{lead}{{}}{behind}")
    elif isinstance(value, list):
        if any(not isinstance(item, Comment) for item in value):
            _sequence(value, column, lead, lines)
        else:
            lines.append(f"{lead}[]{behind}")
    else:
        lines.append(lead + _scalar(value, (column - 2, column), behind))


def _entry(key: str, value: Value, place: tuple[str, int], behind: str, lines: list[str]) -> None:
    lead, column = place
    start = f"{lead}{spell(key)}:"
    if len(encoded(key)) > _LONGEST_KEY or "\n" in key:
        lines.append(f"{lead}? {_scalar(key, (column, _deeper(column)), '')}")
        inside = _deeper(column) - column if isinstance(value, list | Branch) else 2
        _node(value, f"{' ' * column}:{' ' * (inside - 1)}", column + inside, behind, lines)
    elif isinstance(value, Branch):
        if _has_entries(value):
            lines.append(start + behind)
            _mapping(value, _deeper(column), "", lines)
        else:
            _only_comments(value, f"{start} {{}}{behind}", column, lines)
    elif isinstance(value, list):
        if any(not isinstance(item, Comment) for item in value):
            lines.append(start + behind)
            _sequence(value, _deeper(column), "", lines)
        else:
            lines.append(f"{start} []{behind}")
    else:
        lines.append(f"{start} {_scalar(value, (column, _deeper(column)), behind)}")


def _only_comments(branch: Branch, line: str, column: int, lines: list[str]) -> None:
    lines.append(line)
    lines.extend(f"{' ' * _deeper(column)}#{key.text}" for key, _ in branch if isinstance(key, Comment))


def _has_entries(branch: Branch) -> bool:
    return any(isinstance(key, str) for key, _ in branch)


def _scalar(value: Value, columns: tuple[int, int], behind: str) -> str:
    """A value; of the columns, the first is that of the entry, the second that of its further lines."""
    if isinstance(value, Branch | list | Comment):
        raise TypeError("containers are written by their own functions")
    lines = as_block(value)
    if lines is None:
        return spell(value) + behind
    tag, text = lines
    outer, inner = columns
    head, body = block(text, " " * inner, inner - outer)
    return f"{tag}|{head}{behind}{body}"
