"""The live view of a terminal: sources, Kustomizations below what they depend on, workloads, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from penstock.cli.output import printable
from penstock.cli.up.lines import MARKS, told
from penstock.cli.up.state import Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.cli.up.state import Item, State
    from penstock.kube import ObjectRef

_COLOURS = {
    Phase.READY: "green",
    Phase.FAILED: "red",
    Phase.WAITING: "yellow",
    Phase.WORKING: "cyan",
    Phase.SUSPENDED: "magenta",
}
_AROUND = 9
"""Lines that are always there: two of heading, one of summary, two of titles, the rest blank."""
_MOST_ERRORS = 3
_MOST_LATE = 3
_GAP = 3
_SHORT_DIGEST = 12


@dataclass(frozen=True, slots=True)
class Heading:
    """What stays the same all the time."""

    title: str
    hint: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    name: str
    phase: Phase | None = None
    third: str = ""
    message: str = ""
    style: str = ""
    """Of the message."""


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
        self._live.update(self.drawn(state), refresh=True)

    def drawn(self, state: State) -> Group:
        """The whole picture, fitted to the terminal as it is now."""
        width, height = self._console.size
        errors, workloads = _errors(state), _workloads(state, width)
        taken = sum(-(-len(error) // width) for error in errors) + bool(errors) + len(workloads)
        room = max(height - _AROUND - len(state.sources) - taken, 3)
        return Group(
            Text(printable(self._heading.title), style="bold", no_wrap=True, overflow="ellipsis"),
            Text(printable(self._heading.hint), style="dim", overflow="fold"),
            Text(),
            *_table(("SOURCE", "REVISION"), list(map(_source, state.sources)), width),
            Text(),
            *_table(("KUSTOMIZATION", "OBJECTS"), _fitting(state.kustomizations, room), width),
            Text(),
            *([*errors, Text()] if errors else ()),
            *workloads,
            _summary(state),
        )


def _table(titles: tuple[str, str], rows: Sequence[Row], width: int) -> list[Text]:
    """Columns that keep their place; only the message is cut where the terminal ends."""
    states = {phase: f"{MARKS[phase]} {phase}" for phase in Phase}
    first = max(len(titles[0]), *(len(row.name) for row in rows), 0) + _GAP if rows else len(titles[0]) + _GAP
    second = max(map(len, states.values())) + _GAP
    third = max([len(titles[1]), *(len(row.third) for row in rows)]) + _GAP
    lines = [Text(f"{titles[0]:<{first}}{'READY':<{second}}{titles[1]:<{third}}MESSAGE", style="dim")]
    for row in rows:
        line = Text(f"{row.name:<{first}}")
        line.append(f"{states[row.phase] if row.phase else '':<{second}}", style=_COLOURS.get(row.phase or Phase.READY))
        line.append(f"{row.third:<{third}}")
        line.append(row.message, style=row.style)
        lines.append(line)
    for line in lines:
        line.rstrip()
        line.truncate(width, overflow="ellipsis")
    return lines


def _source(item: Item) -> Row:
    return Row(printable(item.name), item.phase, _short(item.revision), *_message(item, ""))


def _fitting(items: Sequence[Item], room: int) -> list[Row]:
    """The Kustomizations by depth, as many as fit; when not all do, what is not ready comes before what is."""
    depths = _depths(items)
    shown = sorted(items, key=lambda item: depths[item.ref])
    more = 0
    if len(items) > room:
        more = len(items) - room + 1
        kept = {item.ref for item in sorted(shown, key=lambda item: item.phase is Phase.READY)[: room - 1]}
        shown = [item for item in shown if item.ref in kept]
    rows = [_kustomization(item, depths[item.ref]) for item in shown]
    return [*rows, Row(f"and {more} more")] if more else rows


def _kustomization(item: Item, depth: int) -> Row:
    after = ", ".join(one.name for one in item.depends_on)
    message = _message(item, f"after {after}" if after else "")
    return Row("  " * depth + printable(item.name), item.phase, str(item.objects), *message)


def _message(item: Item, otherwise: str) -> tuple[str, str]:
    """What there is to say of it, and in which style."""
    if item.phase is Phase.READY:
        return printable(otherwise), "dim"
    return printable(item.message), "red" if item.phase is Phase.FAILED else ""


def _depths(items: Sequence[Item]) -> dict[ObjectRef, int]:
    """How many dependencies stand above each; the items come after what they depend on."""
    depths: dict[ObjectRef, int] = {}
    for item in items:
        depths[item.ref] = max((depths[one] + 1 for one in item.depends_on if one in depths), default=0)
    return depths


def _errors(state: State) -> list[Text]:
    """What went wrong, in full: in the table there is no room for it."""
    failed = [item for item in state.items if item.phase is Phase.FAILED]
    return [Text(printable(told(item)), style="red", overflow="fold") for item in failed[:_MOST_ERRORS]]


def _workloads(state: State, width: int) -> list[Text]:
    """How many run as they should, and the first of those that do not."""
    if not state.workloads:
        return []
    late = [workload for workload in state.workloads if not workload.healthy]
    healthy = len(state.workloads) - len(late)
    lines = [Text(f"{healthy}/{len(state.workloads)} workloads healthy")]
    for one in late[:_MOST_LATE]:
        told = f"  {MARKS[Phase.WORKING]} {one.ref.kind}/{one.ref.namespace}/{one.ref.name}: {one.message}"
        lines.append(Text(printable(told), style=_COLOURS[Phase.WORKING]))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _summary(state: State) -> Text:
    objects = sum(item.objects for item in state.kustomizations)
    done = state.is_settled and not state.unready
    text = Text(state.counted, style="bold green" if done else "bold")
    text.append(f", {objects} objects. What is saved is applied; Ctrl-C stops.", style="dim")
    return text


def _short(revision: str) -> str:
    """`main@sha1:0123456789ab` of the whole; what is not committed keeps its own digits."""
    name, colon, digest = printable(revision).rpartition(":")
    commit, dash, saved = digest.partition("-")
    return f"{name}{colon}{commit[:_SHORT_DIGEST]}{dash}{saved}"
