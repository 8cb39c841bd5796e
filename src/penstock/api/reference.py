"""The reference of every field, written from the Structs: `python -m penstock.api.reference [FOLDER]`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.api.definitions import part
from penstock.api.durations import Duration, Timeout
from penstock.api.kinds import KINDS, Kind
from penstock.api.structural import Field, fields_of, summary
from penstock.api.wire import Object, Wire

FOLDER = Path("docs/reference/api")
PIPE = "\\|"  # a bare one would end the table cell


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"README.md": _index()} | {_file(kind): page(kind) for kind in KINDS.values()}


def page(kind: Kind) -> str:
    """The reference of one kind: its names, every field of its parts, and its rules."""
    parts = [(name, struct) for name in ("spec", "status") if (struct := part(kind, name))]
    lines = [
        f"# {kind.kind}",
        "",
        summary(kind.struct),
        "",
        *_facts(kind),
        *(line for name, struct in parts for line in _section(name, struct)),
    ]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Put every page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def _file(kind: Kind) -> str:
    return f"{kind.kind.lower()}.md"


def _index() -> str:
    lines = [
        "# API reference",
        "",
        "Every kind and every field.",
        "The pages are generated: change the Structs in `penstock.api` and run `python -m penstock.api.reference`.",
        "",
        *_table("Kind", "API version", "What it is"),
        *(f"| [{k.kind}]({_file(k)}) | `{k.api_version}` | {summary(k.struct)} |" for k in KINDS.values()),
    ]
    return "\n".join(lines) + "\n"


def _facts(kind: Kind) -> list[str]:
    older = [f"`{kind.group}/{old.version}` (deprecated)" for old in kind.older]
    facts = {
        "API version": f"`{kind.api_version}`",
        "Also served": ", ".join(older),
        "Resource": f"`{kind.plural}`",
        "Short names": ", ".join(f"`{name}`" for name in kind.short_names),
        "Categories": ", ".join(f"`{name}`" for name in kind.categories),
        "Scope": "namespace" if kind.namespaced else "cluster",
        "Controller": "yes" if kind.handled else "not handled yet",
    }
    return [*_table("Fact", "Value"), *(f"| {name} | {value} |" for name, value in facts.items() if value)]


def _section(name: str, struct: type[Wire]) -> list[str]:
    lines = ["", f"## {name}", "", summary(struct), ""]
    lines += [*_table("Field", "Type", "Default", "Rules", "What it is"), *_rows(name, struct)]
    rules = list(_rules(name, struct))
    if rules:
        lines += ["", "The API server also checks:", "", *_table("At", "Rule", "What it says when it does not hold")]
        lines += rules
    return lines


def _rows(path: str, struct: type[Wire]) -> Iterator[str]:
    for field in fields_of(struct):
        here = f"{path}.{field.name}"
        cells = (f"`{here}`", _type(field.schema), _default(field), _constraints(field), field.schema["description"])
        yield f"| {' | '.join(cell.replace('|', PIPE) for cell in cells)} |"
        if field.struct:
            yield from _rows(here + _step(field.schema), field.struct)


def _rules(path: str, struct: type[Wire]) -> Iterator[str]:
    for rule in struct.RULES:
        yield f"| `{path}` | `{rule.rule.replace('|', PIPE)}` | {rule.message} |"
    for field in fields_of(struct):
        if field.struct:
            yield from _rules(f"{path}.{field.name}{_step(field.schema)}", field.struct)


def _step(schema: Object) -> str:
    if schema["type"] == "array":
        return "[]"
    return ".*" if "additionalProperties" in schema else ""


def _type(schema: Object) -> str:
    if "type" not in schema:
        return "anything"
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map of {_type(schema['additionalProperties'])}"
    if schema.get("pattern") in (Duration.pattern, Timeout.pattern):
        return "duration"
    return "time" if schema.get("format") == "date-time" else str(schema["type"])


def _default(field: Field) -> str:
    value = field.schema.get("default", field.default)
    if value in (None, "", 0, [], {}) and "default" not in field.schema:
        return ""
    return f"`{_json(value)}`"


def _json(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _constraints(field: Field) -> str:
    schema = field.schema
    told = ["required"] if field.required else []
    values = schema.get("enum") or schema.get("items", {}).get("enum") or []
    if values:
        told.append("one of " + ", ".join(f"`{value}`" for value in values))
    if schema.get("pattern") == Timeout.pattern:
        told.append("without hours")
    elif "pattern" in schema and schema["pattern"] != Duration.pattern:
        told.append(f"like `{schema['pattern']}`")
    return "; ".join([*told, *_bounds(schema)])


def _bounds(schema: Object) -> Iterator[str]:
    if "maxLength" in schema:
        shortest = schema.get("minLength")
        yield (
            f"{shortest} to {schema['maxLength']} characters"
            if shortest
            else f"at most {schema['maxLength']} characters"
        )
    if "minItems" in schema:
        yield "not empty"
    if "minimum" in schema:
        yield f"at least {schema['minimum']}"
    if "x-kubernetes-list-map-keys" in schema:
        yield f"unique by {', '.join(schema['x-kubernetes-list-map-keys'])}"


def _table(*titles: str) -> list[str]:
    return [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
