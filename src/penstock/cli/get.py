"""`penstock get`: objects and their state, as tables, names or data."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from penstock.cli.access import (
    HOME,
    ContextOption,
    EverywhereOption,
    KindArgument,
    KubeconfigOption,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    ask,
    colour,
    duration,
)
from penstock.cli.catalogue import choose
from penstock.cli.flags import Option
from penstock.cli.output import Output
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.cli.catalogue import Chosen, Entry
    from penstock.cli.showing import Show
    from penstock.kube import Client, Object


class NothingFound(PenstockError):
    """No object matches."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind are meant."""

    namespace: str | None
    """None: all of them."""
    name: str | None = None
    labels: str = ""


def get(
    words: KindArgument,
    namespace: NamespaceOption = HOME,
    everywhere: EverywhereOption = False,
    watch: Annotated[bool, Option("-w", "--watch", help="Show changes until Ctrl-C.")] = False,
    no_header: Annotated[bool, Option("--no-header", help="Leave the titles of the columns out.")] = False,
    labels: Annotated[str, Option("-l", "--label-selector", help="Only objects with such labels.")] = "",
    status_selector: Annotated[str, Option(help="Only such as ready=false or ready!=true.")] = "",
    show_source: Annotated[bool, Option("--show-source", help="Show what appliers take from where.")] = False,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """KIND is kustomizations (ks), sources git|oci|bucket|external|helm|chart|all, helmreleases (hr), receivers,
    alerts, alert-providers, or all; singular and plural are the same, and NAME shows one object.

    -o wide adds why and until when an object is suspended, and the revision that it is pinned to.
    """
    from penstock.cli.showing import Selector, Show

    chosen = choose(words, "get")
    if watch:
        _check_watch(chosen, output)
    show = Show(
        everywhere=everywhere,
        kinds=chosen.several,
        sources=show_source,
        header=not no_header,
        output=output,
        colour=colour(),
        selector=Selector.parse(status_selector),
    )
    if len(chosen.names) > 1:
        raise UsageError("penstock get shows all objects or one: give one name, or none")
    _check_labels(labels)
    selection = Selection(None if everywhere else namespace, chosen.names[0] if chosen.names else None, labels)
    if watch:
        ask(lambda client: follow(client, chosen.entry, selection, show), kubeconfig=kubeconfig, context=context)
        return 0
    found = ask(
        lambda client: collect(client, chosen, selection),
        kubeconfig=kubeconfig,
        context=context,
        timeout=duration(timeout).seconds,
    )
    sys.stdout.write(show.everything(found))
    return 0


def _check_labels(text: str) -> None:
    """The API server would say the same, but not which option it speaks of."""
    from penstock.labels import BadSelector, parse_selector

    try:
        parse_selector(text)
    except BadSelector as error:
        raise UsageError(f"-l: '{text}' is not a label selector: {error}") from error


def _check_watch(chosen: Chosen, output: Output | None) -> None:
    if chosen.several:
        raise UsageError("expected a single resource type, but found all: -w follows one kind")
    if output not in {None, Output.WIDE}:
        raise UsageError(f"-w shows a table; leave -o {output} out")


async def collect(client: Client, chosen: Chosen, selection: Selection) -> list[tuple[Entry, list[Object]]]:
    """The objects of every chosen kind; none at all is an error, unless all kinds were asked for."""
    if not chosen.several:
        objects = await _objects(client, chosen.entry, selection)
        if not objects:
            raise _nothing(chosen.entry, selection)
        return [(chosen.entry, objects)]
    every = await asyncio.gather(
        *(_known(client, entry, selection) for entry in chosen.entries), return_exceptions=True
    )
    found: list[tuple[Entry, list[Object]]] = []
    for entry, answer in zip(chosen.entries, every, strict=True):
        if isinstance(answer, BaseException):
            raise answer  # of several, the same one every time
        found.append((entry, answer))
    return found


async def _known(client: Client, entry: Entry, selection: Selection) -> list[Object]:
    """The objects of a kind; none when the cluster does not know it."""
    from penstock.cli.finding import NotInstalled

    try:
        return await _objects(client, entry, selection)
    except NotInstalled:
        return []


async def _objects(client: Client, entry: Entry, selection: Selection) -> list[Object]:
    from penstock.cli.finding import listed

    return await listed(client, entry, selection.namespace, name=selection.name, labels=selection.labels)


def _nothing(entry: Entry, selection: Selection) -> PenstockError:
    from penstock.cli.finding import missing, place

    if selection.name:
        return missing(entry, selection.name, selection.namespace)
    return NothingFound(f"no {entry.kind.kind} objects found in {place(selection.namespace)} namespace")


async def follow(client: Client, entry: Entry, selection: Selection, show: Show) -> None:
    """Show the objects, and then each one whose row changes, until cancelled."""
    from penstock.cli.waiting import following
    from penstock.kube import Change, WatchCache

    table = show.opened(entry, await _objects(client, entry, selection))
    sys.stdout.write(table.text)
    sys.stdout.flush()
    cache: WatchCache[Object] = WatchCache(
        client,
        entry.resource,
        namespace=selection.namespace,
        labels=selection.labels or None,
        fields=f"metadata.name={selection.name}" if selection.name else None,
    )

    async def tell(change: Change[Object]) -> None:
        obj = change.new or change.old
        if obj is not None:
            sys.stdout.write(table.changed(obj, gone=change.new is None))
            sys.stdout.flush()

    cache.subscribe(tell)
    async with following(cache) as changed:
        while True:
            changed.clear()
            await changed.wait()
