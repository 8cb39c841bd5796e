"""`penstock push|pull|tag|list|diff artifact` against a registry on loopback."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import orjson
import pytest

from penstock.cli import main
from penstock.sources.oci.manifest import CONFIG, CONTENT, CREATED, REVISION, SOURCE
from tests.sources.oci.stand_in import PASSWORD, USER, running

if TYPE_CHECKING:
    from pathlib import Path

FROM = ["--source", "https://git.example/app", "--revision", "main@sha1:abc"]


@pytest.fixture(autouse=True)
def no_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Docker configuration of the test's own."""
    folder = tmp_path / "docker"
    folder.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "dir").mkdir(parents=True)
    (folder / "a.yaml").write_text("a")
    (folder / "dir/b.yaml").write_text("b")
    (folder / "c.jpg").write_text("c")
    return folder


async def penstock(*arguments: object) -> int:
    return await asyncio.to_thread(main, [str(one) for one in arguments])


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def test_there_and_back(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as server:
        url = f"{server.url()}:v1"
        assert await penstock("push", "artifact", url, "-f", files, *FROM, "-a", "team=a", "-o", "json") == 0
        told = json.loads(capsys.readouterr().out)
        content, _ = server.manifests["app"]["v1"]
        manifest = orjson.loads(content)
        assert told == {
            "url": f"oci://{server.host}/app@{told['digest']}",
            "repository": f"{server.host}/app",
            "tag": "v1",
            "digest": told["digest"],
        }
        assert told["digest"] in server.manifests["app"]
        assert manifest["config"]["mediaType"] == CONFIG
        assert [layer["mediaType"] for layer in manifest["layers"]] == [CONTENT]
        notes = manifest["annotations"]
        assert notes.pop(CREATED)
        assert notes == {SOURCE: FROM[1], REVISION: FROM[3], "team": "a"}
        out = empty(tmp_path / "out")
        assert await penstock("pull", "artifact", url, "-o", out) == 0
        assert tree(out) == {"a.yaml": "a", "dir/b.yaml": "b"}
        assert capsys.readouterr().err.splitlines() == [
            f"► pulling artifact from {server.host}/app:v1",
            "✔ source https://git.example/app",
            "✔ revision main@sha1:abc",
            f"✔ digest {server.host}/app@{told['digest']}",
            f"✔ artifact content extracted to {out}",
        ]


async def test_the_words_of_a_push(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as server:
        assert await penstock("push", "artifact", f"{server.url()}:v1", "--path", files, *FROM) == 0
        shown = capsys.readouterr()
        digest = next(name for name in server.manifests["app"] if ":" in name)
        assert shown.out == ""
        assert shown.err.splitlines() == [
            f"► pushing artifact to {server.host}/app:v1",
            f"✔ artifact successfully pushed to {server.host}/app@{digest}",
        ]
        assert await penstock("push", "artifact", f"{server.url()}:v1", "--path", files, *FROM, "-o", "yaml") == 0
        assert capsys.readouterr().out.startswith("digest: sha256:")


async def test_reproducible_pushes_have_one_digest(files: Path) -> None:
    async with running() as server:
        for tag in ("one", "two"):
            assert (
                await penstock("push", "artifact", f"{server.url()}:{tag}", "-f", files, *FROM, "--reproducible") == 0
            )
        assert server.manifests["app"]["one"] == server.manifests["app"]["two"]
        uploads = [path for path in server.paths("PUT") if "/uploads/" in path]
        assert len(uploads) == 2, "what is there already is not uploaded again"


async def test_what_is_packed(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "link").symlink_to(files / "a.yaml")
    (files / "dir/loop").symlink_to(files)
    cases: dict[str, tuple[list[str], set[str]]] = {
        "other": (["-f", str(files), "--ignore-paths", "dir/,*.yaml"], {"c.jpg"}),
        "file": (["-f", str(files / "a.yaml")], {"a.yaml"}),
        "links": (["-f", str(files), "--resolve-symlinks"], {"a.yaml", "dir/b.yaml", "link"}),
    }
    async with running() as server:
        for name, (arguments, expected) in cases.items():
            assert await penstock("push", "artifact", f"{server.url()}:{name}", *arguments, *FROM) == 0
            out = empty(tmp_path / f"out-{name}")
            assert await penstock("pull", "artifact", f"{server.url()}:{name}", "-o", out) == 0
            assert set(tree(out)) == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["-f", ".", "--revision", "x"], "--source is required", id="no source"),
        pytest.param(["-f", ".", "--source", "x"], "--revision is required", id="no revision"),
        pytest.param(FROM, "--path is required", id="no path"),
        pytest.param([*FROM, "-f", "/no/such"], "must point to an existing directory or file", id="no such path"),
        pytest.param([*FROM, "-f", ".", "-a", "a=b=c"], "invalid annotation a=b=c", id="an annotation with two ="),
        pytest.param([*FROM, "-f", ".", "-a", "a"], "must be in the format key=value", id="an annotation without"),
        pytest.param([*FROM, "-f", ".", "--provider", "aws"], "--provider aws is not supported", id="a cloud"),
        pytest.param([*FROM, "-f", ".", "--timeout", "soon"], "--timeout", id="no duration"),
    ],
)
def test_wrong_use_of_push(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], files: Path) -> None:
    arguments = [str(files) if one == "." else one for one in arguments]
    assert main(["push", "artifact", "oci://127.0.0.1:1/app:v1", *arguments]) == 2
    assert told in capsys.readouterr().err


