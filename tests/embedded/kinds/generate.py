"""Writes the tables of Go types that we read: `python -m tests.embedded.kinds.generate`.

The Go program in `types/` asks the API server's own scheme by reflection; needs Go and the module of the test
control plane. `types.txt` says how each type of a served version looks in JSON, `internals.txt` how the API server
spells the same value when an error message quotes its internal form. `zones.txt` names the time zones.
"""

from __future__ import annotations

import json
import os
import subprocess
import zoneinfo
from pathlib import Path
from typing import NamedTuple

import penstock
from tests.controlplane.build import MODULE, find_go

PROGRAM = Path(__file__).parent / "types" / "main.go"
TARGET = Path(penstock.__file__).parent / "embedded" / "kinds" / "table"
SCHEMA = Path(penstock.__file__).parent / "schema"
SERVED = {"autoscaling": ("v1", "v2")}
"""Every other group is served as v1 alone; Scale and HorizontalPodAutoscaler have two versions."""


class Field(NamedTuple):
    """One field of a Go struct; `json` is empty in internal types."""

    go: str
    json: str
    flags: str
    type: str
    embedded: str


def main() -> None:
    """Run the Go program and write both tables."""
    go = find_go()
    environment = {**os.environ, "CGO_ENABLED": "0"}
    command = [go.path, "run", "-trimpath", str(PROGRAM)]
    told = subprocess.run(command, cwd=MODULE, env=environment, capture_output=True, check=True).stdout
    found = json.loads(told)
    types = {name: flatten(name, found["types"]) for name in found["types"]}
    served = {gvk: name for gvk, name in found["kinds"].items() if _served(gvk)}
    TARGET.mkdir(exist_ok=True)
    (SCHEMA / "types.txt").write_text(type_table(served, types))
    (TARGET / "zones.txt").write_text("\n".join(sorted(zoneinfo.available_timezones())) + "\n")
    (TARGET / "internals.txt").write_text(internal_table(served, found["kinds"], types))


def _served(gvk: str) -> bool:
    group, version, kind = gvk.rsplit("/", 2)
    return version in SERVED.get(group, ("v1",)) and not kind.endswith("List")


def flatten(name: str, types: dict[str, list[list[str]]], inside: str = "") -> list[Field]:
    """The fields of a type as JSON shows them: embedded structs are spread out."""
    fields: list[Field] = []
    for go, tag, type_, embedded in types[name]:
        json_name, _, rest = tag.partition(",")
        if embedded == "true" and not json_name and type_.startswith("@"):
            fields += flatten(type_[1:], types, f"{inside}.{go}" if inside else go)
            continue
        flags = "!" if "omitzero" in rest else "?" if "omitempty" in rest else ""
        fields.append(Field(go, json_name, flags, type_, inside))
    return fields


def type_table(served: dict[str, str], types: dict[str, list[Field]]) -> str:
    """`kind <group>/<version>/<kind> <type>` lines, then `<type> <field><flags>^<embedded struct>=<type> ...` lines."""
    lines = [f"kind {gvk} {name}" for gvk, name in sorted(served.items())]
    for name in sorted(_reachable(set(served.values()), types)):
        fields = " ".join(f"{f.json}{f.flags}{'^' if f.embedded else ''}{f.embedded}={f.type}" for f in types[name])
        lines.append(f"{name} {fields}".rstrip())
    return "\n".join(lines) + "\n"


def internal_table(served: dict[str, str], kinds: dict[str, str], types: dict[str, list[Field]]) -> str:
    """`<internal type> <Go name><flags>=<type>:<JSON name in the served version> ...` lines."""
    metadata = "apis/meta/v1.ObjectMeta"
    pairs: dict[str, str] = {metadata: metadata}
    for gvk, name in served.items():
        group, _, kind = gvk.rsplit("/", 2)
        internal = kinds.get(f"{group}/__internal/{kind}")
        if internal and not (group == "autoscaling" and "/v1/" in gvk):
            _pair(internal, name, types, pairs)
    lines: list[str] = []
    for internal in sorted(pairs):
        outside = {f.go: f.json for f in types[pairs[internal]]}
        fields = " ".join(f"{f.json or f.go}{f.flags}={f.type}:{outside.get(f.go, '')}" for f in types[internal])
        lines.append(f"{internal} {fields}".rstrip())
    return "\n".join(lines) + "\n"


def _pair(internal: str, outside: str, types: dict[str, list[Field]], pairs: dict[str, str]) -> None:
    if internal in pairs:
        return
    pairs[internal] = outside
    by_name = {f.go: f.type for f in types[outside]}
    for field in types[internal]:
        _, _, inner_type = field.type.partition("@")
        _, _, outer_type = by_name.get(field.go, "").partition("@")
        if inner_type and outer_type:
            _pair(inner_type, outer_type, types, pairs)


def _reachable(roots: set[str], types: dict[str, list[Field]]) -> set[str]:
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += [f.type.partition("@")[2] for f in types[name] if "@" in f.type]
    return seen


if __name__ == "__main__":
    main()
