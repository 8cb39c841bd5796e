"""Where `penstock up` finds the cluster of a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.up.folders import Place, find
from penstock.errors import UsageError
from tests.cli.up.repositories import CONFIG, kustomization, write

FLUX = kustomization("apps")
SYNC = "flux-system/gotk-sync.yaml"


def following(file: str) -> str:
    """A file as a bootstrap writes it: its Kustomization follows the folder above the file's own."""
    folder = Path(file.removeprefix("one/")).parent.parent
    return FLUX.replace("./apps/apps", f"./{folder.as_posix()}")


@pytest.mark.parametrize(
    ("files", "path", "root", "clusters"),
    [
        pytest.param(["clusters/dev/apps.yaml"], ".", ".", ["clusters/dev"], id="a folder with Kustomizations"),
        pytest.param([f"clusters/dev/{SYNC}"], ".", ".", ["clusters/dev"], id="a folder that was bootstrapped"),
        pytest.param(
            ["clusters/b/apps.yaml", "clusters/a/apps.yaml"], ".", ".", ["clusters/a", "clusters/b"], id="several"
        ),
        pytest.param([f"fleet/eu/one/{SYNC}"], ".", ".", ["fleet/eu/one"], id="a bootstrap elsewhere"),
        pytest.param([SYNC], ".", ".", ["."], id="a bootstrap of the whole repository"),
        pytest.param(
            ["clusters/a/x.yaml", "clusters/b/x.yaml"], "clusters/b", ".", ["clusters/b"], id="the folder itself"
        ),
        pytest.param([".git/HEAD", "clusters/a/x.yaml", "apps/x.yaml"], "apps", ".", ["clusters/a"], id="inside of it"),
        pytest.param(
            ["one/clusters/a/x.yaml", "two/x.yaml"], ".", "one", ["clusters/a"], id="repositories side by side"
        ),
        pytest.param(
            [f"one/clusters/a/{SYNC}", "two/x.yaml"], ".", "one", ["clusters/a"], id="side by side, one bootstrapped"
        ),
        pytest.param(["kustomization.yaml"], ".", ".", ["."], id="no folder for it, but a kustomization"),
        pytest.param(["apps.yaml"], ".", ".", ["."], id="no folder for it, but Kustomizations"),
    ],
)
def test_clusters(tmp_path: Path, files: list[str], path: str, root: str, clusters: list[str]) -> None:
    write(tmp_path, {file: following(file) for file in files})
    place = find(tmp_path / path)
    assert place.root == (tmp_path / root).resolve()
    assert list(place.clusters) == clusters


def test_what_lies_beside_a_repository(tmp_path: Path) -> None:
    write(tmp_path, {"platform/clusters/a/x.yaml": FLUX, "team/x.yaml": CONFIG, "key.yaml": CONFIG, ".cache/y": ""})
    place = find(tmp_path)
    assert place.beside == (tmp_path / "team",)
    assert place.first == (tmp_path / "key.yaml",)


@pytest.mark.parametrize(
    ("files", "path", "sentence"),
    [
        pytest.param(["x.txt"], "x.txt", "is not a directory", id="a file"),
        pytest.param([], "missing", "is not a directory", id="nothing at all"),
        pytest.param(["README.md"], ".", "there is no cluster in", id="no cluster"),
        pytest.param(["one/clusters/a/x.yaml", "two/clusters/a/x.yaml"], ".", "one, two; name one", id="too many"),
        pytest.param([".git/HEAD", "apps/README.md"], "apps", "there is no cluster in", id="a repository without any"),
    ],
)
def test_no_cluster(tmp_path: Path, files: list[str], path: str, sentence: str) -> None:
    write(tmp_path, dict.fromkeys(files, FLUX))
    with pytest.raises(UsageError, match=sentence):
        find(tmp_path / path)


@pytest.mark.parametrize(
    ("clusters", "wanted", "chosen"),
    [
        pytest.param(["clusters/a"], None, "clusters/a", id="the only one"),
        pytest.param(["clusters/a", "clusters/b"], "b", "clusters/b", id="by name"),
        pytest.param(["clusters/a", "fleet/a"], "fleet/a", "fleet/a", id="by path, when names are not enough"),
    ],
)
def test_choice(clusters: list[str], wanted: str | None, chosen: str) -> None:
    assert Place(Path("r"), tuple(clusters)).choose(wanted) == chosen


def test_a_person_is_asked() -> None:
    place = Place(Path("r"), ("clusters/a", "clusters/b"))
    assert place.choose(None, lambda offered: offered[1]) == "clusters/b"


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        pytest.param(None, r"several clusters: a, b; choose one with --cluster", id="nobody to ask"),
        pytest.param("c", r"there is no 'c' in 'r'; there are a, b", id="another name"),
    ],
)
def test_no_choice(wanted: str | None, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Place(Path("r"), ("clusters/a", "clusters/b")).choose(wanted)
