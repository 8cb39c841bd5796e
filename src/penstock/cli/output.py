"""How verbs show things: one set of formats for all of them.

Text from a cluster or a repository may hold terminal escape codes; none reaches the terminal.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.kube import Object

T = TypeVar("T")
GAP = "   "


class Output(StrEnum):
    """What `-o` accepts; without it, people get a table."""

    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    WIDE = "wide"


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table."""

    title: str
    value: Callable[[T], str]
    wide: bool = False
    """Shown only with `-o wide`."""


@dataclass(frozen=True, slots=True)
class View(Generic[T]):
    """How one kind of thing is shown in every format."""

    columns: Sequence[Column[T]]
    name: Callable[[T], str]
    """What `-o name` prints: `kind/name`, as scripts expect."""
    data: Callable[[T], Any]
    """What `-o json` and `-o yaml` print: plain data with stable keys."""

    def render(self, items: Iterable[T], output: Output | None, *, header: bool = True) -> str:
        shown = list(items)
        match output:
            case Output.JSON:
                return to_json([self.data(item) for item in shown])
            case Output.YAML:
                return to_yaml([self.data(item) for item in shown])
            case Output.NAME:
                return "".join(f"{printable(self.name(item))}\n" for item in shown)
            case Output.WIDE | None:
                columns = [column for column in self.columns if output is Output.WIDE or not column.wide]
                return table(
                    [column.title for column in columns] if header else None,
                    [[column.value(item) for column in columns] for item in shown],
                )


def table(titles: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; no borders, nothing wrapped, so that `awk` can read it."""
    lines = [[printable(cell) for cell in row] for row in ([titles, *rows] if titles else rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines
    )


def tabbed(
    titles: Sequence[str] | None,
    rows: Sequence[Sequence[str]],
    *,
    widths: Sequence[int] | None = None,
    paint: Callable[[int, str], str] = lambda _column, cell: cell,
) -> str:
    """A table as Flux prints it, byte for byte: padded cells with a tab behind each, and no tab behind the header.

    `widths` are those of a table above that the rows go on with; `paint` colours a padded cell by its column.
    """
    head = [printable(title) for title in titles or ()]
    cells = [[printable(cell) for cell in row] for row in rows]
    least = widths or [0] * max(map(len, [head, *cells]), default=0)
    wide = [max(least[at], *(len(line[at]) for line in [head, *cells] if line)) for at in range(len(least))]
    lines = ["\t".join(map(str.ljust, head, wide)) + " "] if head else []
    lines += ["".join(paint(at, cell.ljust(wide[at])) + "\t" for at, cell in enumerate(row)) for row in cells]
    return "".join(f"{line}\n" for line in lines)


def documents(objects: Sequence[Object], output: Output | None) -> str:
    """Kubernetes objects: YAML documents that `kubectl apply -f -` takes, unless asked otherwise."""
    match output:
        case Output.JSON:
            return to_json({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        case Output.NAME:
            return "".join(f"{_kind(obj)}/{printable(obj['metadata']['name'])}\n" for obj in objects)
        case Output.YAML | Output.WIDE | None:
            return "---\n".join(to_yaml(obj) for obj in objects)


def printable(text: str) -> str:
    """The text with control characters made visible and line breaks turned into spaces."""
    if text.isprintable():
        return text
    return "".join(" " if char in "\r\n\t" else char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def to_json(data: Any) -> str:
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def to_yaml(data: Any) -> str:
    import yaml

    return yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=10_000)


def say(words: str) -> None:
    """Tell a person something that is not data."""
    print(printable(words), file=sys.stderr)


def _kind(obj: Object) -> str:
    group = obj["apiVersion"].rpartition("/")[0]
    kind = obj["kind"].lower()
    return f"{kind}.{group}" if group else kind
