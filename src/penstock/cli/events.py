"""`penstock events`: what was told about the objects of our kinds, oldest first."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from penstock.cli import progress, state
from penstock.cli.access import (
    HOME,
    ContextOption,
    EverywhereOption,
    KubeconfigOption,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    ask,
    duration,
)
from penstock.cli.ages import ago
from penstock.cli.catalogue import Entry, by_kind, by_word
from penstock.cli.flags import Option
from penstock.cli.output import Output, printable, tabbed, to_json, to_yaml
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.kube import Client, Object

TITLES = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
TYPES = ("Normal", "Warning")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look for events, and about what."""

    namespace: str | None
    kind: str = ""
    name: str = ""

    @property
    def fields(self) -> str | None:
        parts = {"involvedObject.kind": self.kind, "involvedObject.name": self.name}
        return ",".join(f"{key}={value}" for key, value in parts.items() if value) or None


def events(
    about: Annotated[str, Option("--for", metavar="KIND[/NAME]", help="Only those about it and its source.")] = "",
    types: Annotated[str, Option(help="Normal, Warning or both.")] = "",
    watch: Annotated[bool, Option("-w", "--watch", help="Show new ones until Ctrl-C.")] = False,
    namespace: NamespaceOption = HOME,
    everywhere: EverywhereOption = False,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock events --for Kustomization/apps --types Warning"""
    wanted = _types(types)
    entry, name = _about(about)
    if watch and output not in {None, Output.WIDE}:
        raise UsageError(f"-w shows a table; leave -o {output} out")

    async def work(client: Client) -> int:
        places = await _places(client, entry, name, None if everywhere else namespace, namespace)
        spread = len({place.namespace for place in places} | {None if everywhere else namespace}) > 1
        log = Log(wanted, namespaces=everywhere or spread)
        if watch:
            await log.follow(client, places)
        found = await log.read(client, places)
        if not found:
            progress.failure("No events found." if everywhere else f"No events found in {namespace} namespace.")
        if found or output in {Output.JSON, Output.YAML}:
            sys.stdout.write(log.shown(found, output))
        return 0

    within = None if watch else duration(timeout).seconds
    return ask(work, kubeconfig=kubeconfig, context=context, timeout=within)


def _types(text: str) -> frozenset[str]:
    chosen = [one.strip() for one in text.split(",") if one.strip()]
    known = {one.lower(): one for one in TYPES}
    for one in chosen:
        if one.lower() not in known:
            raise UsageError(f"--types: type '{one}' not supported; there are {' and '.join(TYPES)}")
    return frozenset(known[one.lower()] for one in chosen)


def _about(text: str) -> tuple[Entry | None, str]:
    if not text:
        return None, ""
    kind, _, name = text.partition("/")
    if not kind:
        raise UsageError("--for: the object is written as KIND or KIND/NAME, such as Kustomization/apps")
    entry = by_word(kind)
    if entry is None:
        raise UsageError(f"--for: '{kind}' is not a recognized Flux kind")
    return entry, name


async def _places(client: Client, entry: Entry | None, name: str, namespace: str | None, home: str) -> list[Place]:
    """The places of an object: its own, and that of the source it is made from, as long as the object is there."""
    if entry is None:
        return [Place(namespace)]
    places = [Place(namespace, entry.kind.kind, name)]
    if not name or not entry.refers:
        return places
    from penstock.cli.finding import Missing, read

    try:
        origin = entry.origin(await read(client, entry, name, home))
    except Missing:
        if not await Log(frozenset(), namespaces=False).read(client, places):
            raise
        return places
    if origin is not None:
        places.append(Place(origin.namespace, origin.kind, origin.name))
        if entry.kind.kind == "HelmRelease":
            places.append(Place(origin.namespace, "HelmChart", f"{home}-{name}"))
    return places


class Log:
    """Events of our kinds, in the order of time."""

    def __init__(self, types: frozenset[str], *, namespaces: bool) -> None:
        self._types, self._namespaces = types, namespaces

    async def read(self, client: Client, places: list[Place]) -> list[Object]:
        from penstock.kube.resources import EVENTS

        found: list[Object] = []
        for place in places:
            found += (await client.list(EVENTS, place.namespace, fields=place.fields)).items
        return sorted(filter(self._wanted, found), key=_moment)

    async def follow(self, client: Client, places: list[Place]) -> None:
        """Show what there is, and then what comes, until cancelled."""
        from penstock.cli.waiting import following
        from penstock.kube import Change, WatchCache
        from penstock.kube.resources import EVENTS

        begun = await self.read(client, places)
        rows = [self._row(event) for event in begun]
        widths = [max(map(len, column)) for column in zip(self._titles(), *rows, strict=True)]
        seen = {(state.text(event, "metadata", "uid"), state.version(event)) for event in begun}
        sys.stdout.write(tabbed(self._titles(), rows))
        sys.stdout.flush()

        async def tell(change: Change[Object]) -> None:
            event = change.new
            if event is None or not self._wanted(event):
                return
            key = state.text(event, "metadata", "uid"), state.version(event)
            if key not in seen:
                seen.add(key)
                sys.stdout.write(tabbed(None, [self._row(event)], widths=widths))
                sys.stdout.flush()

        caches = [WatchCache[Any](client, EVENTS, namespace=place.namespace, fields=place.fields) for place in places]
        for cache in caches:
            cache.subscribe(tell)
        async with following(*caches) as changed:
            while True:
                changed.clear()
                await changed.wait()

    def shown(self, found: list[Object], output: Output | None) -> str:
        match output:
            case Output.JSON:
                return to_json([_data(event) for event in found])
            case Output.YAML:
                return to_yaml([_data(event) for event in found])
            case Output.NAME:
                return "".join(f"event/{printable(state.name(event))}\n" for event in found)
            case Output.WIDE | None:
                return tabbed(self._titles(), [self._row(event) for event in found])

    def _titles(self) -> list[str]:
        return ["NAMESPACE", *TITLES] if self._namespaces else list(TITLES)

    def _row(self, event: Object) -> list[str]:
        row = [_last_seen(event), state.text(event, "type"), state.text(event, "reason"), _object(event)]
        return [*([state.namespace(event)] if self._namespaces else []), *row, state.text(event, "message")]

    def _wanted(self, event: Object) -> bool:
        ours = by_kind(state.text(event, "involvedObject", "kind")) is not None
        return ours and (not self._types or state.text(event, "type") in self._types)


def _object(event: Object) -> str:
    return f"{state.text(event, 'involvedObject', 'kind')}/{state.text(event, 'involvedObject', 'name')}"


def _moment(event: Object) -> str:
    """When it was last told; times of the API are sorted as texts of one length."""
    told = state.text(event, "series", "lastObservedTime") or state.text(event, "lastTimestamp")
    return (told or state.text(event, "eventTime")).replace("Z", "")


def _last_seen(event: Object) -> str:
    first = ago(state.text(event, "eventTime") or state.text(event, "firstTimestamp"))
    count = state.at(event, "series", "count") or state.at(event, "count") or 1
    if count == 1 and state.at(event, "series") is None:
        return first
    last = state.text(event, "series", "lastObservedTime") or state.text(event, "lastTimestamp")
    return f"{ago(last)} (x{count} over {first})"


def _data(event: Object) -> dict[str, Any]:
    return {
        "namespace": state.namespace(event),
        "object": _object(event),
        "type": state.text(event, "type"),
        "reason": state.text(event, "reason"),
        "message": state.text(event, "message"),
        "count": state.at(event, "series", "count") or state.at(event, "count") or 1,
        "lastSeen": state.text(event, "series", "lastObservedTime")
        or state.text(event, "lastTimestamp")
        or state.text(event, "eventTime"),
    }
