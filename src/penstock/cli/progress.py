"""Words about what a verb does, to stderr, with the signs that Flux's users know; coloured on terminals only."""

from __future__ import annotations

import os
import sys

from penstock.cli.output import printable

GREEN, RED, YELLOW = 32, 31, 33


def action(words: str) -> None:
    _tell("►", words)


def success(words: str) -> None:
    _tell("✔", words, GREEN)


def failure(words: str) -> None:
    _tell("✗", words, RED)


def waiting(words: str) -> None:
    _tell("◎", words, YELLOW)


def painted(text: str, colour: int) -> str:
    """The text in a colour of the terminal."""
    return f"\x1b[{colour}m{text}\x1b[0m"


def _tell(sign: str, words: str, colour: int | None = None) -> None:
    plain = colour is None or not sys.stderr.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    print(sign if plain or colour is None else painted(sign, colour), printable(words), file=sys.stderr, flush=True)
