from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.embedded import pods
from penstock.embedded.behaviour import ANNOTATIONS, Behaviour, read

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "pod-simulator.md"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, Behaviour(), id="nothing asked"),
        pytest.param({"delay": "2s"}, Behaviour(delay=2), id="delay"),
        pytest.param({"delay": "1m1.5s"}, Behaviour(delay=61.5), id="delay of several units"),
        pytest.param({"delay": "250ms"}, Behaviour(delay=0.25), id="delay below a second"),
        pytest.param({"fail": "true"}, Behaviour(fail=True), id="fail"),
        pytest.param({"fail": "false"}, Behaviour(), id="a flag that says no"),
        pytest.param({"never-ready": "true"}, Behaviour(never_ready=True), id="never ready"),
        pytest.param({"image-pull-error": "true"}, Behaviour(image_pull_error=True), id="image pull error"),
    ],
)
def test_asked(annotations: dict[str, str], expected: Behaviour) -> None:
    others = {"delay": "of somebody else", "example.com/fail": "true"}
    told = {f"sim.penstock.dev/{key}": value for key, value in annotations.items()} | others
    assert read(told) == (expected, [])


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        pytest.param("delay", "soon", "sim.penstock.dev/delay.*soon.*is not a duration", id="no duration"),
        pytest.param("delay", "-2s", "sim.penstock.dev/delay.*-2s", id="negative"),
        pytest.param("delay", "", "sim.penstock.dev/delay", id="empty"),
        pytest.param("fail", "yes", "sim.penstock.dev/fail must be 'true' or 'false', not 'yes'", id="no boolean"),
        pytest.param("never-ready", "True", "must be 'true' or 'false', not 'True'", id="capital letter"),
        pytest.param("slow", "true", "sim.penstock.dev/slow is not known", id="misspelt"),
    ],
)
def test_senseless(key: str, value: str, problem: str) -> None:
    behaviour, problems = read({f"sim.penstock.dev/{key}": value})
    assert behaviour == Behaviour()
    assert len(problems) == 1
    assert re.search(problem, problems[0])


@pytest.mark.parametrize("annotation", sorted(ANNOTATIONS))
def test_every_annotation_is_explained(annotation: str) -> None:
    assert f"`{annotation}`" in GUIDE.read_text()
    assert annotation in (pods.__doc__ or "")
