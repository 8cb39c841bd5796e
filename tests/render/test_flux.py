"""Random expressions and objects, compared with the libraries of Flux."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.render import ExpressionError, substitute
from penstock.render.normalise import normalise
from tests.peers import Answer, flux_says
from tests.render import objects

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
