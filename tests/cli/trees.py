"""A small repository and the Kustomization that builds it, as the commands about Kustomizations get them."""

from __future__ import annotations

import asyncio
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import yaml

from penstock.cli import main
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube import Object

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: "${greeting:=hello}"}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80, name: http}], selector: {app: web}}
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root


def repository(root: Path) -> Path:
    """An overlay over a base; the answer is the root."""
    return write(
        root,
        {
            "base/kustomization.yaml": "resources: [config.yaml, service.yaml]\n",
            "base/config.yaml": CONFIG,
            "base/service.yaml": SERVICE,
            "apps/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: prod-\n",
        },
    )


def kustomization(name: str = "apps", namespace: str = "flux-system", **spec: Any) -> Object:
    wanted = {
        "interval": "1h",
        "prune": True,
        "path": "./apps/prod",
        "sourceRef": {"kind": "GitRepository", "name": "repo"},
    } | spec
    return {
        "apiVersion": KUSTOMIZATIONS.api_version,
        "kind": KUSTOMIZATIONS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {key: value for key, value in wanted.items() if value is not None},
    }


def as_file(path: Path, *objects: Object) -> Path:
    path.write_text(yaml.safe_dump_all(objects))
    return path


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its time, to see that nobody touched it."""
    return {
        str(path.relative_to(root)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
    }


async def penstock(*arguments: object) -> int:
    """The command, in a thread: it runs an event loop of its own."""
    return await asyncio.to_thread(main, [str(one) for one in arguments])
