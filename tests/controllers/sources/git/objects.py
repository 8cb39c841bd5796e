"""GitRepositories as tests write them, and what came of them."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.kube.resources import Object
    from tests.controllers.sources.running import Sources
    from tests.sources.git.server import GitServer


def spec(server: GitServer, name: str = "app.git", **more: Any) -> Object:
    return {"url": server.url(name), "interval": "1h", "ref": {"branch": "main"}, **more}


async def changed(sources: Sources, name: str, change: Object) -> Object:
    """Change the spec, and wait until that generation of it is Ready."""
    generation = (await sources.patch(name, {"spec": change}))["metadata"]["generation"]
    await sources.until(lambda: sources.status(name).get("observedGeneration") == generation)
    return await sources.ready(name)


def content(sources: Sources, name: str) -> dict[str, str]:
    """The files of the artifact that the status names."""
    path = sources.store.root / sources.status(name)["artifact"]["path"]
    with tarfile.open(path) as archive:
        files = [(member.name, archive.extractfile(member)) for member in archive]
        return {name: file.read().decode() for name, file in files if file is not None}
