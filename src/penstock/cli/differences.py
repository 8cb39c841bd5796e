"""Differences as people and programs read them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from penstock.cli.output import Output, printable, to_json, to_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.apply import Difference, FieldChange, Preview

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "►": "\x1b[1m"}
_PLAIN = "\x1b[0m"
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
LONGEST = 120
"""Characters of a value on one line."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What one Kustomization would change."""

    name: str
    """Its namespace and name."""
    preview: Preview
    warnings: tuple[str, ...] = ()


def rendered(found: Sequence[Compared], output: Output | None, *, colour: bool = False) -> str:
    """All differences in one format; `-o wide` also names what would stay as it is."""
    match output:
        case Output.JSON:
            return to_json([_data(one, difference) for one in found for difference in one.preview])
        case Output.YAML:
            return to_yaml([_data(one, difference) for one in found for difference in one.preview])
        case Output.NAME:
            return "".join(f"{printable(_name(difference))}\n" for one in found for difference in one.preview)
        case Output.WIDE | None:
            lines = list(_lines(found, everything=output is Output.WIDE))
            return "".join(f"{_coloured(line) if colour else line}\n" for line in lines)


def summary(found: Sequence[Compared]) -> str:
    """One line for a person."""
    counts: dict[str, int] = {}
    for one in found:
        for action, number in one.preview.counts().items():
            counts[action] = counts.get(action, 0) + number
    changes = [
        f"{counts[action]} {action}" for action in ("created", "configured", "recreated", "deleted") if action in counts
    ]
    if not changes:
        return f"✔ no changes detected in {sum(counts.values())} objects"
    return f"► {', '.join(changes)}; {counts.get('unchanged', 0)} unchanged"


def _lines(found: Sequence[Compared], *, everything: bool) -> Iterator[str]:
    for one in found:
        shown = one.preview.differences if everything else one.preview.changed()
        if len(found) > 1 and shown:
            yield printable(f"Kustomization/{one.name}")
        for difference in shown:
            note = f" ({difference.note})" if difference.note else ""
            yield printable(f"► {difference}{note}")
            for change in difference.fields:
                yield from map(printable, _field(change))


def _field(change: FieldChange) -> Iterator[str]:
    sign = _SIGNS[change.kind]
    if _is_long(change.before) or _is_long(change.after):
        yield f"  {sign} {change}:"
        yield from _line_by_line(change.before, change.after)
    elif change.kind == "changed":
        yield f"  {sign} {change}: {_value(change.before)} → {_value(change.after)}"
    else:
        yield f"  {sign} {change}: {_value(change.after if change.kind == 'added' else change.before)}"


def _line_by_line(before: Any, after: Any) -> Iterator[str]:
    for line in difflib.unified_diff(_text(before), _text(after), n=2, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield f"      {line}"


def _text(value: Any) -> list[str]:
    if value is None:
        return []
    return (value if isinstance(value, str) else to_yaml(value)).splitlines()


def _is_long(value: Any) -> bool:
    if isinstance(value, str):
        return "\n" in value or len(value) > LONGEST
    return isinstance(value, dict | list) and len(_value(value)) > LONGEST


def _value(value: Any) -> str:
    return value if isinstance(value, str) and _is_word(value) else orjson.dumps(value).decode()


def _is_word(text: str) -> bool:
    """Whether a text can stand without quotes and be taken for nothing else."""
    if not text or text != text.strip():
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return True
    return False


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line.lstrip()[:1])
    return f"{colour}{line}{_PLAIN}" if colour else line


def _name(difference: Difference) -> str:
    group = f".{difference.ref.group}" if difference.ref.group else ""
    return f"{difference.ref.kind.lower()}{group}/{difference.ref.name}"


def _data(one: Compared, difference: Difference) -> dict[str, Any]:
    ref = difference.ref
    return {
        "kustomization": one.name,
        "apiVersion": f"{ref.group}/{difference.version}" if ref.group else difference.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "action": difference.action,
        "fields": list(_fields(difference.fields)),
        "note": difference.note,
    }


def _fields(changes: Iterable[FieldChange]) -> Iterator[dict[str, Any]]:
    for change in changes:
        yield {"path": str(change), "change": change.kind, "before": change.before, "after": change.after}
