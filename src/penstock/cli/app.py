"""Runs a verb that is written with Typer. Only the module of that verb is imported."""

from __future__ import annotations

import importlib
from inspect import cleandoc
from typing import Any

import typer
from typer.exceptions import TyperException

from penstock.cli.verbs import find, hoist
from penstock.errors import UsageError

INTERRUPTED = 130
SETTINGS = {"help_option_names": ["-h", "--help"]}


def run(name: str, arguments: list[str]) -> int:
    """Run the verb; what it returns is the exit code, and wrong use is 2."""
    verb = find(name)
    return execute(name, getattr(importlib.import_module(verb.module), verb.attribute), verb.summary, arguments)


def execute(name: str, target: Any, summary: str, arguments: list[str]) -> int:
    """Run a Typer app or a function as the verb of that name."""
    root = typer.Typer(
        add_completion=False, context_settings=SETTINGS, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    root.callback()(_root)  # without it, an app with one command has no verb of that name
    if isinstance(target, typer.Typer):
        root.add_typer(target, name=name, help=summary)
        arguments = hoist(arguments)  # options of all verbs may stand before the verb of the group, too
    else:
        root.command(name, help=f"{summary}\n\n{cleandoc(target.__doc__ or '')}")(target)
    command = typer.main.get_command(root)
    try:
        code = command.main([name, *arguments], prog_name="penstock", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:
        raise BrokenPipeError from None  # the one case in which Typer ends the process by itself
    except TyperException as wrong:
        sentence = wrong.format_message().rstrip(".")
        raise UsageError(f"{sentence}; see 'penstock {name} --help'") from wrong
    if code == INTERRUPTED:
        raise KeyboardInterrupt  # Typer turns it into this code and says nothing
    return code if isinstance(code, int) else 0


def _root() -> None:
    """A GitOps engine that speaks Flux's API."""
