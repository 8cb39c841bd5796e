"""`penstock reconcile`: ask for a run now, and wait for its outcome."""

from __future__ import annotations

from datetime import UTC, datetime
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
from penstock.cli.catalogue import by_kind, one_name, only
from penstock.cli.flags import Option
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.cli.catalogue import Entry
    from penstock.kube import Client, Object


class Suspended(PenstockError):
    """The object is left alone on purpose."""


def reconcile(
    words: KindArgument,
    with_source: Annotated[bool, Option("--with-source", help="Have its source fetched before.")] = False,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock reconcile kustomization apps --with-source, or penstock reconcile source git apps.

    It ends as soon as the run has: 0 when it went well, 1 when it failed, 124 when there is no outcome in time.
    """
    chosen = only(words, "reconcile")
    name = one_name(chosen, "reconcile")
    if with_source and not chosen.entry.refers:
        raise UsageError(f"--with-source: a {chosen.entry.human} has no source")
    within = duration(timeout).seconds

    async def work(client: Client) -> None:
        if with_source:
            await _reconcile_source(client, chosen.entry, name, namespace, within)
        await run(client, chosen.entry, name, namespace, within=within)

    ask(work, kubeconfig=kubeconfig, context=context)
    return 0


async def run(client: Client, entry: Entry, name: str, namespace: str, *, within: float) -> None:
    """Reconcile one object; an error tells what came of it if it did not go well."""
    from penstock.cli.finding import read
    from penstock.cli.waiting import Failed, until

    obj = await read(client, entry, name, namespace)
    if entry.is_static(obj):
        progress.success("reconciliation not supported by the object")
        return
    _refuse_suspended(entry, obj)
    progress.action(f"annotating {entry.kind.kind} {name} in {namespace} namespace")
    asked = await request(client, entry, name, namespace)
    progress.success(f"{entry.kind.kind} annotated")
    progress.waiting(f"waiting for {entry.kind.kind} reconciliation")
    done, ready = await until(client, entry, asked, _handled, within=within)
    if ready.status != "True":
        told = f"'{ready.message}'" if entry.source else ready.message
        raise Failed(f"{entry.kind.kind} reconciliation failed: {told}")
    progress.success(completed(entry, done))


async def request(client: Client, entry: Entry, name: str, namespace: str) -> Object:
    """Ask the controller for a run; the answer is the object with the wish in it."""
    from penstock.runtime.triggers import REQUESTED_AT

    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return await client.patch(entry.resource, name, namespace, {"metadata": {"annotations": {REQUESTED_AT: now}}})


def completed(entry: Entry, obj: Object) -> str:
    """What is said of an object that was reconciled."""
    revision = entry.revision(obj)
    return f"{entry.done} {revision}" if revision else state.ready(obj).message


def _handled(obj: Object) -> tuple[Object, state.Ready] | None:
    """The outcome of the run that was asked for last: ours, or one that somebody asked for since."""
    from penstock.cli.waiting import finished
    from penstock.runtime.triggers import REQUESTED_AT

    if state.text(obj, "status", "lastHandledReconcileAt") != state.annotation(obj, REQUESTED_AT):
        return None
    ready = finished(obj)
    return (obj, ready) if ready else None


def _refuse_suspended(entry: Entry, obj: Object) -> None:
    if state.is_suspended(obj):
        resume = f"penstock resume {entry.spoken} {state.name(obj)} -n {state.namespace(obj)}"
        raise Suspended(f"resource is suspended; take it up again with '{resume}'")


async def _reconcile_source(client: Client, entry: Entry, name: str, namespace: str, within: float) -> None:
    from penstock.cli.finding import read

    obj = await read(client, entry, name, namespace)
    _refuse_suspended(entry, obj)
    origin = entry.origin(obj)
    source = by_kind(origin.kind) if origin else None
    if origin is None or source is None or origin.kind == "ExternalArtifact":  # others make these
        raise PenstockError(f"cannot reconcile source of kind {origin.kind if origin else 'none'}")
    await run(client, source, origin.name, origin.namespace, within=within)
