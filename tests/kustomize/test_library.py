"""The library by itself: trees in memory, origins, warnings and errors."""

from pathlib import Path
from typing import Any

import pytest

from penstock.kustomize import BuildError, KustomizationError, LoadError, Options, build, build_result

CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\ndata:\n  a: b\n"


def files(**texts: str) -> dict[str, bytes]:
    return {name.replace("__", "/").replace("_", "."): text.encode() for name, text in texts.items()}


def test_a_tree_in_memory_is_built() -> None:
    tree = {"base/kustomization.yaml": b"resources: [c.yaml]", "base/c.yaml": CONFIG_MAP}
    tree["top/kustomization.yaml"] = b"resources: [../base]\nnamePrefix: p-\n"
    assert build("top", files=tree) == [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p-conf"}, "data": {"a": "b"}}
    ]


def test_every_object_knows_its_file_and_generator() -> None:
    tree = {
        "base/kustomization.yaml": b"resources: [sub/c.yaml]",
        "base/sub/c.yaml": CONFIG_MAP,
        "top/kustomization.yaml": b"resources: [../base]\nsecretGenerator: [{name: s, literals: [a=b]}]\n",
    }
    result = build_result("top", files=tree, options=Options(reorder="none"))
    first, second = (item.origin for item in result.items)
    assert first is not None
    assert first.path == "../base/sub/c.yaml"
    assert second is not None
    assert (second.configured_in, second.kind) == ("kustomization.yaml", "SecretGenerator")


def test_older_fields_are_warned_about() -> None:
    tree = {"base/kustomization.yaml": b"resources: [c.yaml]", "base/c.yaml": CONFIG_MAP}
    tree["top/kustomization.yaml"] = b"bases: [../base]\ncommonLabels: {a: b}\n"
    warnings = build_result("top", files=tree).warnings
    assert [warning.split("'")[1] for warning in warnings] == ["bases", "commonLabels"]


def test_numbers_that_remember_their_text_come_out_plain() -> None:
    text = (
        "apiVersion: v1\nkind: Thing\nmetadata: {name: t}\nspec: {a: 0777, b: 1.0, c: True, d: 1.50, e: 2001-01-01}\n"
    )
    tree = {"kustomization.yaml": b"resources: [t.yaml]", "t.yaml": text.encode()}
    spec = build("/", files=tree)[0]["spec"]
    assert {key: (type(value), value) for key, value in spec.items()} == {
        "a": (int, 511),
        "b": (int, 1),
        "c": (bool, True),
        "d": (float, 1.5),
        "e": (str, "2001-01-01T00:00:00Z"),
    }


@pytest.mark.parametrize(
    ("kustomization", "sentence"),
    [
        pytest.param("resources: [no.yaml]", "kustomization.yaml names 'no.yaml'", id="missing file"),
        pytest.param("resources: c.yaml", "kustomization.yaml: 'resources' should be a list", id="list"),
        pytest.param("images: [{name: a, newTag: 1}]", "'images[0].newTag' should be a string, not 1", id="string"),
        pytest.param("replicas: [{name: a, count: x}]", "'replicas[0].count' should be a whole number", id="number"),
        pytest.param("patches: [{target: {names: a}}]", "unknown field 'patches[0].target.names'", id="unknown field"),
        pytest.param("kind: Deployment\nnamePrefix: a", "kind should be Kustomization or Component", id="kind"),
        pytest.param("apiVersion: v1\nnamePrefix: a", "apiVersion for Kustomization should be", id="api version"),
        pytest.param("resources: [c.yaml]\nopenapi: {version: v9}", "version 'v9' is not built in", id="openapi"),
        pytest.param("helmCharts: [{name: a}]", "comes with Penstock's Helm support", id="helm"),
        pytest.param("resources: [bad.yaml]", "bad.yaml: `kind` is missing", id="no kind"),
        pytest.param("resources: [broken.yaml]", "broken.yaml: line 1", id="not YAML"),
        pytest.param("resources: [c.yaml]\nreplicas: [{name: x, count: 1}]", "no Deployment", id="replicas"),
        pytest.param("a: [", "kustomization.yaml: line 2", id="kustomization is not YAML"),
        pytest.param("configMapGenerator: [{name: a, literals: [x]}]", "written as key=value", id="literal"),
    ],
)
def test_errors_name_file_and_field(kustomization: str, sentence: str) -> None:
    tree = files(kustomization_yaml=kustomization, bad_yaml="metadata: {name: a}", broken_yaml="a: b: c")
    tree["c.yaml"] = CONFIG_MAP
    with pytest.raises(BuildError) as caught:
        build("/", files=tree)
    assert sentence in str(caught.value)


