"""Trees with something broken in them: they build, or end in a sentence; never in a traceback."""

from random import Random

import pytest

from penstock.kustomize import BuildError, build_result
from tests.kustomize.random_trees import tree

HOSTILE = (
    "null", "[]", "{}", "[null]", "- ", ": ", "\t", "&a ", "*a", "!!int ", "|", "'", '"', "#", "\n---\n", "..", "1",
    "true",
    "$patch: delete", "[1, [2, {x: null}]]", "{a: {b: {c: [1]}}}", "\n", "kind: List\nitems: [null]\n", "name: {a: b}",
    "metadata: x", "spec: 1", "containers: {a: b}", "labels: [a]", "annotations: 1", "data: [x]", "env: x", "ports: {}",
    "\x00", "\ufeff", "é", "patches: [{}]", "target: {}", "resources: [[]]", "- op: add", "path: /a/b/-/c", "$(X)", "?",
    "fieldPaths: ['*.*.[a=b]']",
)  # fmt: skip
TREES = 60
WAYS = 4


def broken(seed: int, way: int) -> dict[str, bytes]:
    """The tree of a seed with a few texts cut out or pushed in."""
    random = Random(seed * 1000 + way)
    files = tree(seed)
    for _ in range(random.randint(1, 3)):
        name = random.choice(sorted(files))
        text = files[name]
        at = random.randrange(len(text) + 1)
        cut = at + random.choice((0, 0, 1, 5, 40))
        files[name] = text[:at] + random.choice(HOSTILE) + text[cut:]
    return {name: text.encode() for name, text in files.items()}


@pytest.mark.parametrize("way", range(WAYS))
def test_broken_trees_build_or_are_refused(way: int) -> None:
    refused = 0
    for seed in range(TREES):
        try:
            build_result("top", files=broken(seed, way), cache=None).as_yaml()
        except BuildError:
            refused += 1
        except Exception as error:  # noqa: BLE001  -- the point of the test
            pytest.fail(f"seed {seed}, way {way}: {type(error).__name__}: {error}")
    assert 0 < refused < TREES
