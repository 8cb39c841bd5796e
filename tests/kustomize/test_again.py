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
