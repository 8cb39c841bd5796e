"""`penstock completion`: scripts for shells, and the words that these ask for.

The scripts know nothing: they hand the words of the line to `penstock completion words` and offer what it prints. Names
of objects come from the cluster, if that answers at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from penstock.cli import flags
from penstock.cli.flags import Argument
from penstock.cli.verbs import VERBS
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.cli.catalogue import Entry
    from penstock.kube import Client

AT_ONCE = 2.0
"""Seconds that a person waits for names."""

KINDS = frozenset({"get", "tree", "reconcile", "suspend", "resume", "pin", "unpin", "delete", "export"})
"""The verbs whose first words are a kind."""

SHELLS = {
    "bash": """\
_penstock() {
    local IFS=$'\\n'
    COMPREPLY=($(penstock completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _penstock penstock
""",
    "zsh": """\
#compdef penstock
_penstock() {
    local -a found
    found=("${(@f)$(penstock completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _penstock penstock
""",
    "fish": """\
function __penstock_words
    set -l line (commandline -opc) (commandline -ct)
    penstock completion words -- $line[2..-1] 2>/dev/null
end
complete -c penstock -f -a '(__penstock_words)'
""",
}


def completion(
    shell: Annotated[list[str], Argument(metavar="bash|zsh|fish", show_default=False)],
) -> int:
    """For bash: source <(penstock completion bash). For zsh the same; for fish: penstock completion fish | source"""
    name, *line = shell
    if name == "words":
        sys.stdout.write("".join(f"{word}\n" for word in offers(line or [""])))
        return 0
    if name not in SHELLS:
        raise UsageError(f"there is no script for {name!r}; there are {', '.join(SHELLS)}")
    sys.stdout.write(SHELLS[name])
    return 0


def offers(line: Sequence[str]) -> list[str]:
    """What the last word of a line may become; the line begins behind the word penstock."""
    *before, begun = line
    return sorted({word for word in _candidates(before, begun) if word.startswith(begun)})


def _candidates(before: Sequence[str], begun: str) -> Iterable[str]:
    if not before:
        return VERBS
    verb, *rest = before
    if verb not in VERBS or VERBS[verb].fast:
        return ()
    target = getattr(import_module(VERBS[verb].module), VERBS[verb].attribute)
    options = flags.options(target)
    command = None
    if options is None:
        command = _command(verb, target)
        options = _options(command)
    if rest and rest[-1] in options and not options[rest[-1]].is_flag:
        return _values(options[rest[-1]], rest)
    if begun.startswith("-"):
        return options
    if verb == "completion":
        return () if rest else SHELLS
    if verb in KINDS:
        return _kinds_or_names(verb, _positional(rest, options), rest)
    return getattr(command, "commands", ())


def _command(verb: str, target: Any) -> Any:
    """The command as Typer made it, of which the names of the options are read."""
    import typer

    from penstock.cli.full import for_typer

    if isinstance(target, typer.Typer):
        return typer.main.get_command(target)
    app = typer.Typer(add_completion=False)
    app.command(verb)(for_typer(target))
    return typer.main.get_command(app)


def _options(command: Any) -> dict[str, Any]:
    found = [one for one in command.params if one.param_type_name == "option"]
    return {name: one for one in found for name in (*one.opts, *one.secondary_opts)}


def _positional(rest: Sequence[str], options: dict[str, Any]) -> list[str]:
    """The words that are no options and no values of options."""
    found: list[str] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in options and not options[word].is_flag
        else:
            found.append(word)
    return found


def _values(option: Any, rest: Sequence[str]) -> Iterable[str]:
    match option.name:
        case "namespace" | "flux_namespace":
            return _from_cluster(rest, _namespaces)
        case "output":
            return ("json", "yaml", "name", "wide")
        case "context":
            return _contexts(rest)
        case _:
            return ()


def _kinds_or_names(verb: str, words: Sequence[str], rest: Sequence[str]) -> Iterable[str]:
    from penstock.cli.catalogue import ALL, ENTRIES, SOURCES, choose

    if not words:
        everything = (ALL, "sources") if verb == "get" else ("source",)
        return (*everything, *(entry.words[0 if verb == "get" else 1] for entry in ENTRIES if not entry.source))
    if list(words)[-1] in SOURCES and len(words) == 1:
        return (*(entry.words[0] for entry in ENTRIES if entry.source), *((ALL,) if verb == "get" else ()))
    try:
        chosen = choose(words, verb)
    except UsageError:
        return ()
    namespace = _given(rest, "-n", "--namespace")
    return set(_from_cluster(rest, _names(chosen.entries, namespace))) - set(words)


def _names(entries: Sequence[Entry], namespace: str) -> Any:
    async def work(client: Client) -> list[str]:
        import os

        from penstock.cli import state
        from penstock.cli.access import HOME
        from penstock.cli.finding import listed

        where = namespace or os.environ.get("FLUX_SYSTEM_NAMESPACE") or HOME
        return [state.name(obj) for entry in entries for obj in await listed(client, entry, where)]

    return work


async def _namespaces(client: Client) -> list[str]:
    from penstock.kube.resources import NAMESPACES

    return [obj["metadata"]["name"] for obj in (await client.list(NAMESPACES, metadata_only=True)).items]


def _from_cluster(rest: Sequence[str], work: Any) -> list[str]:
    """What the cluster knows; nothing when it does not answer at once, whatever the reason."""
    from penstock.cli.access import ask
    from penstock.errors import PenstockError

    kubeconfig = _given(rest, "--kubeconfig")
    context = _given(rest, "--context")
    try:
        found: list[str] = ask(
            work, kubeconfig=Path(kubeconfig) if kubeconfig else None, context=context or None, timeout=AT_ONCE
        )
    except (PenstockError, TimeoutError):
        return []
    return found


def _contexts(rest: Sequence[str]) -> list[str]:
    import os

    from penstock.errors import PenstockError
    from penstock.yaml import config

    given = _given(rest, "--kubeconfig") or os.environ.get("KUBECONFIG", "") or str(Path.home() / ".kube" / "config")
    found: list[str] = []
    for path in filter(None, given.split(os.pathsep)):
        try:
            contexts = (config(Path(path).read_text(encoding="utf-8")) or {}).get("contexts") or ()
        except (OSError, PenstockError, UnicodeDecodeError):
            continue
        found += [one["name"] for one in contexts if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return found


def _given(rest: Sequence[str], *names: str) -> str:
    """The value of an option on the line; empty when it is not there."""
    for word, value in zip(rest, [*rest[1:], ""], strict=True):
        if word in names:
            return value
        name, equals, told = word.partition("=")
        if equals and name in names:
            return told
    return ""
