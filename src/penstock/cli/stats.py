"""`penstock stats`: how many objects there are of each kind, how they are, and what is stored for them."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from penstock.cli import state
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
from penstock.cli.catalogue import ENTRIES, Entry
from penstock.cli.output import Output, tabbed, to_json, to_yaml

if TYPE_CHECKING:
    from penstock.kube import Client, Object

ORDER = (
    "GitRepository",
    "OCIRepository",
    "HelmRepository",
    "HelmChart",
    "Bucket",
    "Kustomization",
    "HelmRelease",
    "Alert",
    "Provider",
    "Receiver",
)
"""The rows, as Flux has them; its kinds for images are not known here."""

TITLES = ("RECONCILERS", "RUNNING", "FAILING", "SUSPENDED", "STORAGE")
UNITS = "KMGTPE"


@dataclass(frozen=True, slots=True)
class Count:
    """The objects of one kind."""

    kind: str
    running: int
    failing: int
    suspended: int
    storage: int
    """Bytes of their artifacts."""


def stats(
    everywhere: EverywhereOption = False,
    namespace: NamespaceOption = HOME,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """What is suspended does not count as running. -o json has the storage in bytes."""
    counted = ask(
        lambda client: collect(client, None if everywhere else namespace),
        kubeconfig=kubeconfig,
        context=context,
        timeout=duration(timeout).seconds,
    )
    match output:
        case Output.JSON:
            sys.stdout.write(to_json([asdict(one) for one in counted]))
        case Output.YAML:
            sys.stdout.write(to_yaml([asdict(one) for one in counted]))
        case Output.NAME:
            sys.stdout.write("".join(f"{one.kind}\n" for one in counted))
        case Output.WIDE | None:
            sys.stdout.write(tabbed(TITLES, [_row(one) for one in counted]))
    return 0


async def collect(client: Client, namespace: str | None) -> list[Count]:
    entries = {entry.kind.kind: entry for entry in ENTRIES}
    return await asyncio.gather(*(_counted(client, entries[kind], namespace) for kind in ORDER))


async def _counted(client: Client, entry: Entry, namespace: str | None) -> Count:
    from penstock.cli.finding import NotInstalled, listed

    try:
        objects = await listed(client, entry, namespace)
    except NotInstalled:
        objects = []
    suspended = sum(1 for obj in objects if state.is_suspended(obj))
    return Count(
        kind=entry.kind.kind,
        running=len(objects) - suspended,
        failing=sum(1 for obj in objects if state.text(state.condition(obj, "Ready"), "status") == "False"),
        suspended=suspended,
        storage=sum(map(_stored, objects)),
    )


def _stored(obj: Object) -> int:
    found = state.at(obj, "status", "artifact", "size")
    return found if isinstance(found, int) else 0


def _row(one: Count) -> list[str]:
    return [one.kind, str(one.running), str(one.failing), str(one.suspended), size(one.storage)]


def size(count: int) -> str:
    """Bytes as `512 B` or `1.5 KiB`; a dash for none."""
    if not count:
        return "-"
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, len(UNITS))
    return f"{count / 1024**power:.1f} {UNITS[power - 1]}iB"
