"""`penstock suspend` and `penstock resume`: leave objects as they are, with a reason and an end, and take them up."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from penstock.api.annotations import SUSPEND_REASON, SUSPEND_UNTIL
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
from penstock.cli.catalogue import only
from penstock.cli.flags import Option
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.cli.catalogue import Chosen, Entry
    from penstock.kube import Client, Object

AllOption = Annotated[bool, Option("--all", help="All objects of the kind in the namespace.")]


def suspend(
    words: KindArgument,
    everything: AllOption = False,
    reason: Annotated[str, Option(help="Why; shown by get -o wide.")] = "",
    lasting: Annotated[str, Option("--for", help="Take it up again by itself after this time.")] = "",
    until: Annotated[str, Option(help="The same at a time such as 2030-01-31T12:00:00Z.")] = "",
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock suspend kustomization apps --reason 'the database moves' --for 2h

    Several names may follow the kind. Only Kustomizations can end their suspension by themselves. A name that is not
    there is told, and is a failure when none of them is.
    """
    chosen = only(words, "suspend")
    _check(chosen, everything=everything)
    end = _end(chosen.entry, lasting, until)
    found = ask(
        lambda client: _suspend(client, chosen, namespace, _wish(suspend=True, reason=reason, end=end), end),
        kubeconfig=kubeconfig,
        context=context,
        timeout=duration(timeout).seconds,
    )
    return 0 if found else 1


def resume(
    words: KindArgument,
    everything: AllOption = False,
    wait: Annotated[
        bool | None, Option("--wait/--no-wait", help="Wait for the outcome; the default for one name.")
    ] = None,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock resume kustomization apps

    Several names may follow the kind. Exit 1 when one of them fails.
    """
    chosen = only(words, "resume")
    _check(chosen, everything=everything)
    waits = len(chosen.names) == 1 if wait is None else wait
    within = duration(timeout).seconds

    async def work(client: Client) -> int:
        resumed = await _resume(client, chosen, namespace)
        if waits and resumed:
            await _wait(client, chosen.entry, resumed, within)
        return 0 if resumed else 1

    return ask(work, kubeconfig=kubeconfig, context=context)


def _check(chosen: Chosen, *, everything: bool) -> None:
    if not chosen.names and not everything:
        raise UsageError(f"{chosen.entry.human} name is required, or --all")
    if chosen.names and everything:
        raise UsageError("give names or --all, not both")
    if "SUSPENDED" not in dict(chosen.entry.columns):
        raise UsageError(f"a {chosen.entry.human} cannot be suspended")


def _end(entry: Entry, lasting: str, until: str) -> datetime | None:
    if not lasting and not until:
        return None
    if lasting and until:
        raise UsageError("give --for or --until, not both")
    if entry.kind.kind != "Kustomization":
        raise UsageError(f"only a Kustomization takes itself up again; a {entry.human} needs 'penstock resume'")
    if lasting:
        return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=duration(lasting, "--for").seconds)
    try:
        end = datetime.fromisoformat(until)
    except ValueError as error:
        raise UsageError(f"--until: {until!r} is not a time like 2030-01-31T12:00:00Z") from error
    end = end if end.tzinfo else end.astimezone()
    if end <= datetime.now(UTC):
        raise UsageError(f"--until: {until} is over already")
    return end.astimezone(UTC)


def _wish(*, suspend: bool, reason: str = "", end: datetime | None = None) -> Object:
    """The patch; what is not said any more goes, so that an old reason does not explain a new suspension."""
    until = state.moment(end) if end else None
    notes: dict[str, Any] = {SUSPEND_REASON: reason or None, SUSPEND_UNTIL: until}
    return {"metadata": {"annotations": notes}, "spec": {"suspend": True if suspend else None}}


async def _suspend(client: Client, chosen: Chosen, namespace: str, wish: Object, end: datetime | None) -> int:
    entry = chosen.entry
    objects, missing = await _chosen(client, chosen, namespace)
    for obj in objects:
        progress.action(f"suspending {entry.human} {state.name(obj)} in {namespace} namespace")
        await client.patch(entry.resource, state.name(obj), namespace, wish)
        progress.success(f"{entry.human} suspended{f' until {state.moment(end)}' if end else ''}")
    for name in missing:
        progress.failure(f"{entry.kind.kind} {name} not found in {namespace} namespace")
    return len(objects)


async def _resume(client: Client, chosen: Chosen, namespace: str) -> list[Object]:
    entry = chosen.entry
    resumed: list[Object] = []
    objects, missing = await _chosen(client, chosen, namespace)
    for obj in objects:
        progress.action(f"resuming {entry.human} {state.name(obj)} in {namespace} namespace")
        resumed.append(await client.patch(entry.resource, state.name(obj), namespace, _wish(suspend=False)))
        progress.success(f"{entry.human} resumed")
    for name in missing:
        progress.failure(f"{entry.kind.kind} object '{name}' not found in {namespace} namespace")
    return resumed


async def _chosen(client: Client, chosen: Chosen, namespace: str) -> tuple[list[Object], list[str]]:
    """The objects that are meant, each once and in the order given, and the names that are not there."""
    from penstock.cli.finding import listed

    entry = chosen.entry
    found = {state.name(obj): obj for obj in await listed(client, entry, namespace)}
    if not chosen.names and not found:
        raise PenstockError(f"no {entry.kind.kind} objects found in {namespace} namespace")
    names = dict.fromkeys(chosen.names or found)
    return [found[name] for name in names if name in found], [name for name in names if name not in found]


async def _wait(client: Client, entry: Entry, resumed: list[Object], within: float) -> None:
    """Wait for all of them at once, tell of each, and fail when one has."""
    from penstock.cli.waiting import Failed

    for _ in resumed:
        progress.waiting(f"waiting for {entry.kind.kind} reconciliation")
    outcomes = await asyncio.gather(*(_outcome(client, entry, obj, within) for obj in resumed))
    for one in sorted(outcomes, key=lambda one: one.name):
        if one.trouble:
            progress.failure(f"{entry.kind.kind} {one.name} reconciliation failed: {one.trouble}")
        else:
            progress.success(f"{entry.kind.kind} {one.name} reconciliation completed")
            progress.success(one.told)
    troubles = [one for one in outcomes if one.trouble]
    summary = f"reconciliation failed for {len(troubles)} {entry.kind.kind}(s)"
    if troubles and all(one.late for one in troubles):
        raise TimeoutError(summary)
    if troubles:
        raise Failed(summary)


class _Outcome(NamedTuple):
    """What came of one object: something to tell, or a trouble."""

    name: str
    told: str = ""
    trouble: str = ""
    late: bool = False


async def _outcome(client: Client, entry: Entry, obj: Object, within: float) -> _Outcome:
    from penstock.cli.reconcile import completed
    from penstock.cli.waiting import Gone, finished, until

    name = state.name(obj)
    if entry.is_static(obj):
        return _Outcome(name, f"{entry.kind.kind} reconciliation completed")

    def judge(found: Object) -> _Outcome | None:
        ready = finished(found)
        if ready is None:
            return None
        if ready.status == "True":
            return _Outcome(name, completed(entry, found))
        return _Outcome(name, trouble=ready.message or "it does not say why")

    try:
        return await until(client, entry, obj, judge, within=within)
    except (Gone, TimeoutError) as error:
        return _Outcome(name, trouble=str(error), late=isinstance(error, TimeoutError))
