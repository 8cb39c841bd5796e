"""Trees that nobody would write: a render ends in objects or in one of our sentences, and in nothing else."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from penstock.errors import StageError
from penstock.render import KeyMaterial, Overlay, Recipe, prepare, render

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["kustomization.yaml", "a.yaml", "b.yml", "sub/kustomization.yaml", "sub/c.yaml", "secret.env", "deep/x/d.yaml"]
PIECES = [
    *("apiVersion: v1\n", "kind: ConfigMap\n", "kind: Secret\n", "metadata:\n  name: a\n", "data:\n  k: ${x}\n"),
    *("resources:\n- a.yaml\n", "resources:\n- sub\n", "secretGenerator:\n- name: g\n  envs: [secret.env]\n", "---\n"),
    *("sops:\n  mac: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]\n", "patches:\n- path: b.yml\n", "items: [1]\n"),
    *("metadata:\n  name: 1\n  labels: {a: 1}\n", "stringData: {a: null}\n", "&a [*a]\n", "? {}\n", "\t", "\x00", "{"),
    *(
        "images: [{name: a}]\n",
        "namePrefix: 1\n",
        "spec: []\n",
        "metadata: []\n",
        "kind: {}\n",
        "<<: 1\n",
        "kind: List\n",
    ),
    *(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: c\n",
    ),
]
KEYS = KeyMaterial(provider="sops", secret="ns/keys", data={"x.agekey": b"nonsense"})


def outcome(root: Path, recipe: Recipe) -> str | list[str]:
    """The sentence, or the names of the objects."""
    try:
        prepared = prepare(render(root, recipe).objects, name="a", namespace="b")
    except StageError as error:
        return str(error)
    return [obj["metadata"]["name"] for obj in prepared]


@pytest.mark.scenario("22.1 Fuzz")
def test_random_trees(tmp_path: Path) -> None:
    source = random.Random(1)
    outcomes: list[str | list[str]] = []
    for number in range(400):
        root = tmp_path / str(number)
        root.mkdir()
        for name in source.sample(NAMES, source.randint(0, 3)):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("".join(source.choices(PIECES, k=source.randint(0, 4))))
        keys = source.choice([None, KeyMaterial(provider="sops"), KEYS])
        recipe = Recipe(overlay=Overlay(target_namespace=source.choice(["", "x"])), keys=keys, variables={"x": "z"})
        outcomes.append(outcome(root, recipe))
    sentences = [one for one in outcomes if isinstance(one, str)]
    assert all(sentences)
    assert [one for one in sentences if str(tmp_path) in one] == []
    assert 50 < len(sentences) < 390
