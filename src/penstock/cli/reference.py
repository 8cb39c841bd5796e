"""`python -m penstock.cli.reference` writes the reference of the command: the help of every verb, as it prints it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli import main
from penstock.cli.verbs import VERBS, find, overview

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

PAGE = Path("docs/reference/cli.md")
WIDTH = "100"
"""Columns of the terminal that the help texts are written for."""

_EXIT_CODES = """\
| exit code | meaning |
| --- | --- |
| 0 | fine |
| 1 | found something (a difference, an object that is not ready), or failed |
| 2 | wrong use, or a cluster that cannot be reached |
| 124 | out of time |
| 130 | interrupted |"""


def page() -> str:
    """The whole page."""
    parts = ["# The command", _block(overview()), _EXIT_CODES]
    for name in VERBS:
        for command in _commands(name):
            parts += [f"## penstock {' '.join(command)}", _block(_help(command))]
    return "\n\n".join(parts) + "\n"


def _commands(name: str) -> Iterator[list[str]]:
    """The verb, and each of its own verbs if it is a group."""
    yield [name]
    verb = find(name)
    if verb.fast and not verb.more:
        return
    from importlib import import_module

    target: Any = getattr(import_module(verb.more or verb.module), "app" if verb.more else verb.attribute)
    for command in getattr(target, "registered_commands", ()):
        if command.hidden:
            continue
        yield [name, command.name or command.callback.__name__.replace("_", "-")]


def _help(command: list[str]) -> str:
    shown = io.StringIO()
    with _terminal(), contextlib.redirect_stdout(shown):
        main([*command, "--help"])
    return shown.getvalue()


@contextlib.contextmanager
def _terminal() -> Generator[None]:
    """A terminal of a known width, so that the page is the same wherever it is written."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _block(text: str) -> str:
    return "```text\n" + "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n```"


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE).write_text(page(), encoding="utf-8")
