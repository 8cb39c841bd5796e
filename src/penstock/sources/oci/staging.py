"""A copy of files in which links are replaced by what they lead to."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def stage(source: Path, into: Path) -> None:
    """Copy a file, or what a directory holds, following links; one that leads back to where it is found is left out."""
    if source.is_dir():
        _copy(source, into, ())
    else:
        shutil.copy(source, into / source.name)


def _copy(source: Path, into: Path, above: tuple[Path, ...]) -> None:
    real = source.resolve(strict=True)
    if real in above:
        return
    for entry in sorted(source.iterdir()):
        target = into / entry.name
        if entry.is_dir():
            target.mkdir()
            _copy(entry, target, (*above, real))
        elif entry.is_file():
            shutil.copy(entry, target)
        elif entry.is_symlink():
            entry.resolve(strict=True)  # a link that leads nowhere is a mistake to be told