def test_a_secret_literal_never_shows_in_an_error() -> None:
    tree = files(kustomization_yaml="secretGenerator: [{name: a, literals: ['=hunter2']}]")
    with pytest.raises(BuildError) as caught:
        build("/", files=tree)
    assert "hunter2" not in str(caught.value)


def test_a_build_starts_at_a_directory(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="starts at a directory"):
        build(tmp_path / "missing")


def test_two_kustomization_files_are_refused() -> None:
    tree = files(kustomization_yaml="namePrefix: a", kustomization_yml="namePrefix: a")
    with pytest.raises(LoadError, match="several kustomization files"):
        build("/", files=tree)


def test_the_schema_of_a_build_does_not_outlive_it() -> None:
    thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {rows: [{id: a, x: 1}]}\n"
    patch = (
        "patches: [{patch: '{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {rows: [{id: b}]}}'}]"
    )
    rows: dict[str, Any] = {
        "type": "array",
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "id",
        "items": {"type": "object"},
    }
    kind = [{"group": "example.com", "version": "v1", "kind": "Thing"}]
    properties = {"spec": {"type": "object", "properties": {"rows": rows}}}
    document = {"definitions": {"Thing": {"x-kubernetes-group-version-kind": kind, "properties": properties}}}
    import json

    tree = files(t_yaml=thing, s_json=json.dumps(document))
    with_schema = {**tree, "kustomization.yaml": f"resources: [t.yaml]\nopenapi: {{path: s.json}}\n{patch}".encode()}
    without = {**tree, "kustomization.yaml": f"resources: [t.yaml]\n{patch}".encode()}
    assert len(build("/", files=with_schema)[0]["spec"]["rows"]) == 2
    assert len(build("/", files=without)[0]["spec"]["rows"]) == 1


PATCH = "'- {{op: add, path: /data/b, value: c}}'"
SELECTED = f"resources: [c.yaml]\npatches: [{{{{patch: {PATCH}, target: {{{{{{field}}: '{{text}}'}}}}}}}}]\n"


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        pytest.param("app=web", True, id="equal"),
        pytest.param("app in (api, web), !old", True, id="a set, and what is absent"),
        pytest.param("rank>6", True, id="a number"),
        pytest.param("app!=web", False, id="unequal"),
        pytest.param("old", False, id="what must be there"),
    ],
)
@pytest.mark.parametrize("field", ["labelSelector", "annotationSelector"])
def test_patches_are_for_what_a_selector_chooses(field: str, text: str, chosen: bool) -> None:
    words = "{app: web, rank: '7'}"
    tree = files(
        kustomization_yaml=SELECTED.format(field=field, text=text),
        c_yaml="apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n"
        f"metadata: {{name: c, labels: {words}, annotations: {words}}}\n",
    )
    assert ("b" in build("/", files=tree)[0]["data"]) is chosen


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("=x", "'=x' is not a label selector", id="nothing before the sign"),
        pytest.param("a=b,", "'a=b,' is not a label selector", id="nothing after a comma"),
        pytest.param("a=b/c", "'a=b/c' is not a label selector", id="a value that no label has"),
        pytest.param("a>x", "a label selector compares with numbers, not with 'x'", id="more than a word"),
    ],
)
def test_a_selector_that_makes_no_sense_is_refused(text: str, told: str) -> None:
    tree = {"kustomization.yaml": SELECTED.format(field="labelSelector", text=text).encode(), "c.yaml": CONFIG_MAP}
    with pytest.raises(KustomizationError) as caught:
        build("/", files=tree)
    assert str(caught.value).startswith(told)
