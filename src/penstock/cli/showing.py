"""How `penstock get` shows objects: Flux's tables, more columns with `-o wide`, and plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.api.annotations import REVISION
from penstock.cli import state
from penstock.cli.output import Output, printable, tabbed, to_json, to_yaml
from penstock.cli.progress import GREEN, RED, YELLOW, painted
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.cli.catalogue import Entry, Value
    from penstock.kube import Object

_COLOURS = {"True": GREEN, "False": RED, "Unknown": YELLOW}


@dataclass(frozen=True, slots=True)
class Selector:
    """A wish such as `ready=false` or `ready!=true`; without a type, everything is wished for."""

    type: str = ""
    status: str = ""
    negated: bool = False

    @classmethod
    def parse(cls, text: str) -> Selector:
        if not text:
            return cls()
        sign = "!=" if "!=" in text else "="
        kind, found, status = text.partition(sign)
        if not found or not kind:
            raise UsageError(f"expected status selector in type=status or type!=status format, but found: {text}")
        return cls(kind, status, negated=sign == "!=")

    def takes(self, entry: Entry, obj: Object) -> bool:
        if not self.type:
            return True
        return self._holds(entry, obj) != self.negated

    def _holds(self, entry: Entry, obj: Object) -> bool:
        found = state.condition(obj, self.type)
        if found is not None:
            return state.text(found, "status").lower() == self.status.lower()
        # Some kinds are ready by being there: nobody writes a condition for them.
        return entry.always_ready and self.type.lower() == "ready" and self.status.lower() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """What was asked for on the command line."""

    everywhere: bool = False
    kinds: bool = False
    """Whether names have their kind before them, since several kinds are shown."""
    sources: bool = False
    header: bool = True
    output: Output | None = None
    colour: bool = False
    selector: Selector = Selector()

    def everything(self, found: Sequence[tuple[Entry, list[Object]]]) -> str:
        """Everything that was found, in the format that was asked for."""
        kept = [(entry, [obj for obj in objects if self.selector.takes(entry, obj)]) for entry, objects in found]
        match self.output:
            case Output.JSON:
                return to_json([summary(entry, obj) for entry, objects in kept for obj in objects])
            case Output.YAML:
                return to_yaml([summary(entry, obj) for entry, objects in kept for obj in objects])
            case Output.NAME:
                return "".join(f"{_full_name(entry, obj)}\n" for entry, objects in kept for obj in objects)
            case Output.WIDE | None:
                return self._tables(kept)

    def opened(self, entry: Entry, objects: list[Object]) -> Table:
        """A table that goes on when something changes."""
        table = Table(entry, self)
        table.begin([obj for obj in objects if self.selector.takes(entry, obj)])
        return table

    def columns(self, entry: Entry) -> list[tuple[str, Value]]:
        columns: list[tuple[str, Value]] = [("NAMESPACE", state.namespace)] if self.everywhere else []
        columns.append(
            ("NAME", lambda obj: f"{entry.kind.kind.lower()}/{state.name(obj)}" if self.kinds else state.name(obj))
        )
        if entry.refers and (self.sources or self.output is Output.WIDE):
            columns.append(("SOURCE", lambda obj: str(entry.origin(obj) or "")))
        columns += entry.columns
        if self.output is Output.WIDE:
            columns += _wide(entry)
        return columns

    def _tables(self, kept: list[tuple[Entry, list[Object]]]) -> str:
        if not self.kinds:
            return "".join(self.opened(entry, objects).text for entry, objects in kept)
        return "".join(f"{self.opened(entry, objects).text}\n" for entry, objects in kept if objects)


@dataclass(slots=True)
class Table:
    """A table that was printed, and what its rows said."""

    entry: Entry
    show: Show
    text: str = ""
    _widths: list[int] = field(default_factory=list[int])
    _rows: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])

    def begin(self, objects: list[Object]) -> None:
        columns = self.show.columns(self.entry)
        rows = [[value(obj) for _, value in columns] for obj in objects]
        self._rows = dict(zip(map(_key, objects), rows, strict=True))
        titles = [title for title, _ in columns]
        self._widths = [max(len(printable(row[at])) for row in [titles, *rows]) for at in range(len(titles))]
        self.text = tabbed(titles if self.show.header else None, rows, paint=self._paint)

    def changed(self, obj: Object, *, gone: bool = False) -> str:
        """The row of an object that may have changed; empty when it says what it said before."""
        row = [value(obj) for _, value in self.show.columns(self.entry)]
        if gone:
            self._rows.pop(_key(obj), None)
        elif self._rows.get(_key(obj)) == row:
            return ""
        else:
            self._rows[_key(obj)] = row
        if not self.show.selector.takes(self.entry, obj):
            return ""
        return tabbed(None, [row], widths=self._widths, paint=self._paint)

    def _paint(self, column: int, cell: str) -> str:
        if not self.show.colour or self.show.columns(self.entry)[column][0] != "READY":
            return cell
        colour = _COLOURS.get(cell.strip())
        return painted(cell, colour) if colour else cell


def summary(entry: Entry, obj: Object) -> dict[str, Any]:
    """An object as data with stable keys; what its kind does not have is left out."""
    ready, origin = state.ready(obj), entry.origin(obj)
    shown = dict(entry.columns)
    told: dict[str, Any] = {
        "kind": entry.kind.kind,
        "namespace": state.namespace(obj),
        "name": state.name(obj),
        "revision": entry.revision(obj) if "REVISION" in shown else None,
        "source": str(origin) if origin else None,
        "suspended": state.is_suspended(obj) if "SUSPENDED" in shown else None,
        "suspendReason": state.suspend_reason(obj) or None,
        "suspendUntil": _until(obj) or None,
        "pinned": state.annotation(obj, REVISION) or None,
        "ready": shown["READY"](obj),
        "reason": ready.reason or None,
        "message": ready.message if state.conditions(obj) else shown["MESSAGE"](obj),
    }
    return {key: value for key, value in told.items() if value is not None}


def _wide(entry: Entry) -> list[tuple[str, Value]]:
    if "SUSPENDED" not in dict(entry.columns):
        return []
    columns: list[tuple[str, Value]] = [("SUSPEND REASON", state.suspend_reason)]
    if entry.kind.kind == "Kustomization":
        columns.append(("SUSPENDED UNTIL", _until))
        columns.append(("PINNED", lambda obj: state.shortened(state.annotation(obj, REVISION))))
    return columns


def _until(obj: Object) -> str:
    end = state.suspended_until(obj)
    return state.moment(end) if end and state.is_suspended(obj) else ""


def _full_name(entry: Entry, obj: Object) -> str:
    return printable(f"{entry.kind.kind.lower()}.{entry.kind.group}/{state.name(obj)}")


def _key(obj: Object) -> tuple[str, str]:
    return state.namespace(obj), state.name(obj)
