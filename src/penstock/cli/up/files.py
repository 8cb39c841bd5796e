"""From what went wrong to the file in which it stands."""

from __future__ import annotations

import asyncio
import os
import posixpath
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import yaml
from penstock.cli.up.first import objects_of
from penstock.cli.up.state import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.cli.up.state import Item, State

_OBJECT = re.compile(r"\b(?P<kind>[A-Z][A-Za-z]+)/(?:[a-z0-9.-]+/)?(?P<name>[a-z0-9][a-z0-9.-]*)")
_FILE = re.compile(r"[\w./-]+\.\w+")
_ENDINGS = (".yaml", ".yml")
_MOST = 5_000


class Explainer:
    """Adds to what failed the files that are to blame."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._known: dict[tuple[str, str], str] = {}

    async def explain(self, state: State) -> State:
        return replace(state, items=tuple([await self._explained(item) for item in state.items]))

    async def _explained(self, item: Item) -> Item:
        if item.phase is not Phase.FAILED:
            return item
        known = (item.message, item.path)
        if known not in self._known:
            files = await asyncio.to_thread(blamed, item.message, item.path, self._roots)
            self._known[known] = f"{item.message} (see {', '.join(files)})" if files else item.message
        return replace(item, message=self._known[known])


def blamed(message: str, path: str, roots: Sequence[Path]) -> list[str]:
    """The files, relative to their repository, that a message of the Kustomization at this path is about. Blocks.

    They are those that it names from where it stands, or else those that hold the objects which it names. Empty when
    it names them in full already, or nothing that is written down anywhere.
    """
    named = {posixpath.normpath(posixpath.join(path, match[0])) for match in _FILE.finditer(message)}
    found = sorted(one for one in named if any((root / one).is_file() for root in roots))
    if found:
        return [one for one in found if not re.search(rf"(?<![\w/.-]){re.escape(one)}", message)]
    wanted = {(match["kind"], match["name"].rstrip(".")) for match in _OBJECT.finditer(message)}
    if not wanted:
        return []
    return [relative for file, relative in _files(roots) if wanted & _names(file)]


def _names(file: Path) -> set[tuple[str, str]]:
    try:
        return {(obj["kind"], obj["metadata"]["name"]) for obj in objects_of(file)}
    except (OSError, yaml.YAMLError):
        return set()


def _files(roots: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    seen = 0
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if not name.endswith(_ENDINGS):
                    continue
                seen += 1
                if seen > _MOST:
                    return
                file = Path(folder) / name
                yield file, file.relative_to(root).as_posix()
