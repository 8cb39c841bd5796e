"""The live view of a terminal: sources, Kustomizations below what they depend on, workloads, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.output import printable
from penstock.cli.up.lines import MARKS
from penstock.cli.up.state import Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from penstock.cli.up.state import Item, State
    from penstock.kube import ObjectRef

_COLOURS = {
    Phase.READY: "green",
    Phase.FAILED: "red",
    Phase.WAITING: "yellow",
    Phase.WORKING: "cyan",
    Phase.SUSPENDED: "magenta",
}
_MARGIN = 9
"""Lines around the table of Kustomizations that are always there."""
_SHORT_DIGEST = 12


@dataclass(frozen=True, slots=True)
class Heading:
    """What stays the same all the time."""

    title: str
    hint: str


class View:
    """Draws the state over and over in the same place."""

    def __init__(self, heading: Heading, console: Console | None = None) -> None:
        self._heading = heading
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, state: State) -> None:
        self._live.update(self._drawn(state), refresh=True)

    def _drawn(self, state: State) -> RenderableType:
        room = max(self._console.height - _MARGIN - len(state.sources), 3)
        parts: list[RenderableType] = [
            Text(printable(self._heading.title), style="bold", no_wrap=True),
            Text(printable(self._heading.hint), style="dim", overflow="fold"),
            Text(),
            _table("SOURCE", "REVISION", [_source(item) for item in state.sources]),
            Text(),
            _table("KUSTOMIZATION", "OBJECTS", _kustomizations(state, room)),
            Text(),
            _summary(state),
        ]
        return Group(*parts)


_Row = tuple[Text, Text, Text, Text]


def _table(name: str, third: str, rows: Sequence[_Row]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column(name, no_wrap=True)
    table.add_column("READY", no_wrap=True)
    table.add_column(third, no_wrap=True)
    table.add_column("MESSAGE", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _source(item: Item) -> _Row:
    return _named(item, 0), _phase(item), Text(_short(item.revision)), _message(item)


def _kustomizations(state: State, room: int) -> list[_Row]:
    """Those that fit; what is not ready comes first when not all do."""
    items = state.kustomizations
    depths = _depths(items)
    shown = items
    if len(items) > room:
        late = [item for item in items if item.phase is not Phase.READY]
        kept = {item.ref for item in [*late, *(item for item in items if item not in late)][: room - 1]}
        shown = [item for item in items if item.ref in kept]
    rows = [(_named(item, depths[item.ref]), _phase(item), Text(str(item.objects)), _message(item)) for item in shown]
    if len(shown) < len(items):
        rows.append((Text(f"and {len(items) - len(shown)} more", style="dim"), Text(), Text(), Text()))
    return rows


def _depths(items: Sequence[Item]) -> dict[ObjectRef, int]:
    """How many dependencies stand above each; the items come after what they depend on."""
    depths: dict[ObjectRef, int] = {}
    for item in items:
        depths[item.ref] = max((depths[one] + 1 for one in item.depends_on if one in depths), default=0)
    return depths


def _named(item: Item, depth: int) -> Text:
    name = Text("  " * depth + printable(item.name))
    if item.depends_on:
        name.append(f"  after {', '.join(printable(one.name) for one in item.depends_on)}", style="dim")
    return name


def _phase(item: Item) -> Text:
    return Text(f"{MARKS[item.phase]} {item.phase}", style=_COLOURS[item.phase])


def _message(item: Item) -> Text:
    if item.phase is Phase.READY:
        return Text()
    return Text(printable(item.message), style="red" if item.phase is Phase.FAILED else "")


def _summary(state: State) -> Text:
    objects = sum(item.objects for item in state.kustomizations)
    done = bool(state.items) and state.is_settled and not state.unready
    text = Text(state.counted, style="bold green" if done else "bold")
    text.append(f", {objects} objects; save a file and it is applied; Ctrl-C stops", style="dim")
    return text


def _short(revision: str) -> str:
    """`main@sha1:0123456789ab` of the whole; what is not committed keeps its own digits."""
    name, colon, digest = printable(revision).rpartition(":")
    commit, dash, saved = digest.partition("-")
    return f"{name}{colon}{commit[:_SHORT_DIGEST]}{dash}{saved}"
