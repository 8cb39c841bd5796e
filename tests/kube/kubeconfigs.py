"""Kubeconfigs made for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2hunter2"
"""Stands for every credential; no message may show it."""


def config(*, cluster: object = None, user: object = None, context: object = None, **fields: object) -> dict[str, Any]:
    """A kubeconfig with one of each, all called `it`."""
    whole: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": "https://it:6443"} if cluster is None else cluster}],
        "users": [{"name": "it", "user": {"token": SECRET} if user is None else user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"} if context is None else context}],
        "current-context": "it",
    }
    return whole | fields


def write(path: Path, content: dict[str, Any] | bytes | str) -> Path:
    if isinstance(content, dict):
        content = yaml.safe_dump(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
