"""ExternalArtifacts: what parts of Penstock make out of sources, published for whoever consumes sources.

Nothing reconciles this kind. Whoever makes the content calls `publish`, and everything else follows the format of
all artifacts: the file lies in the store, the status names it, and older files are thinned out.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from penstock.api import decode
from penstock.api.externalartifact import ExternalArtifact
from penstock.api.kinds import KINDS
from penstock.controllers.sources.draft import Draft
from penstock.kube.errors import NotFound
from penstock.kube.resources import ObjectRef, Resource
from penstock.paths import pack
from penstock.runtime.conditions import READY
from penstock.runtime.fence import Fence
from penstock.runtime.status import StatusWriter
from penstock.sources.store import digests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from penstock.api.meta import Artifact
    from penstock.kube.client import Client
    from penstock.kube.resources import Object
    from penstock.paths.packing import Excludes
    from penstock.sources.store import ArtifactStore, Scratch

Reason = Literal["FetchFailed", "StorageOperationFailed", "VerificationFailed"]

_KIND = KINDS["ExternalArtifact"]
RESOURCE = Resource(_KIND.group, _KIND.version, _KIND.plural, _KIND.kind)


class ExternalArtifacts:
    """Publishes trees under names, as one field manager."""

    def __init__(
        self,
        client: Client,
        store: ArtifactStore,
        scratch: Scratch,
        *,
        manager: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._store, self._scratch = client, store, scratch
        self._manager, self._now = manager, now

    async def publish(
        self,
        namespace: str,
        name: str,
        tree: Path,
        *,
        label: str = "latest",
        source: Mapping[str, str] | None = None,
        leaving_out: Excludes | None = None,
        metadata: Mapping[str, str] | None = None,
        fence: Fence | None = None,
    ) -> Artifact:
        """Make the files of a directory the content of an ExternalArtifact, which is created where there is none.

        The revision is `<label>@<digest>`, so equal content writes nothing. `source` is the reference that says what
        the content was made from.
        """
        obj = await self._applied(namespace, name, source)
        owner = ObjectRef.of(obj)
        current = decode(obj, ExternalArtifact).status.artifact
        async with self._scratch.directory("external") as room:
            file = room / "artifact"
            digest = await asyncio.to_thread(_pack, tree, file, leaving_out)
            filename = f"{digest.rpartition(':')[2]}.tar.gz"
            artifact = await self._store.put_file(
                owner, filename, file, revision=f"{label}@{digest}", metadata=metadata or {}
            )
        if current is not None and (current.digest, current.revision) == (artifact.digest, artifact.revision):
            artifact = self._store.located(current)
        await self._store.collect(artifact)
        draft = Draft(obj, now=self._now())
        draft.store(artifact)
        draft.mark(READY, "True", "Succeeded", f"stored artifact for revision '{artifact.revision}'")
        await self._write(obj, draft, fence)
        return artifact

    async def refuse(
        self, namespace: str, name: str, reason: Reason, message: str, *, fence: Fence | None = None
    ) -> None:
        """Say that there is no new content, and why; what was published before stays."""
        obj = await self._client.get(RESOURCE, name, namespace)
        draft = Draft(obj, now=self._now())
        draft.mark(READY, "False", reason, message)
        await self._write(obj, draft, fence)

    async def withdraw(self, namespace: str, name: str) -> None:
        """Delete an ExternalArtifact and its files; one that is gone already is fine."""
        with suppress(NotFound):
            await self._client.delete(RESOURCE, name, namespace)
        await self._store.remove(ObjectRef(RESOURCE.group, RESOURCE.kind, namespace, name))

    async def _applied(self, namespace: str, name: str, source: Mapping[str, str] | None) -> Object:
        wanted = {
            "apiVersion": RESOURCE.api_version,
            "kind": RESOURCE.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"sourceRef": dict(source)} if source else {},
        }
        return await self._client.apply(RESOURCE, wanted, manager=self._manager, force=True)

    async def _write(self, obj: Object, draft: Draft, fence: Fence | None) -> None:
        status = StatusWriter(self._client, RESOURCE, obj, manager=self._manager, fence=fence or Fence(), owned={READY})
        await status.write(draft.status)


def _pack(tree: Path, file: Path, leaving_out: Excludes | None) -> str:
    with file.open("xb") as out:
        pack(tree, out, leaving_out=leaving_out)
    with file.open("rb") as packed:
        return digests.of_file(packed, "sha256")
