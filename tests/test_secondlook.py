"""What failed among others may pass alone, in plain sight; what fails alone too has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import secondlook

if TYPE_CHECKING:
    from pathlib import Path

WAVERS = """
from pathlib import Path

def test_wavers():
    seen = Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before
"""
FINE = "def test_fine(): pass\n"
FAILS = "def test_fails(): assert False\n"
MANY = "import pytest\n" + WAVERS.replace(
    "def test_wavers():", '@pytest.mark.parametrize("n", range(4))\ndef test_wavers(n):'
).replace('"seen"', 'f"seen{n}"')
BROKEN = "import nothing_of_this_name\n"


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        pytest.param(FINE, 0, 0, id="nothing failed"),
        pytest.param(WAVERS + FINE, 0, 1, id="one passes alone"),
        pytest.param(WAVERS + FAILS, 1, 0, id="one fails alone too"),
        pytest.param(MANY, 1, 0, id="more than a few failed"),
        pytest.param(BROKEN, 2, 0, id="the tests cannot be read"),
    ],
)
def test_run(text: str, status: int, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the plugins of this project take their time
    (tmp_path / "test_it.py").write_text(text)
    sentences: list[str] = []
    arguments = [str(tmp_path), "-q", f"--rootdir={tmp_path}", "-c", "/dev/null"]
    assert secondlook.run(["--maxfail=9"], arguments, tell=sentences.append) == status
    assert len(sentences) == told
    assert all("test_wavers" in sentence and "test_fine" not in sentence for sentence in sentences)


def test_framed() -> None:
    assert secondlook.framed("abc") == "+-----+\n| abc |\n+-----+"


def test_what_stands_before_the_dashes_is_for_the_first_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_it.py").write_text(WAVERS + FAILS)
    arguments = [str(tmp_path), "-q", f"--rootdir={tmp_path}", "-c", "/dev/null"]
    assert secondlook.main(["--deselect=test_it.py::test_fails", "--", *arguments]) == 0
