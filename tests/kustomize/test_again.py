"""Second builds: what is remembered of the first never shows, whatever changed in between."""

import os

import pytest

from penstock.errors import PenstockError
from penstock.kustomize import Cache, Options, build, build_result
from tests.kustomize.dice import Dice
from tests.kustomize.random_changes import change
from tests.kustomize.random_trees import tree

PARTS = 4
TREES = 25  # a part
CHANGES = 4
FIRST = int(os.environ.get("PENSTOCK_SEED", "0"))
CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\ndata:\n  a: b\n"


def outcome(files: dict[str, str], cache: Cache | None) -> tuple[object, ...]:
    """Everything that a caller sees of a build."""
    try:
        data = {name: text.encode() for name, text in files.items()}
        result = build_result("top", files=data, options=Options(reorder="none"), cache=cache)
    except PenstockError as error:
        return type(error), str(error)
    return result.as_yaml(), result.warnings, [(item.origin, item.touched) for item in result.items]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_build_with_a_memory_is_the_same_as_one_without(part: int) -> None:
    shared = Cache()  # by all trees: they have objects in common
    built = 0
    for seed in range(FIRST + part * TREES, FIRST + (part + 1) * TREES):
        print(f"seed {seed}")  # noqa: T201
        dice = Dice(seed)
        original = tree(seed)
        files = dict(original)
        for _ in range(CHANGES + 1):
            fresh = outcome(files, None)
            assert outcome(files, shared) == fresh
            assert outcome(files, shared) == fresh
            built += isinstance(fresh[0], str)
            print(change(dice, files, original))  # noqa: T201
    assert built > TREES


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front, own: conf}}
spec:
  template:
    spec:
      containers: [{name: main, image: nginx, envFrom: [{configMapRef: {name: conf}}], args: [$(A)]}]
"""
VARIABLE = "vars: [{name: A, objref: {apiVersion: v1, kind: ConfigMap, name: conf}, fieldref: {fieldpath: data.a}}]\n"
REPLACEMENT = """\
replacements:
- source: {kind: ConfigMap, name: conf, fieldPath: data.a}
  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.a], options: {create: true}}]
"""
SELECTED = "patches: [{patch: '- {op: add, path: /spec/added, value: 1}', target: {labelSelector: tier=front}}]\n"
MERGED = "patches: [{path: patch.yaml, target: {kind: Deployment}}]\n"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n"
GENERATED = "configMapGenerator: [{name: made, files: [patch.yaml]}]\n"
CONFIGURED = "configurations: [config.yaml]\nnamePrefix: p-\n"
CONFIG = "nameReference: [{kind: ConfigMap, fieldSpecs: [{path: metadata/labels/tier, kind: Deployment}]}]\n"


@pytest.mark.parametrize(
    ("fields", "file", "old", "new"),
    [
        pytest.param("namePrefix: p-\n", "c.yaml", "name: conf", "name: other", id="a name that others refer to"),
        pytest.param("namePrefix: p-\n", "kustomization.yaml", "p-", "q-", id="a prefix"),
        pytest.param("namespace: a\n", "kustomization.yaml", "namespace: a", "namespace: b", id="a namespace"),
        pytest.param("labels: [{pairs: {a: b}}]\n", "kustomization.yaml", "a: b", "a: c", id="a label"),
        pytest.param("images: [{name: nginx, newTag: a}]\n", "kustomization.yaml", "Tag: a", "Tag: b", id="an image"),
        pytest.param("replicas: [{name: web, count: 1}]\n", "kustomization.yaml", "1", "2", id="replicas"),
        pytest.param(VARIABLE, "c.yaml", "a: b", "a: c", id="the value of a variable"),
        pytest.param(REPLACEMENT, "c.yaml", "a: b", "a: c", id="the source of a replacement"),
        pytest.param(REPLACEMENT, "kustomization.yaml", "annotations.a", "labels.a", id="the target of a replacement"),
        pytest.param(SELECTED, "web.yaml", "tier: front", "tier: back", id="a label that a patch selects by"),
        pytest.param(SELECTED, "kustomization.yaml", "value: 1", "value: true", id="the value of a JSON patch"),
        pytest.param(MERGED, "patch.yaml", "replicas: 1", "replicas: 2", id="a strategic merge patch"),
        pytest.param(GENERATED, "patch.yaml", "replicas: 1", "replicas: 2", id="a file that is generated from"),
        pytest.param(CONFIGURED, "config.yaml", "labels/tier", "labels/own", id="where a name may stand"),
        pytest.param(CONFIGURED, "web.yaml", "tier: front", "tier: conf", id="a name where one may stand"),
        pytest.param("buildMetadata: [originAnnotations]\n", "c.yaml", "a: b", "a: c", id="with build metadata"),
    ],
)
def test_a_change_shows(fields: str, file: str, old: str, new: str) -> None:
    texts = {"web.yaml": WEB, "c.yaml": CONFIG_MAP.decode(), "patch.yaml": PATCH, "config.yaml": CONFIG}
    texts["kustomization.yaml"] = f"resources: [web.yaml, c.yaml]\n{fields}"
    before = {f"top/{name}": text for name, text in texts.items()}
    after = {**before, f"top/{file}": texts[file].replace(old, new)}
    cache = Cache()
    first, second = outcome(before, None), outcome(after, None)
    assert isinstance(first[0], str)
    assert isinstance(second[0], str)
    assert first != second
    for files, expected in ((before, first), (after, second), (before, first)):
        assert outcome(files, cache) == expected


def files_of(count: int) -> dict[str, bytes]:
    names = [f"{number}.yaml" for number in range(count)]
    tree = {name: CONFIG_MAP.replace(b"conf", b"conf-%d" % number) for number, name in enumerate(names)}
    tree["kustomization.yaml"] = f"resources: [{', '.join(names)}]\nnamePrefix: p-\n".encode()
    return tree


def test_every_build_gets_objects_of_its_own() -> None:
    tree, cache = files_of(1), Cache()
    for _ in range(3):
        (found,) = build("/", files=tree, cache=cache)
        assert found["data"] == {"a": "b"}
        found["data"]["a"] = "changed"


def test_what_did_not_change_is_not_done_again() -> None:
    tree, cache = files_of(50), Cache()
    build("/", files=tree, cache=cache)
    everything = len(cache)
    build("/", files=tree, cache=cache)
    assert len(cache) == everything
    tree["7.yaml"] = tree["7.yaml"].replace(b"a: b", b"a: c")
    build("/", files=tree, cache=cache)
    assert 0 < len(cache) - everything <= everything / 40


def test_a_cache_stays_within_its_size() -> None:
    cache = Cache(size=200_000)
    sizes: list[int] = []
    for number in range(20):
        tree = {name: text.replace(b"a: b", b"a: b%d" % number) for name, text in files_of(50).items()}
        assert len(build("/", files=tree, cache=cache)) == 50
        sizes.append(len(cache))
    assert max(sizes) < 2 * sizes[0]


def test_two_caches_do_not_know_each_other() -> None:
    first, second = Cache(), Cache()
    build("/", files=files_of(3), cache=first)
    assert len(first) > 0
    assert len(second) == 0
