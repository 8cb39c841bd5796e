"""The kustomization that is generated for a tree, or merged into the one it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.references import Image, Patch, Selector
from penstock.paths import LayeredTree
from penstock.render import BuildFailed, Overlay, Recipe, render
from penstock.render.overlay import generate, is_local, merge_images
from penstock.yaml import config
from tests.render.trees import built, manifest, tree

if TYPE_CHECKING:
    from pathlib import Path

Object = dict[str, Any]


def generated(root: Path, overlay: Overlay | None = None) -> dict[str, Any]:
    _, content = generate(LayeredTree(root), str(root.resolve()), overlay or Overlay())
    made: dict[str, Any] = config(content)
    return made


def test_a_tree_without_a_kustomization_file(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "b.yaml": manifest("b"),
            "a.yml": manifest("a"),
            ".hidden.yaml": manifest("hidden"),
            "deep/er/c.yaml": manifest("c"),
            "readme.md": "# nothing",
            "x.YAML": "not: a manifest",
            "with/kustomization.yml": "resources: [d.yaml]",
            "with/d.yaml": manifest("d"),
        },
    )
    assert generated(tmp_path)["resources"] == [
        *("./.hidden.yaml", "./a.yml", "./b.yaml"),
        *("./deep/er/c.yaml", "./with"),
    ]
    assert sorted(built(tmp_path, {})) == ["a", "b", "c", "d", "hidden"]


@pytest.mark.scenario("22.11 Generator")
def test_an_empty_directory_builds_nothing(tmp_path: Path) -> None:
    assert generated(tmp_path)["namespace"] == "_placeholder"
    assert built(tmp_path, {}) == {}


@pytest.mark.parametrize("content", ["", "# nothing", "---", "kind: Kustomization"])
def test_an_empty_kustomization_file_builds_nothing(tmp_path: Path, content: str) -> None:
    assert built(tmp_path, {"kustomization.yaml": content}) == {}


def test_a_file_without_resources_gets_origins(tmp_path: Path) -> None:
    text = "configMapGenerator: [{name: a, literals: [k=v], options: {disableNameSuffixHash: true}}]"
    annotations = built(tmp_path, {"kustomization.yaml": text})["a"]["metadata"]["annotations"]
    assert "config.kubernetes.io/origin" in annotations


def test_unknown_fields_of_the_file_vanish(tmp_path: Path) -> None:
    files = {"Kustomization": "resources: [a.yaml]\nunknown: {a: b}\nNamePrefix: x-\n", "a.yaml": manifest("a")}
    assert list(built(tmp_path, files)) == ["x-a"]


def test_an_overlay_reaches_its_siblings(tmp_path: Path) -> None:
    files = {"base/a.yaml": manifest("a"), "app/kustomization.yaml": "resources: [../base/a.yaml]"}
    assert list(built(tmp_path, files, Recipe(path="app"))) == ["a"]


def test_namespace_prefix_suffix_and_patches(tmp_path: Path) -> None:
    overlay = Overlay(
        target_namespace="team",
        name_prefix="p-",
        name_suffix="-s",
        patches=(
            Patch(patch="- {op: add, path: /data, value: {k: v}}", target=Selector(kind="ConfigMap")),
            Patch(patch="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n$patch: delete"),
        ),
    )
    files = {
        "kustomization.yaml": "namePrefix: x-\nresources: [a.yaml]",
        "a.yaml": manifest("a") + "---\n" + manifest("b"),
    }
    found = built(tmp_path, files, Recipe(overlay=overlay))
    assert list(found) == ["p-a-s"]
    assert found["p-a-s"]["data"] == {"k": "v"}
    assert found["p-a-s"]["metadata"]["namespace"] == "team"


def test_components_of_the_file_come_first(tmp_path: Path) -> None:
    component = "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnameSuffix: '-{}'\n"
    files = {
        "kustomization.yaml": "resources: [a.yaml]\ncomponents: [one]",
        "a.yaml": manifest("a"),
        "one/kustomization.yaml": component.format(1),
        "two/kustomization.yaml": component.format(2),
    }
    overlay = Overlay(components=("two", "three"), ignore_missing_components=True)
    assert list(built(tmp_path, files, Recipe(overlay=overlay))) == ["a-1-2"]
    with pytest.raises(BuildFailed, match="three"):
        render(tmp_path, Recipe(overlay=Overlay(components=("two", "three"))))


@pytest.mark.parametrize(
    ("path", "local"),
    [
        *(("a", True), ("./a", True), ("../a", True), ("github.company/a", True), ("a/github.com/b", True)),
        *(("/a", False), ("file:///a", False), ("git::https://x/y", False), ("gh:a/b", False), ("ssh://x/y", False)),
        *(("https://x/y", False), ("HTTP://x/y", False), ("git@x:y", False), ("github.com/a/b", False)),
        ("GitHub.com:a/b", False),
    ],
)
def test_components_are_local(tmp_path: Path, path: str, *, local: bool) -> None:
    assert is_local(path) == local
    if not local:
        with pytest.raises(BuildFailed, match=r"component path '.*' must be local and relative"):
            generated(tmp_path, Overlay(components=(path,)))


@pytest.mark.scenario("22.11 Generator")
@pytest.mark.parametrize(
    ("existing", "given", "expected"),
    [
        ([], Image(name="a", new_tag="2"), [{"name": "a", "newTag": "2", "digest": ""}]),
        ([{"name": "a", "newTag": "1"}], Image(name="a", new_name="b"), [{"name": "a", "newTag": "1", "newName": "b"}]),
        ([{"name": "a", "newTag": "1"}], Image(name="a"), [{"name": "a", "newTag": "1"}]),
        (
            [{"name": "a", "newName": "b", "newTag": "1"}],
            Image(name="a", digest="d"),
            [{"name": "a", "newName": "b", "newTag": "", "digest": "d"}],
        ),
        (
            [{"name": "a", "digest": "d"}],
            Image(name="a", new_tag="2"),
            [{"name": "a", "newTag": "2", "digest": ""}],
        ),
        ([{"name": "a"}], Image(name="b"), [{"name": "a"}, {"name": "b"}]),
    ],
    ids=[
        "unknown",
        "new name keeps the tag",
        "only a name",
        "a digest clears the tag",
        "and the other way",
        "appended",
    ],
)
def test_images_are_merged(existing: list[Object], given: Image, expected: list[Object]) -> None:
    assert merge_images(existing, (given,)) == expected


@pytest.mark.scenario("22.4 BuildMetadata/1")
def test_build_metadata_replaces_that_of_the_file(tmp_path: Path) -> None:
    tree(tmp_path, {"kustomization.yaml": "resources: []\nbuildMetadata: [transformerAnnotations]"})
    assert generated(tmp_path)["buildMetadata"] == ["originAnnotations"]
    overlay = Overlay(build_metadata=("transformerAnnotations",))
    assert generated(tmp_path, overlay)["buildMetadata"] == ["transformerAnnotations"]
