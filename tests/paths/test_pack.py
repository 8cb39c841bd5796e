"""Archives that we write."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from penstock.paths import IgnoreRules, PackError, pack, unpack
from penstock.paths.ignore import parse, rules_of

if TYPE_CHECKING:
    from pathlib import Path


def packed(tree: Path, ignore: str | None = None) -> bytes:
    out = io.BytesIO()
    pack(tree, out, leaving_out=None if ignore is None else rules_of(tree, ignore))
    return out.getvalue()


def members(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {one.name: one for one in tar}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, content in {
        "b.yaml": "b",
        "a/x.yaml": "x",
        "a-b.yaml": "ab",
        "run.sh": "#!",
        ".git/config": "secret",
        "a/.gitignore": "*",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    (root / "b.yaml").chmod(0o644)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("/etc/passwd")
    (root / "a" / "up").symlink_to("..")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.scenario("sources-9")
def test_the_format(tree: Path) -> None:
    archive = packed(tree)
    entries = members(archive)
    assert list(entries) == [
        ".",
        ".git",
        ".git/config",
        "a",
        "a/.gitignore",
        "a/x.yaml",
        "a-b.yaml",
        "b.yaml",
        "run.sh",
    ]
    assert {name: oct(one.mode) for name, one in entries.items() if name in {".", "a", "b.yaml", "run.sh"}} == {
        ".": "0o750",
        "a": "0o750",
        "b.yaml": "0o600",
        "run.sh": "0o700",
    }
    assert {(one.uid, one.gid, one.uname, one.gname, one.mtime) for one in entries.values()} == {(0, 0, "", "", 0)}
    assert archive[4:8] == bytes(4), "no time in the gzip header"


@pytest.mark.scenario("sources-9")
def test_two_builds_are_equal(tree: Path, tmp_path: Path) -> None:
    first = packed(tree)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", tree, copy], check=True)
    os.utime(copy / "b.yaml", (1, 1))
    (copy / "b.yaml").chmod(0o640)
    assert packed(copy) == first


@pytest.mark.scenario("sources-10")
def test_what_git_keeps_for_itself_stays_out(tree: Path) -> None:
    assert not [name for name in members(packed(tree, "*.nothing")) if ".git" in name]
    assert list(members(packed(tree, "/a/"))) == [".", "a-b.yaml", "b.yaml", "run.sh"]


def test_a_file_comes_back_from_an_ignored_directory(tree: Path) -> None:
    assert list(members(packed(tree, "/*\n!/a/x.yaml"))) == [".", "a/x.yaml"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("x" * 100, id="100 characters"),
        pytest.param("x" * 101, id="101 characters"),
        pytest.param("x" * 255, id="255 characters"),
        pytest.param("/".join(["d" * 50] * 5), id="a long path that can be split"),
        pytest.param("/".join(["d" * 90] * 10), id="a long path that cannot"),
        pytest.param("d" * 155 + "/" + "n" * 100, id="exactly what the old form holds"),
        pytest.param("caf\N{LATIN SMALL LETTER E WITH ACUTE}/\N{SNOWMAN}.yaml", id="beyond ASCII"),
        pytest.param("a/\udcff", id="no UTF-8"),
        pytest.param("a\nb\tc", id="line breaks"),
    ],
)
def test_names(tmp_path: Path, name: str) -> None:
    file = tmp_path / "tree" / name
    file.parent.mkdir(parents=True)
    file.write_text("content")
    archive = packed(tmp_path / "tree")
    assert name in members(archive)
    back = tmp_path / "back"
    back.mkdir()
    unpack(io.BytesIO(archive), back)
    assert (back / name).read_text() == "content"


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_sizes(tmp_path: Path, size: int) -> None:
    tree, back = tmp_path / "tree", tmp_path / "back"
    tree.mkdir()
    back.mkdir()
    content = os.urandom(min(size, 4096)) * (size // 4096 + 1)
    (tree / "a").write_bytes(content[:size])
    (tree / "b").write_bytes(b"next")
    archive = packed(tree)
    unpack(io.BytesIO(archive), back)
    assert (back / "a").read_bytes() == content[:size]
    assert (back / "b").read_bytes() == b"next"
    assert members(archive)["a"].size == size


def test_gnu_tar_reads_it(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(packed(tree, ""))
    told = subprocess.run(["tar", "-tzf", tmp_path / "a.tar.gz"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == [".", "a", "a/x.yaml", "a-b.yaml", "b.yaml", "run.sh"]
    assert not told.stderr


def test_a_file_that_shrinks_is_an_error(tree: Path) -> None:
    (tree / "big").write_bytes(bytes(4 << 20))

    class Shrinks(IgnoreRules):
        def excludes(self, path: str, *, directory: bool = False) -> bool:
            if path == "big":
                os.truncate(tree / "big", 3 << 20)
            return super().excludes(path, directory=directory)

    with pytest.raises(PackError, match="'big' became shorter"):
        pack(tree, io.BytesIO(), leaving_out=Shrinks(parse("")))


def test_a_file_swapped_for_a_link_is_not_followed(tree: Path) -> None:
    class Swaps(IgnoreRules):
        def excludes(self, path: str, *, directory: bool = False) -> bool:
            if path == "b.yaml":
                (tree / path).unlink()
                (tree / path).symlink_to("/etc/passwd")
            return super().excludes(path, directory=directory)

    with pytest.raises(PackError, match="cannot read 'b\\.yaml'"):
        pack(tree, io.BytesIO(), leaving_out=Swaps(parse("")))


def test_directories_that_are_too_deep_are_an_error(tmp_path: Path) -> None:
    """A4: deeper than anybody could unpack again."""
    deep = tmp_path / "tree"
    for _ in range(102):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    with pytest.raises(PackError, match="more than 100 directories deep"):
        packed(tmp_path / "tree", "")


def test_what_an_ignore_file_hides_is_hidden_from_the_build_too(tmp_path: Path) -> None:
    """A6: consumers see the archive only, and the rule that left something out is in it for everybody to read."""
    tree = tmp_path / "tree"
    (tree / "apps").mkdir(parents=True)
    for name, content in {"apps/.sourceignore": "admin.yaml\n", "apps/admin.yaml": "x", "apps/web.yaml": "y"}.items():
        (tree / name).write_text(content)
    assert list(members(packed(tree, ""))) == [".", "apps", "apps/.sourceignore", "apps/web.yaml"]
