"""Random expressions and objects, compared with the libraries of Flux."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.convert import decode
from penstock.api.kustomization import Kustomization
from penstock.errors import StageError
from penstock.render import ExpressionError, Recipe, merge_variables, render, substitute
from penstock.render.normalise import normalise
from penstock.yaml import dump_all
from tests.kustomize import differential, random_trees
from tests.peers import Answer, flux_says
from tests.render import objects

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

VARIABLES = {"a": "hello/world", "b": "", "c": "2", "d": "-1", "e": "a.b*c?[x]", "f": "aaa bbb aaa", "_": "$a"}
PIECES = [
    *("${", "}", "$", "$$", "{", ":", "=", ":=", ":-", ":+", ":?", "-", "+", "?", "#", "##", "%", "%%", "/", "//"),
    *("/#", "/%", "^", "^^", ",", ",,", "\\", "\\/", "\\\\", "*", "[a-z]", "[^a]", "[", "]", ".", " ", "a", "b", "c"),
    *("d", "e", "f", "_", "x", "1", "2", "l", "o", "hello", "world", "${a}", "${x:=", "${f//", "${a#", "${e%", "\n"),
]
WHOLE = ["${%s}", "${%s:=d${a}}", "${%s#*%s}", "${%s##*%s}", "${%s%%%s*}", "${%s//%s/%s}", "${%s/%s/%s}", "${%s:%s:%s}"]


def ours(text: str, *, strict: bool) -> Answer:
    try:
        return Answer(substitute(text, VARIABLES, strict=strict), "")
    except ExpressionError as error:
        return Answer(None, str(error))


def texts() -> list[str]:
    source = random.Random(7)
    made = ["".join(source.choices(PIECES, k=source.randint(1, 12))) for _ in range(30_000)]
    for _ in range(10_000):
        form = source.choice(WHOLE)
        words = tuple(source.choice(["a", "b", "c", "e", "f", "l", "aa", "2", "0", "9", ".", "[ab]"]) for _ in range(9))
        made.append(form % words[: form.replace("%%", "").count("%s")])
    return made


@pytest.mark.parametrize("strict", [False, True])
def test_expressions(*, strict: bool) -> None:
    questions = [{"text": text, "variables": VARIABLES, "strict": strict} for text in texts()]
    told = flux_says("envsubst", questions)
    assert len(told) == len(questions)
    differing = [
        (question["text"], mine, theirs)
        for question, theirs in zip(questions, told, strict=True)
        # A negative length ends the run of Flux; ours says what is wrong.
        if (mine := ours(str(question["text"]), strict=strict)) != theirs and not theirs.error.startswith("panic: ")
    ]
    assert differing == []
    assert sum(not answer.error for answer in told) > 10_000


def spec(source: random.Random) -> dict[str, Any]:
    """What a Kustomization might lay over a tree."""
    patch = "apiVersion: v1\nkind: Any\nmetadata: {name: any, annotations: {p: q}}"
    value = source.choice(["", "two", "yes", "!!str 7", "2001-01-01", "0x1F", "1e3", ".inf", "12:30:45", "~", "[a, b]"])
    variables = {"a": source.choice(["1", value]), "b": value, "n": "12", "x": "blue"}
    choices: dict[str, Any] = {
        "targetNamespace": source.choice(["team", "${x}"]),
        "namePrefix": "pre-",
        "nameSuffix": "-post",
        "images": [{"name": source.choice(["nginx", "redis"]), "newTag": "9"}, {"name": "busybox", "digest": "x:1"}],
        "patches": [{"patch": patch, "target": {"kind": "ConfigMap|Service"}}],
        "buildMetadata": ["originAnnotations"],
        "postBuild": {"substitute": variables},
    }
    return {name: value for name, value in choices.items() if source.random() < 0.5}


def seeded(seed: int) -> tuple[dict[str, str], dict[str, Any]]:
    """A random tree with expressions in it, and a spec for it."""
    source = random.Random(seed)
    files = random_trees.tree(seed)
    # In Flux, integers of more than 53 bits lose digits by substitution.
    texts = {"12345678901234567890": "7", "plain text": "${a} and ${b:-c}", "10.0.0.1": "${b}", "64Mi": "${n}Mi"}
    for name, text in files.items():
        for old, new in texts.items():
            text = text.replace(old, new)
        files[name] = text
    if source.random() < 0.3:
        del files["top/kustomization.yaml"]
    return files, spec(source)


def rendered(root: Path, asked: dict[str, Any]) -> str | None:
    """The objects as text; None when they cannot be made."""
    full = {"interval": "1m", "prune": True, "sourceRef": {"kind": "Bucket", "name": "b"}, "path": "top", **asked}
    kind = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}
    typed = decode({**kind, "metadata": {"name": "a", "namespace": "b"}, "spec": full}, Kustomization).spec
    own = typed.post_build.substitute if typed.post_build else {}
    recipe = Recipe.of(typed, variables=merge_variables([], own), remote_bases=False)
    try:
        return dump_all(render(root, recipe).objects)
    except StageError:
        return None


def test_trees(tmp_path: Path) -> None:
    """The same bytes, so the same digest in the history."""
    questions: list[dict[str, Any]] = []
    ours: list[str | None] = []
    for seed in range(300):
        files, asked = seeded(seed)
        for copy in ("ours", "theirs"):
            differential.write(tmp_path / copy / str(seed), files)
            (tmp_path / copy / str(seed) / "top").mkdir(exist_ok=True)
        questions.append({"root": str(tmp_path / "theirs" / str(seed)), "path": "top", "spec": asked})
        ours.append(rendered(tmp_path / "ours" / str(seed), asked))
    told = flux_says("render", questions)
    differing = [
        (seed, mine, theirs)
        for seed, (mine, theirs) in enumerate(zip(ours, told, strict=True))
        if mine != (None if theirs.error else theirs.value) and "panic" not in theirs.error
    ]
    assert [(seed, theirs.error) for seed, _, theirs in differing] == []
    assert sum(not answer.error for answer in told) > 100


def test_normal_forms() -> None:
    questions: list[dict[str, Any]] = list(objects.random_objects(random.Random(3), 3_000))
    told = flux_says("normalise", questions)
    differing = [
        (question, normalise(question), theirs.value)
        for question, theirs in zip(questions, told, strict=True)
        if not theirs.error and normalise(question) != theirs.value
    ]
    assert differing[:3] == []
    assert sum(not answer.error for answer in told) > 2_900
