"""Write the compact table of Kubernetes types that `penstock.schema` reads.

    python tools/schema_table.py DEFINITIONS VERSION

DEFINITIONS is the file `_definitions.json` of one version inside the package `kubernetes-validate`, which is
a tool of this script only: the package weighs 100 MB, the table a few dozen kilobytes. Every field becomes a
short code:

    s i n b q      string, integer, number, boolean, integer or string
    o              an object of any shape
    @12            the type with that number
    [X {X          a list of X, a map from strings to X
    name=X         behind a list: its strategic merge key; several with commas; `=` alone for a set of scalars
    #map #set #atomic   behind a list or map: how server-side apply treats it
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

Definition = dict[str, Any]
SCALARS = {"string": "s", "integer": "i", "number": "n", "boolean": "b"}
TARGET = Path(__file__).parent.parent / "src" / "penstock" / "schema"


def main(source: str, version: str) -> None:
    definitions: dict[str, Definition] = json.loads(Path(source).read_text())["definitions"]
    names = sorted(definitions)
    numbers = {name: number for number, name in enumerate(names)}
    types = [_type(definitions[name], numbers) for name in names]
    table = {
        "version": version,
        "merging": _merging(types),
        "kinds": dict(sorted(_kinds(definitions, numbers))),
        "names": names,
        "types": types,
    }
    target = TARGET / f"kubernetes-{version}.json"
    target.write_text(json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n")
    sys.stdout.write(f"{target.name}: {len(names)} types, {target.stat().st_size} bytes\n")


def _merging(types: list[Any]) -> list[int]:
    """The types in which, however deep, a list merges: in all others a merge need not look."""
    codes = [list(code.values()) if isinstance(code, dict) else [code] for code in types]
    found = {number for number, texts in enumerate(codes) if any("=" in text for text in texts)}
    while True:
        more = {
            number
            for number, texts in enumerate(codes)
            if number not in found and any(int(one) in found for text in texts for one in re.findall(r"@(\d+)", text))
        }
        if not more:
            return sorted(found)
        found |= more


def _kinds(definitions: dict[str, Definition], numbers: dict[str, int]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            group = f"{kind['group']}/" if kind["group"] else ""
            found.append((f"{group}{kind['version']}/{kind['kind']}", numbers[name]))
    return found


def _type(definition: Definition, numbers: dict[str, int]) -> Any:
    properties = definition.get("properties")
    if properties:
        return {field: _code(value, numbers) for field, value in sorted(properties.items())}
    return _code(definition, numbers)


def _code(schema: Definition, numbers: dict[str, int]) -> str:
    if reference := schema.get("$ref"):
        return f"@{numbers[reference.rpartition('/')[2]]}{_apply_type(schema)}"
    if schema.get("format") == "int-or-string" or "oneOf" in schema:
        return "q"
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next(name for name in kind if name != "null")
    if kind == "array":
        return f"[{_code(schema.get('items', {}), numbers)}{_merge_keys(schema)}{_apply_type(schema)}"
    if kind in SCALARS:
        return SCALARS[kind]
    values = schema.get("additionalProperties")
    return f"{{{_code(values, numbers)}{_apply_type(schema)}" if isinstance(values, dict) else "o"


def _merge_keys(schema: Definition) -> str:
    if "merge" not in schema.get("x-kubernetes-patch-strategy", "").split(","):
        return ""
    keys = schema.get("x-kubernetes-list-map-keys") or [schema.get("x-kubernetes-patch-merge-key", "")]
    return f" {','.join(keys)}="


def _apply_type(schema: Definition) -> str:
    kind = schema.get("x-kubernetes-list-type") or schema.get("x-kubernetes-map-type")
    if kind is None:
        return ""
    keys = schema.get("x-kubernetes-list-map-keys", [])
    return f" #{kind}{':' + ','.join(keys) if keys else ''}"


if __name__ == "__main__":
    main(*sys.argv[1:])
