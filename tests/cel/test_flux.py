"""Random expressions, compared with cel-go in the environment that Flux makes for it."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from penstock import cel
from penstock.cel import times
from penstock.cel.values import Duration, Optional, Timestamp, TypeValue, UInt, type_name
from tests.cel.expressions import DECLARED, VARIABLES, expression, soup
from tests.peers import Answer, flux_says

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

# Errors whose first words are enough: what follows shows a value or a type as Go writes it.
LOOSE = (
    "no such overload",
    "cannot initialize optional",
    "error parsing regexp",
    "illegal base64",
    "no such attribute",
)
# What cel-go does by accident: it also takes a field of `has(...)` for `has(...)` itself, and a type for a variable.
ACCIDENTS = ("panic: ", "internal error", "invalid qualifier type", "_var", "no such attribute(s): int")
ODD = "(has("


def ask(expressions: list[tuple[str, bool]]) -> list[Answer]:
    questions = [
        {"expression": text, "declared": DECLARED if declared else None, "variables": VARIABLES}
        for text, declared in expressions
    ]
    return flux_says("cel", questions)


def plain(value: Any) -> Any:
    """A value as the other side writes it in JSON; None for what JSON has no word for."""
    match value:
        case bool() | str() | None | float():
            return value
        case UInt() | int():
            return int(value) if abs(value) <= 2**53 else str(int(value))
        case bytes():
            return base64.b64encode(value).decode()
        case Timestamp():
            return times.show_timestamp(value)
        case Duration():
            return times.show_duration(value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case _:
            return None


def is_plain(value: Any) -> bool:
    """Whether the other side can write it in JSON: no types, no optional values, only texts as keys."""
    if isinstance(value, (TypeValue, Optional)):
        return False
    if isinstance(value, list):
        return all(map(is_plain, value))
    return not isinstance(value, dict) or all(isinstance(key, str) and is_plain(item) for key, item in value.items())


def differs(text: str, theirs: Answer, *, declared: bool) -> str | None:
    """How our answer differs; None when it does not."""
    stage, _, words = theirs.error.partition(": ")
    try:
        value = cel.compile(text, variables=DECLARED if declared else None).evaluate(VARIABLES)
    except cel.CelSyntaxError as error:
        return None if stage in ("compile", "program") else f"we refuse it: {error}"
    except cel.CelRuntimeError as error:
        if stage == "compile" or not theirs.error:
            return f"we fail: {error}"
        ours = str(error).removeprefix(f"failed to evaluate the CEL expression '{text}': ")
        loose = any(words.startswith(one) and ours.startswith(one) for one in LOOSE)
        return None if ours == words or loose or stage == "program" else f"we say: {ours}"
    if theirs.error:
        return f"we find {value!r}"
    if type_name(value) != theirs.value["type"]:
        return f"we find a {type_name(value)}"
    same = not is_plain(value) or plain(value) == theirs.value.get("result")
    return None if same else f"we find {value!r}"


@pytest.mark.parametrize("declared", [False, True], ids=["parsed", "checked"])
def test_random_expressions(*, declared: bool) -> None:
    source = random.Random(11)
    texts = [expression(source, source.choice([1, 2, 2, 3])) for _ in range(20_000)]
    told = ask([(text, declared) for text in texts])
    differing = [
        (text, theirs, ours)
        for text, theirs in zip(texts, told, strict=True)
        if not any(one in theirs.error for one in ACCIDENTS) and ODD not in text
        if (ours := differs(text, theirs, declared=declared)) is not None
    ]
    assert differing[:5] == []
    assert sum(not answer.error for answer in told) > 1_500


def test_random_soups_are_refused_alike() -> None:
    source = random.Random(5)
    texts = [soup(source) for _ in range(20_000)]
    differing: list[tuple[str, str]] = []
    for text, theirs in zip(texts, ask([(text, False) for text in texts]), strict=True):
        try:
            cel.compile(text)
            refused = False
        except cel.CelSyntaxError:
            refused = True
        # Functions that nobody declared are known to fail a little earlier there.
        if refused != theirs.error.startswith("compile") and not theirs.error.startswith(("program", "panic")):
            differing.append((text, theirs.error))
    assert differing[:5] == []
