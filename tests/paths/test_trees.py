"""Trees on disk and in memory: both resolve names, and neither lets a reader out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.paths import DiskTree, EscapeError, FileError, LayeredTree, MemoryTree, Tree, is_within

FILES = {"allowed/a.txt": b"a", "allowed/sub/b.txt": b"b", "other/c.txt": b"c"}


def on_disk(folder: Path) -> tuple[Tree, str]:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return DiskTree(), str(folder.resolve())


def in_memory(_: Path) -> tuple[Tree, str]:
    return MemoryTree({f"/top/{name}": content for name, content in FILES.items()}), "/top"


Make = Callable[[Path], tuple[Tree, str]]
BOTH = pytest.mark.parametrize("make", [on_disk, in_memory])


@BOTH
def test_files_are_read_below_a_directory(make: Make, tmp_path: Path) -> None:
    tree, top = make(tmp_path)
    assert tree.read(f"{top}/allowed/sub/../a.txt", within=f"{top}/allowed") == b"a"
    assert tree.read(f"{top}/allowed/./sub/b.txt", within=f"{top}/allowed") == b"b"


@BOTH
@pytest.mark.parametrize("name", ["../other/c.txt", "sub/../../other/c.txt"])
def test_names_that_lead_out(make: Make, tmp_path: Path, name: str) -> None:
    tree, top = make(tmp_path)
    with pytest.raises(EscapeError):
        tree.read(f"{top}/allowed/{name}", within=f"{top}/allowed")
    assert tree.read(f"{top}/allowed/{name}") == b"c"


@BOTH
@pytest.mark.parametrize("name", ["missing", "sub", "a.txt/x"])
def test_names_that_are_no_files(make: Make, tmp_path: Path, name: str) -> None:
    tree, top = make(tmp_path)
    with pytest.raises(FileError):
        tree.read(f"{top}/allowed/{name}")


@BOTH
def test_directories(make: Make, tmp_path: Path) -> None:
    tree, top = make(tmp_path)
    assert tree.directory(f"{top}/allowed/../allowed/sub") == f"{top}/allowed/sub"
    for name in ("a.txt", "missing"):
        with pytest.raises(FileError):
            tree.directory(f"{top}/allowed/{name}")


def test_a_link_swapped_in_after_the_directory_was_resolved(tmp_path: Path) -> None:
    tree, top = on_disk(tmp_path)
    inside = tmp_path / "allowed" / "sub"
    assert tree.read(f"{top}/allowed/sub/b.txt", within=f"{top}/allowed") == b"b"
    assert tree.read(f"{top}/allowed/a.txt", within=f"{top}/allowed") == b"a"
    (inside / "b.txt").unlink()
    inside.rmdir()
    inside.symlink_to(tmp_path / "other")
    with pytest.raises(EscapeError):
        tree.read(f"{top}/allowed/sub/c.txt", within=f"{top}/allowed")


def test_a_directory_that_is_open_stays_the_one_it_was(tmp_path: Path) -> None:
    tree, top = on_disk(tmp_path)
    inside = tmp_path / "allowed" / "sub"
    assert tree.read(f"{top}/allowed/sub/b.txt", within=f"{top}/allowed") == b"b"
    inside.rename(tmp_path / "moved")
    inside.symlink_to(tmp_path / "other")
    assert tree.read(f"{top}/allowed/sub/b.txt", within=f"{top}/allowed") == b"b"
    with pytest.raises(FileError):
        tree.read(f"{top}/allowed/sub/c.txt", within=f"{top}/allowed")
    tree.close()
    with pytest.raises(EscapeError):
        tree.read(f"{top}/allowed/sub/c.txt", within=f"{top}/allowed")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100)
    with pytest.raises(FileError, match="larger than 10 bytes"):
        DiskTree(largest=10).read(str(tmp_path / "large"))


@pytest.mark.parametrize(
    ("path", "directory", "expected"),
    [("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/x", "/", True), ("/a", "/a/b", False)],
)
def test_is_within(path: str, directory: str, *, expected: bool) -> None:
    assert is_within(path, directory) is expected


def test_a_layer_stands_in_front_of_the_disk(tmp_path: Path) -> None:
    _, top = on_disk(tmp_path)
    (tmp_path / "allowed/link.txt").symlink_to("a.txt")
    tree = LayeredTree(f"{top}/allowed", {f"{top}/allowed/a.txt": b"new", f"{top}/allowed/more.txt": b"more"})
    assert tree.read(f"{top}/allowed/a.txt") == b"new"
    assert tree.read(f"{top}/allowed/sub/../a.txt") == b"new"
    assert tree.read(f"{top}/allowed/link.txt") == b"new"
    assert tree.read(f"{top}/allowed/more.txt") == b"more"
    assert tree.read(f"{top}/allowed/sub/b.txt") == b"b"
    assert (tmp_path / "allowed/a.txt").read_bytes() == b"a"


def test_a_layered_tree_has_a_wall(tmp_path: Path) -> None:
    _, top = on_disk(tmp_path)
    (tmp_path / "allowed/out").symlink_to(tmp_path / "other")
    (tmp_path / "allowed/out.txt").symlink_to(tmp_path / "other/c.txt")
    tree = LayeredTree(f"{top}/allowed", {})
    assert tree.directory(f"{top}/allowed/sub") == f"{top}/allowed/sub"
    for name in ("../other", "out"):
        with pytest.raises(EscapeError, match="fs-security-constraint"):
            tree.directory(f"{top}/allowed/{name}")
    for name in ("../other/c.txt", "out/c.txt", "out.txt"):
        with pytest.raises(EscapeError, match="fs-security-constraint"):
            tree.read(f"{top}/allowed/{name}")
