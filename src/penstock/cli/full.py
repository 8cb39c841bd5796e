"""Verbs as Typer runs them: with help, with complaints, and with verbs of their own."""

from __future__ import annotations

import inspect
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.exceptions import TyperException

from penstock.cli.flags import Argument, Option
from penstock.cli.verbs import hoist
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
SETTINGS = {"help_option_names": ["-h", "--help"]}


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
        root.command(name, help=f"{summary}\n\n{cleandoc(target.__doc__ or '')}")(for_typer(target))
    command = typer.main.get_command(root)
    try:
        code = command.main([name, *arguments], prog_name="penstock", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:
        raise BrokenPipeError from None  # the one case in which Typer ends the process by itself
    except TyperException as wrong:
        sentence = wrong.format_message().rstrip(".").replace("Value error, ", "")
        raise UsageError(f"{sentence}; see 'penstock {name} --help'") from wrong
    if code == INTERRUPTED:
        raise KeyboardInterrupt  # Typer turns it into this code and says nothing
    return code if isinstance(code, int) else 0


def for_typer(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, its parameters annotated as Typer wants it."""
    hints = {name: _translated(hint) for name, hint in get_type_hints(verb, include_extras=True).items()}

    @wraps(verb)
    def run(*arguments: Any, **given: Any) -> Any:
        return verb(*arguments, **given)

    signature = inspect.signature(verb)
    parameters = [one.replace(annotation=hints[name]) for name, one in signature.parameters.items()]
    run.__annotations__ = hints
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # inspect looks for it
    return run


def _translated(hint: Any) -> Any:
    if get_origin(hint) is not Annotated:
        return hint
    type_, info = get_args(hint)
    match info:
        case Option():
            return Annotated[type_, typer.Option(*info.names, envvar=info.envvar or None, **info.more)]
        case Argument():
            return Annotated[type_, typer.Argument(**info.more)]
        case _:
            return hint


def _root() -> None:
    """A GitOps engine that speaks Flux's API."""
