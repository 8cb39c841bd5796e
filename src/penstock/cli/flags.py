"""What a verb takes from the command line, read without Typer.

A verb is a function whose parameters are annotated with `Option` and `Argument`. Typer and what it brings take longer
to import than a cluster takes to answer, so what is spelled plainly is read here; help, complaints and rare spellings
are Typer's (`penstock.cli.full`).
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FunctionType, NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_WORDS = frozenset(("help", "hidden", "metavar", "show_default"))
"""What Typer is told for its help only."""


class Option:
    """An option of a verb; without names, it is called as its parameter is. The words of Typer, which gets them."""

    def __init__(self, *names: str, envvar: str = "", **more: Any) -> None:
        self.names = names
        self.envvar = envvar
        self.more = more
        """What Typer has to know besides, such as `help`."""


class Argument:
    """What stands on the command line by its place."""

    def __init__(self, **more: Any) -> None:
        self.more = more


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a verb, its type without `list` and `None`."""

    name: str
    info: Option | Argument
    type: type
    several: bool
    default: Any

    @property
    def is_flag(self) -> bool:
        return self.type is bool


class Odd(Exception):
    """Something that Typer has to look at."""


def read(verb: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """What the words mean to a verb, parameter by parameter; None where Typer has to look at them."""
    if not isinstance(verb, FunctionType):
        return None
    try:
        parameters = list(_parameters(verb))
        return _Reading(parameters, words).result()
    except Odd:
        return None


def options(verb: Callable[..., Any]) -> dict[str, Parameter] | None:
    """The options of a verb by their names; None where only Typer knows them."""
    if not isinstance(verb, FunctionType):
        return None
    try:
        found = list(_parameters(verb))
    except Odd:
        return None
    return {name: one for one in found for names in _names(one) for name in names.split("/")}


def _parameters(verb: Callable[..., Any]) -> Iterator[Parameter]:
    hints = get_type_hints(verb, include_extras=True)
    for name, parameter in inspect.signature(verb).parameters.items():
        hint, *infos = get_args(hints[name]) or (str,)
        if len(infos) != 1 or not isinstance(infos[0], (Option, Argument)):
            raise Odd
        inner = next(one for one in get_args(hint) if one is not NoneType) if NoneType in get_args(hint) else hint
        several = get_origin(inner) is list
        yield Parameter(name, infos[0], get_args(inner)[0] if several else inner, several, parameter.default)


class _Reading:
    def __init__(self, parameters: list[Parameter], words: Sequence[str]) -> None:
        self._parameters = parameters
        self._words = iter(words)
        self._given: dict[str, Any] = {}
        self._places: list[str] = []
        self._values = {name: one for one in parameters if not one.is_flag for name in _names(one)}
        self._flags = {name: (one, is_on) for one in parameters if one.is_flag for name, is_on in _switches(one)}

    def result(self) -> dict[str, Any]:
        for word in self._words:
            if word in self._flags:
                parameter, is_on = self._flags[word]
                self._given[parameter.name] = is_on
            elif word[:1] == "-" and word != "-":
                self._option(word)
            else:
                self._places.append(word)
        self._place()
        return {one.name: self._given.get(one.name, one.default) for one in self._parameters}

    def _option(self, word: str) -> None:
        name, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = self._values.get(name)
        if parameter is None:
            raise Odd
        self._take(parameter, value if joined else self._following())

    def _following(self) -> str:
        value = next(self._words, "-")
        if value[:1] == "-":
            raise Odd  # missing, or it looks like an option
        return value

    def _take(self, parameter: Parameter, text: str) -> None:
        value = _converted(parameter, text)
        if parameter.several:
            self._given.setdefault(parameter.name, []).append(value)
        else:
            self._given[parameter.name] = value

    def _place(self) -> None:
        """Hand out what stands by its place, and what the environment says."""
        for parameter in self._parameters:
            if isinstance(parameter.info, Argument):
                count = len(self._places) if parameter.several else min(len(self._places), 1)
                for text in self._places[:count]:
                    self._take(parameter, text)
                del self._places[:count]
            elif parameter.name not in self._given and (found := os.environ.get(parameter.info.envvar or " ")):
                self._take(parameter, found)
            if parameter.name not in self._given and parameter.default is inspect.Parameter.empty:
                raise Odd
        if self._places:
            raise Odd


def _names(parameter: Parameter) -> tuple[str, ...]:
    if isinstance(parameter.info, Argument):
        return ()
    plain = parameter.name.replace("_", "-")
    return parameter.info.names or ((f"--{plain}/--no-{plain}",) if parameter.is_flag else (f"--{plain}",))


def _switches(parameter: Parameter) -> Iterator[tuple[str, bool]]:
    """The names of a flag, and what they set it to: `--wait/--no-wait` are two."""
    for name in _names(parameter):
        on, _, off = name.partition("/")
        yield on, True
        if off:
            yield off, False


def _converted(parameter: Parameter, text: str) -> Any:
    if parameter.info.more.keys() - _WORDS:
        raise Odd  # there are limits to what it may be
    if parameter.type is str:
        return text
    if parameter.type is Path:
        return Path(text)
    if issubclass(parameter.type, Enum) and text in {one.value for one in parameter.type}:
        return parameter.type(text)
    raise Odd
