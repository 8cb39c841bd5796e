"""Runs a verb. Only the module of that verb is imported, and Typer only where it is needed."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.cli.flags import read
from penstock.cli.verbs import find


def run(name: str, arguments: list[str]) -> int:
    """Run the verb; what it returns is the exit code, and wrong use is 2."""
    verb = find(name)
    return execute(name, getattr(importlib.import_module(verb.module), verb.attribute), verb.summary, arguments)


def execute(name: str, target: Any, summary: str, arguments: list[str]) -> int:
    """Run a Typer app or a function as the verb of that name."""
    given = read(target, arguments)
    if given is None:
        from penstock.cli.full import execute as execute_fully

        return execute_fully(name, target, summary, arguments)
    code = target(**given)
    return code if isinstance(code, int) else 0
