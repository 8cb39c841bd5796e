"""The server: files to those who know their names, and nothing else to anybody."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest
from yarl import URL

from penstock.runtime.health import Address, AddressInUse
from penstock.sources.store import ArtifactServer, ArtifactStore
from tests.sources.store.artifacts import OWNER, tree

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from penstock.api.meta import Artifact


@asynccontextmanager
async def served(tmp_path: Path, **options: int) -> AsyncGenerator[tuple[ArtifactStore, Artifact, Address]]:
    store = ArtifactStore(tmp_path / "store", address="test")
    files = tree(tmp_path / "files", a="1")
    artifact = await store.put_tree(OWNER, "1.tar.gz", files, revision="x")
    await store.link(artifact, "latest.tar.gz")
    async with ArtifactServer(store, **options).serving(Address("127.0.0.1", 0)) as address:
        yield store, artifact, address


async def ask(address: Address, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, Mapping[str, str]]:
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.request(
            method, URL(f"http://{address}{path}", encoded=True), headers=headers, allow_redirects=False
        ) as answer,
    ):
        return answer.status, await answer.read(), answer.headers


async def test_get_and_head(tmp_path: Path) -> None:
    async with served(tmp_path) as (store, artifact, address):
        content = store.file(artifact).read_bytes()
        status, body, headers = await ask(address, f"/{artifact.path}")
        assert (status, body) == (200, content)
        assert headers["ETag"] == f'"{artifact.digest}"'
        assert headers["Content-Length"] == str(len(content))
        assert headers["Content-Type"] == "application/gzip"
        status, body, headers = await ask(address, f"/{artifact.path}", "HEAD")
        assert (status, body, headers["Content-Length"]) == (200, b"", str(len(content)))
        tag = {"If-None-Match": headers["ETag"]}
        assert (await ask(address, f"/{artifact.path}", **tag))[:2] == (304, b"")
        assert (await ask(address, f"/{artifact.path.replace('1.tar.gz', 'latest.tar.gz')}"))[1] == content


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/gitrepository",
        "/gitrepository/",
        "/gitrepository/team/",
        "/gitrepository/team/apps",
        "/gitrepository/team/apps/",
        "/gitrepository/team/apps/none.tar.gz",
        "/gitrepository/team/apps/1.tar.gz/",
        "/gitrepository/team/apps/1.tar.gz.lock",
        "/gitrepository/team/apps/.x.unfinished",
        "/gitrepository/team/apps/../apps/1.tar.gz",
        "/gitrepository/team/apps/%2e%2e/apps/1.tar.gz",
        "/gitrepository/team/%2e%2e%2f%2e%2e%2fsecret/x/y",
        "/../secret",
        "/gitrepository/../../secret",
        "/%2e%2e/secret",
        "/gitrepository/team/apps/..%2f..%2f..%2f..%2fsecret",
        "/gitrepository/team/apps/%00",
        "/gitrepository/team/apps/%ff",
        "/gitrepository/team/apps/out.tar.gz",
        "/gitrepository/team/apps/up.tar.gz",
        "/gitrepository/team/apps/folder.tar.gz",
        "/other/team/apps/1.tar.gz",
        "//gitrepository/team/apps/1.tar.gz",
        "/GITREPOSITORY/team/apps/1.tar.gz",
    ],
)
async def test_everything_else_is_not_there(tmp_path: Path, path: str) -> None:
    """A32: neither enumeration nor traversal."""
    (tmp_path / "secret").write_text("secret")
    async with served(tmp_path) as (store, artifact, address):
        folder = store.file(artifact).parent
        (folder / "out.tar.gz").symlink_to("/etc/passwd")
        (folder / "up.tar.gz").symlink_to("../../../../secret")
        (folder / "folder.tar.gz").mkdir()
        other = store.root / "other" / "team" / "apps"
        other.mkdir(parents=True)
        (other / "1.tar.gz").write_text("secret")
        status, body, _ = await ask(address, path)
        assert (status, body) == (404, b"404\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_nothing_can_be_written(tmp_path: Path, method: str) -> None:
    async with served(tmp_path) as (store, artifact, address):
        status, _, headers = await ask(address, f"/{artifact.path}", method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")
        await store.check(artifact)


async def test_a_file_that_is_replaced_while_it_is_sent_stays_whole(tmp_path: Path) -> None:
    async with served(tmp_path) as (store, artifact, address):
        store.file(artifact).write_bytes(bytes(8 << 20))
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(f"http://{address}/{artifact.path}") as answer,
        ):
            await answer.content.readexactly(1000)
            await store.put_tree(OWNER, "1.tar.gz", tmp_path / "files", revision="x")
            await store.discard(artifact)
            assert len(await answer.read()) == (8 << 20) - 1000


async def test_too_many_at_once_are_asked_to_come_back(tmp_path: Path) -> None:
    async with served(tmp_path, most=0) as (_, artifact, address):
        status, _, headers = await ask(address, f"/{artifact.path}")
        assert (status, headers["Retry-After"]) == (503, "1")


async def test_garbage_on_the_line(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, artifact, address):
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n")
        await writer.drain()
        assert b" 400 " in await reader.readline()
        writer.close()
        await writer.wait_closed()
        assert (await ask(address, f"/{artifact.path}"))[0] == 200


async def test_an_address_in_use(tmp_path: Path) -> None:
    async with served(tmp_path) as (store, _, address):
        with pytest.raises(AddressInUse, match="cannot listen on 127"):
            async with ArtifactServer(store).serving(address):
                pytest.fail("two servers at one address")
