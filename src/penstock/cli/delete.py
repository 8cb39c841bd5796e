"""`penstock delete`: delete an object, having said what goes with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from penstock.cli import progress, state
from penstock.cli.access import (
    HOME,
    ContextOption,
    KindArgument,
    KubeconfigOption,
    NamespaceOption,
    TimeoutOption,
    ask,
    duration,
)
from penstock.cli.catalogue import one_name, only
from penstock.cli.flags import Option
from penstock.cli.output import printable
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.cli.catalogue import Entry
    from penstock.kube import Client, Object


class Aborted(PenstockError):
    """A person said no."""


def delete(
    words: KindArgument,
    silent: Annotated[bool, Option("-s", "--silent", help="Do not ask.")] = False,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock delete kustomization apps

    With a Kustomization that prunes go the objects that it has applied. It asks before, and says how many these are.
    """
    chosen = only(words, "delete")
    name = one_name(chosen, "delete")
    if not silent and not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: say --silent to delete without a question")

    async def look(client: Client) -> Object:
        from penstock.cli.finding import read

        return await read(client, chosen.entry, name, namespace)

    async def act(client: Client) -> None:
        progress.action(f"deleting {chosen.entry.human} {name} in {namespace} namespace")
        # The object that was shown, and not a namesake that came while somebody thought about it.
        await client.delete(chosen.entry.resource, name, namespace, uid=state.text(obj, "metadata", "uid"))
        progress.success(f"{chosen.entry.human} deleted")

    within = duration(timeout).seconds
    obj = ask(look, kubeconfig=kubeconfig, context=context, timeout=within)
    told = consequence(obj)
    if not silent:
        _confirm(chosen.entry, told)
    elif told:
        progress.action(told)
    ask(act, kubeconfig=kubeconfig, context=context, timeout=within)
    return 0


def consequence(obj: Object) -> str:
    """What else the deletion means; empty when nothing goes with the object."""
    count = len(state.inventory(obj))
    if not count:
        return ""
    objects = "1 object" if count == 1 else f"{count} objects"
    policy = state.text(obj, "spec", "deletionPolicy") or "MirrorPrune"
    prunes = policy in {"Delete", "WaitForTermination"} or (policy == "MirrorPrune" and _prunes(obj))
    if state.is_suspended(obj) or not prunes:
        why = "it is suspended" if prunes else "it does not prune"
        return f"{objects} that it has applied will stay, since {why}"
    return f"{objects} that it has applied will be deleted with it"


def _prunes(obj: Object) -> bool:
    return state.at(obj, "spec", "prune") is True


def _confirm(entry: Entry, told: str) -> None:
    question = f"Are you sure you want to delete this {entry.human}"
    print(f"{question}{f' ({printable(told)})' if told else ''}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Aborted("aborting: nothing was deleted")
