from __future__ import annotations

from pathlib import Path

from penstock.cli import reference
from penstock.cli.verbs import VERBS

COMMITTED = Path(__file__).parents[2] / reference.PAGE


def test_the_committed_reference_is_current() -> None:
    """If this fails: python -m penstock.cli.reference"""
    assert COMMITTED.read_text(encoding="utf-8") == reference.page()


def test_every_verb_and_its_options_are_there() -> None:
    page = reference.page()
    assert all(f"## penstock {verb}\n" in page for verb in VERBS)
    assert "--output" in page