async def test_logins(files: Path, no_docker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as server:
        server.auth = "basic"
        push = ["push", "artifact", f"{server.url()}:v1", "-f", files, *FROM]
        assert await penstock(*push) == 1
        assert await penstock(*push, "--creds", f"{USER}:{PASSWORD}") == 0
        login = {"username": USER, "password": PASSWORD}
        (no_docker / "config.json").write_bytes(orjson.dumps({"auths": {server.host: login}}))
        assert await penstock(*push) == 0
        (no_docker / "config.json").write_bytes(orjson.dumps({"credsStore": "desktop"}))
        capsys.readouterr()
        assert await penstock(*push) == 1
        assert "docker-credential-desktop" in capsys.readouterr().err


async def test_tags_and_lists(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as server:
        assert await penstock("push", "artifact", f"{server.url()}:1.0.0", "-f", files, *FROM) == 0
        assert (
            await penstock("tag", "artifact", f"{server.url()}:1.0.0", "--tag", "latest", "--tag", "1.1.0,x.sig") == 0
        )
        digest = next(name for name in server.manifests["app"] if ":" in name)
        capsys.readouterr()
        assert await penstock("list", "artifacts", server.url()) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert lines[0] == ["ARTIFACT", "DIGEST", "SOURCE", "REVISION"]
        assert lines[1:] == [
            [f"{server.host}/app:{tag}", digest, FROM[1], FROM[3]] for tag in ("latest", "1.1.0", "1.0.0")
        ]
        assert await penstock("list", "artifacts", server.url(), "--filter-semver", "<1.1", "-o", "json") == 0
        assert [one["artifact"] for one in json.loads(capsys.readouterr().out)] == [f"{server.host}/app:1.0.0"]
        assert await penstock("list", "artifact", server.url(), "--filter-regex", "^la", "-o", "name") == 0
        assert capsys.readouterr().out == f"artifact/{server.host}/app:latest\n"
        assert await penstock("list", "artifacts", f"{server.url()}:v1") == 1
        assert await penstock("tag", "artifact", f"{server.url()}:1.0.0") == 2


async def test_differences(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as server:
        url = f"{server.url()}:v1"
        assert await penstock("push", "artifact", url, "-f", files, *FROM) == 0
        assert await penstock("diff", "artifact", url, "--path", files) == 0
        assert "no changes detected" in capsys.readouterr().err
        (files / "a.yaml").write_text("changed")
        (files / "dir/b.yaml").unlink()
        (files / "new.yaml").write_text("new")
        assert await penstock("diff", "artifact", url, "--path", files) == 1
        shown = capsys.readouterr()
        assert shown.out == "changed a.yaml\ndeleted dir/b.yaml\ncreated new.yaml\n"
        assert "✗ the remote artifact contents differs from the local one" in shown.err


async def test_a_pull_overwrites_and_follows_no_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CVE-2022-36035: what is pulled lands in the directory that was named."""
    async with running() as server:
        server.image({"a": "new", "dir/b": "new"}, "v1")
        out, elsewhere = empty(tmp_path / "out"), empty(tmp_path / "elsewhere")
        (out / "a").write_text("old")
        (out / "own").write_text("kept")
        pull = ["pull", "artifact", f"{server.url()}:v1", "-o", out]
        assert await penstock(*pull) == 0
        assert await penstock(*pull) == 0
        assert tree(out) == {"a": "new", "dir/b": "new", "own": "kept"}
        (out / "dir/b").unlink()
        (out / "dir").rmdir()
        (out / "dir").symlink_to(elsewhere)
        assert await penstock(*pull) == 2
        assert "is a link" in capsys.readouterr().err
        assert tree(elsewhere) == {}


async def test_pulls_that_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as server:
        server.image({"a": "1"}, "v1")
        assert await penstock("pull", "artifact", f"{server.url()}:v1", "-o", tmp_path / "missing") == 2
        assert await penstock("pull", "artifact", f"{server.url()}:v2", "-o", empty(tmp_path / "out")) == 1
        assert "MANIFEST_UNKNOWN" in capsys.readouterr().err
        assert await penstock("pull", "artifact", "https://h.io/app", "-o", tmp_path) == 1
        assert "oci://<domain>/<org>/<repo>" in capsys.readouterr().err
