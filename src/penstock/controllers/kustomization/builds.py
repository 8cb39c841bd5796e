"""Builds: done in worker processes, and only once for the same content.

The key of a result is everything that decides it: the digest of the artifact and the recipe. What read something from
outside the artifact is never kept. Results are kept compressed: they take a tenth of the room that way.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from penstock.controllers.kustomization.halt import Halt
from penstock.errors import PenstockError
from penstock.render import Recipe, Rendered, render
from penstock.runtime import WorkerError

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.api.kustomization import Kustomization
    from penstock.controllers.kustomization.references import References
    from penstock.controllers.kustomization.settings import Settings
    from penstock.runtime import WorkerPool

MOST_BYTES = 64 << 20
TIMEOUT = 120.0
"""Seconds for one build."""


class Builds:
    """Renders trees, and remembers what came of them."""

    def __init__(
        self, pool: WorkerPool, references: References, settings: Settings, *, most_bytes: int = MOST_BYTES
    ) -> None:
        self._pool = pool
        self._references = references
        self._settings = settings
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Rendered).decode

    async def render(self, kustomization: Kustomization, digest: str, root: Path) -> Rendered:
        """The objects of a Kustomization; `digest` is that of the tree at `root`."""
        recipe = await self._recipe(kustomization)
        key = (digest, recipe.digest())
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return self._decode(zlib.decompress(kept))
        rendered = await self._rendered(root, recipe)
        # What an account may open is asked each time: it may lose its rights.
        if rendered.cacheable and not (recipe.keys and recipe.keys.account):
            self._keep(key, rendered)
        return rendered

    async def _rendered(self, root: Path, recipe: Recipe) -> Rendered:
        try:
            return await self._pool.run(render, root, recipe, None, timeout=TIMEOUT)
        except WorkerError as error:
            raise Halt("BuildFailed", str(error)) from error

    async def _recipe(self, kustomization: Kustomization) -> Recipe:
        """Everything that decides the build; what cannot be read fails it."""
        try:
            return Recipe.of(
                kustomization.spec,
                variables=await self._references.variables(kustomization),
                keys=await self._references.keys(kustomization),
                strict=self._settings.gates.strict_post_build_substitutions,
                remote_bases=self._settings.remote_bases,
            )
        except PenstockError as error:
            raise Halt("BuildFailed", str(error)) from error

    def _keep(self, key: tuple[str, str], rendered: Rendered) -> None:
        packed = zlib.compress(self._encode(rendered), 1)
        if len(packed) > self._most_bytes // 4:
            return
        self._bytes += len(packed) - len(self._kept.pop(key, b""))
        self._kept[key] = packed
        while self._bytes > self._most_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped)
