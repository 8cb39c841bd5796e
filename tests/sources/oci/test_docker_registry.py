"""Against Debian's docker-registry: what we push is what we get, by our own commands and as a source."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.api.ocirepository import OCIReference
from penstock.cli import main
from penstock.sources.oci import Connection, OCIRemote, Registry, parse_repository
from penstock.sources.oci.artifact import put
from penstock.sources.oci.manifest import INDEX, MANIFEST
from penstock.sources.oci.verification import CosignKeys
from tests.sources.oci.docker_registry import docker_registry
from tests.sources.oci.signing import new_key, public

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

PLAIN = Connection(insecure=True)
FROM = ["--source", "https://git.example/app", "--revision", "main@sha1:abc"]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with docker_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files/dir").mkdir(parents=True)
    (tmp_path / "files/dir/a.yaml").write_text("a" * 100_000)
    return tmp_path / "files"


async def test_what_is_pushed_is_fetched(registry: str, files: Path, tmp_path: Path) -> None:
    url = f"oci://{registry}/team/app"
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        assert await asyncio.to_thread(main, ["push", "artifact", f"{url}:{version}", "-f", str(files), *FROM]) == 0
    place = OCIRemote(url, PLAIN, reference=OCIReference(semver="1.x"))
    revision = await place.resolve()
    assert revision.startswith("1.1.0@sha256:")
    into = tmp_path / "into"
    await asyncio.to_thread(into.mkdir)
    fetched = await place.fetch(into)
    assert tree(into) == tree(files)
    assert fetched.revision == revision
    assert fetched.metadata["org.opencontainers.image.revision"] == "main@sha1:abc"
    assert await asyncio.to_thread(main, ["tag", "artifact", f"{url}:1.0.0", "--tag", "latest"]) == 0
    async with Registry(parse_repository(url), PLAIN) as opened:
        assert sorted(await opened.tags()) == ["1.0.0", "1.1.0", "2.0.0", "latest"]
        assert await opened.digest("latest") == await opened.digest("1.0.0")


async def test_an_unsigned_image_has_no_referrers(registry: str, files: Path) -> None:
    """This registry does not know the question, and keeps the answer under a tag."""
    url = f"oci://{registry}/signed"
    assert await asyncio.to_thread(main, ["push", "artifact", f"{url}:v1", "-f", str(files), *FROM]) == 0
    async with Registry(parse_repository(url), PLAIN) as opened:
        digest = await opened.digest("v1")
        assert await opened.referrers(digest) == ()
        index = (
            f'{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{{"mediaType":"{MANIFEST}","digest":"{digest}",'
        )
        index += f'"size":{len((await opened.manifest(digest)).content)},"artifactType":"x"}}]}}'
        await put(opened, digest.replace(":", "-"), index.encode(), INDEX)
        assert [one.digest for one in await opened.referrers(digest)] == [digest]


async def test_a_registry_without_a_signature_is_no_proof(registry: str, files: Path, tmp_path: Path) -> None:
    url = f"oci://{registry}/unsigned"
    assert await asyncio.to_thread(main, ["push", "artifact", f"{url}:latest", "-f", str(files), *FROM]) == 0
    keys = CosignKeys({"a.pub": public(new_key())}, origin="test")
    with pytest.raises(Exception, match="no matching signatures"):
        await OCIRemote(url, PLAIN, verifier=keys).fetch(tmp_path)
