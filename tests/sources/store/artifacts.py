"""Objects and trees for the tests of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube.resources import ObjectRef

if TYPE_CHECKING:
    from pathlib import Path

OWNER = ObjectRef("source.toolkit.fluxcd.io", "GitRepository", "team", "apps")
OTHER = OWNER._replace(namespace="other")
REVISION = "main@sha1:" + "1" * 40
NAME = "1" * 40 + ".tar.gz"


def tree(folder: Path, **files: str) -> Path:
    """A directory with these files; two underscores in a name are a slash."""
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder
