"""Trees of manifests, written and built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.render import Recipe, render
from penstock.yaml import dump_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Object = dict[str, Any]


def manifest(name: str, kind: str = "ConfigMap", **fields: Any) -> str:
    return dump_all([{"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}])


def tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return root


def built(root: Path, files: Mapping[str, str | bytes], recipe: Recipe | None = None) -> dict[str, Object]:
    before = {path: path.read_bytes() for path in tree(root, files).rglob("*") if path.is_file()}
    rendered = render(root, recipe or Recipe())
    assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}, "the tree was written"
    return {obj["metadata"]["name"]: obj for obj in rendered.objects}
