"""Side by side with the Go library: the same answer for every pair of a random range and a random version."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from penstock.semver import Constraint, InvalidConstraint, InvalidVersion, Version
from tests.controlplane.build import NoGo
from tests.peers import built

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

SEED = int(os.environ.get("PENSTOCK_SEED", "20260801"))
PAIRS = 100_000


def peer() -> Path:
    """The real library in a small program, built first where needed; NoGo when there is no Go."""
    return built("semver-peer", Path(__file__).parent / "peer")


def test_every_answer_is_the_same() -> None:
    try:
        program = peer()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    source = random.Random(SEED)
    pairs = [(constraint(source), version(source)) for _ in range(PAIRS)]
    asked = "".join(f"{one}\t{other}\n" for one, other in pairs)
    answers = subprocess.run([program], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = [answer(*pair) for pair in pairs]
    different = [(pair, own, real) for pair, own, real in zip(pairs, ours, answers, strict=True) if own != real]
    assert different[:10] == [], f"{len(different)} of {PAIRS} differ, seed {SEED}"
    assert sum(real.startswith("true") for real in answers) > PAIRS // 20, "hardly any version was in its range"


def answer(asked: str, text: str) -> str:
    try:
        constraint = Constraint.parse(asked)
    except InvalidConstraint:
        return "no constraint"
    try:
        version = Version.parse(text)
    except InvalidVersion:
        return "no version"
    return f"{str(constraint.allows(version)).lower()} {version} {'strict' if is_strict(text) else 'loose'}"


def is_strict(text: str) -> bool:
    try:
        Version.strict(text)
    except InvalidVersion:
        return False
    return True


def version(source: random.Random) -> str:
    parts = ".".join(str(number(source)) for _ in range(source.choices((1, 2, 3, 4), (1, 1, 12, 0.2))[0]))
    text = source.choice(("", "", "", "v")) + parts + prerelease(source) + metadata(source)
    return source.choice((text, text, text, text, text, text, text[:-1], text + source.choice("-+. x0")))


def constraint(source: random.Random) -> str:
    alternatives = [alternative(source) for _ in range(source.choices((1, 2, 3), (6, 2, 1))[0])]
    return source.choice(("||", " || ", "|| ")).join(alternatives)


def alternative(source: random.Random) -> str:
    bounds = [bound(source) for _ in range(source.choices((1, 2, 3), (5, 3, 1))[0])]
    text = source.choice((" ", ",", ", ", "  ", " - ", "")).join(bounds)
    return source.choice((text, text, text, f" {text} ", text + source.choice("|x.*~ ")))


def bound(source: random.Random) -> str:
    operator = source.choice(("", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^"))
    segments = [source.choice(("x", "X", "*")) if source.random() < 0.1 else str(number(source)) for _ in range(3)]
    parts = ".".join(segments[: source.choices((1, 2, 3), (1, 2, 5))[0]])
    space = source.choice(("", "", " "))
    return f"{operator}{space}{source.choice(('', '', 'v'))}{parts}{prerelease(source)}{metadata(source)}"


def number(source: random.Random) -> int:
    return source.choice((0, 0, 1, 1, 2, 3, 10)) if source.random() < 0.99 else 2**64 - source.randrange(2)


def prerelease(source: random.Random) -> str:
    if source.random() < 0.6:
        return ""
    words = ("0", "1", "2", "10", "01", "alpha", "beta", "rc1", "rc", "-", "x", "18446744073709551616")
    return "-" + ".".join(source.choice(words) for _ in range(source.choice((1, 1, 2))))


def metadata(source: random.Random) -> str:
    return source.choice(("", "", "", "", "+a", "+a.b-c", "+001"))
