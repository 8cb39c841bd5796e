"""`penstock logs`: what the controllers in a cluster log, as one line an event."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import orjson

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
from penstock.cli.flags import Option
from penstock.cli.output import Output, printable
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from penstock.kube import Client, Object

CONTAINER = "manager"
"""The container of a controller, in a pod that has several."""

LEVELS = ("debug", "info", "error")


class NoPods(PenstockError):
    """No controllers run as pods in the cluster."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which lines are wanted."""

    namespace: str | None
    level: str = ""
    kind: str = ""
    name: str = ""

    def takes(self, line: dict[str, Any]) -> bool:
        kinds = {_word(line, "reconciler kind").lower(), _word(line, "controllerKind").lower()}
        return (
            self.level in {"", _word(line, "level")}
            and (not self.kind or self.kind.lower() in kinds)
            and self.name.lower() in {"", _word(line, "name").lower()}
            and (self.namespace is None or self.namespace.lower() == _word(line, "namespace").lower())
        )


def logs(
    level: Annotated[str, Option(help="Only debug, info or error.")] = "",
    kind: Annotated[str, Option(help="Only about objects of this kind.")] = "",
    name: Annotated[str, Option(help="Only about the object of this name.")] = "",
    namespace: NamespaceOption = HOME,
    everywhere: EverywhereOption = False,
    follow: Annotated[bool, Option("-f", "--follow", help="Show new lines until Ctrl-C.")] = False,
    tail: Annotated[int, Option(min=-1, help="Only the last lines of each pod; -1: all.")] = -1,
    since: Annotated[str, Option(help="Only lines that are younger, such as 5m.")] = "",
    since_time: Annotated[str, Option(help="Only lines after a time such as 2030-01-31T12:00:00Z.")] = "",
    flux_namespace: Annotated[str, Option(help="The namespace in which the controllers run.")] = HOME,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """The lines of all pods of the controllers, about objects of one namespace, or of all with -A.

    Controllers that run outside of the cluster write their log where they run.
    """
    if level and level not in LEVELS:
        raise UsageError(f"--level: {level!r} is not one of {', '.join(LEVELS)}")
    query = _query(follow=follow, tail=tail, since=since, since_time=since_time)
    wish = Wish(None if everywhere else namespace, level, kind, name)

    async def work(client: Client) -> int:
        found = await pods(client, flux_namespace)
        reading = [_show(client, pod, query, wish, output) for pod in found]
        if follow:
            failed = await asyncio.gather(*reading)
        else:
            failed = [await one for one in reading]  # one pod after the other, so that lines do not mix
        if any(failed):
            raise PenstockError("failed to collect logs from all controller pods")
        return 0

    within = None if follow else duration(timeout).seconds
    return ask(work, kubeconfig=kubeconfig, context=context, timeout=within)


def _query(*, follow: bool, tail: int, since: str, since_time: str) -> dict[str, str]:
    if since and since_time:
        raise UsageError("at most one of --since and --since-time may be given")
    query: dict[str, str] = {}
    if follow:
        query["follow"] = "true"
    if tail >= 0:
        query["tailLines"] = str(tail)
    if since:
        query["sinceSeconds"] = str(max(round(duration(since, "--since").seconds), 1))
    if since_time:
        try:
            moment = datetime.fromisoformat(since_time)
        except ValueError as error:
            raise UsageError(f"--since-time: {since_time} is not a valid (RFC3339) time") from error
        query["sinceTime"] = moment.astimezone().isoformat()
    return query


async def pods(client: Client, namespace: str) -> list[Object]:
    """The pods of all controllers: of each Deployment all replicas, since they may share the work."""
    from penstock.cli.finding import PART_OF
    from penstock.kube.resources import DEPLOYMENTS, PODS

    found: list[Object] = []
    for deployment in (await client.list(DEPLOYMENTS, namespace, labels=PART_OF)).items:
        labels = state.at(deployment, "spec", "selector", "matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found += (await client.list(PODS, namespace, labels=selector)).items if selector else []
    if not found:
        raise NoPods(
            f'no Flux pods found in namespace "{namespace}"; '
            "controllers that run elsewhere, as with penstock up, write their log there"
        )
    return found


async def _show(client: Client, pod: Object, query: dict[str, str], wish: Wish, output: Output | None) -> bool:
    """Print the lines of one pod that are wanted; True when they could not be read."""
    try:
        async for line in _lines(client, pod, query):
            if (told := _parsed(line)) is not None and wish.takes(told):
                sys.stdout.write(f"{orjson.dumps(told).decode()}\n" if output is Output.JSON else shown(told))
                sys.stdout.flush()
    except PenstockError as error:
        progress.failure(f"failed getting logs of {state.name(pod)}: {error}")
        return True
    return False


async def _lines(client: Client, pod: Object, query: dict[str, str]) -> AsyncIterator[bytes]:
    from penstock.kube import Request
    from penstock.kube.resources import PODS

    containers = state.at(pod, "spec", "containers") or []
    chosen = {**query, "container": CONTAINER} if len(containers) > 1 else query
    path = PODS.path(state.name(pod), state.namespace(pod), "log")
    request = Request("GET", path, query=chosen, accept="application/json, */*")
    rest = b""
    async with client.stream(request, quiet=None) as reader:
        async for chunk in reader.iter_any():
            *complete, rest = (rest + chunk).split(b"\n")
            for line in complete:
                yield line
    yield rest


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The JSON of a line; None for anything else, which controllers print only when they crash."""
    with suppress(orjson.JSONDecodeError):
        told = orjson.loads(line) if line.startswith(b"{") else None
        return told if isinstance(told, dict) else None
    return None


def shown(line: dict[str, Any]) -> str:
    """One line as people read it: time, level, object, message, error."""
    kind = _word(line, "reconciler kind") or _word(line, "controllerKind")
    name = _word(line, "name")
    about = f"{kind}/{name}.{_word(line, 'namespace')}" if name else kind
    words = f"{_word(line, 'ts')} {_word(line, 'level')} {about} - {_word(line, 'msg')} {_word(line, 'error')}"
    return f"{printable(words)}\n"


def _word(line: dict[str, Any], key: str) -> str:
    found = line.get(key)
    return found if isinstance(found, str) else ""
