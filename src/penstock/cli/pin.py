"""`penstock pin` and `penstock unpin`: one Kustomization stays on a revision while others go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from penstock.api.annotations import REVISION
from penstock.cli import progress
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
from penstock.cli.catalogue import Chosen, one_name, only
from penstock.cli.flags import Option
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.kube import Client


def pin(
    words: KindArgument,
    revision: Annotated[str, Option(help="Such as main@sha1:1a2b3c4d; by default the applied one.")] = "",
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock pin kustomization apps --revision main@sha1:1a2b3c4d

    The revision is one that its source has, in full or as far as it is unambiguous. `get -o wide` shows it.
    """
    chosen = _kustomization(words, "pin")
    name = one_name(chosen, "pin")
    if revision != revision.strip() or any(not char.isprintable() for char in revision):
        raise UsageError(f"--revision: {revision!r} is not a revision like main@sha1:1a2b3c4d")

    async def work(client: Client) -> None:
        wanted = revision or await _applied(client, chosen, name, namespace)
        progress.action(f"pinning kustomization {name} in {namespace} namespace")
        await _annotate(client, chosen, name, namespace, wanted)
        progress.success(f"kustomization pinned to {wanted}")

    ask(work, kubeconfig=kubeconfig, context=context, timeout=duration(timeout).seconds)
    return 0


def unpin(
    words: KindArgument,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock unpin kustomization apps"""
    chosen = _kustomization(words, "unpin")
    name = one_name(chosen, "unpin")

    async def work(client: Client) -> None:
        progress.action(f"unpinning kustomization {name} in {namespace} namespace")
        await _annotate(client, chosen, name, namespace, None)
        progress.success("kustomization unpinned")

    ask(work, kubeconfig=kubeconfig, context=context, timeout=duration(timeout).seconds)
    return 0


def _kustomization(words: list[str], verb: str) -> Chosen:
    chosen = only(words, verb)
    if chosen.entry.kind.kind != "Kustomization":
        raise UsageError(f"only a Kustomization can be pinned, not a {chosen.entry.human}")
    return chosen


async def _applied(client: Client, chosen: Chosen, name: str, namespace: str) -> str:
    from penstock.cli.finding import read

    found = chosen.entry.revision(await read(client, chosen.entry, name, namespace))
    if not found:
        raise PenstockError(f"Kustomization/{namespace}/{name} has applied nothing yet; say --revision")
    return found


async def _annotate(client: Client, chosen: Chosen, name: str, namespace: str, revision: str | None) -> None:
    from penstock.cli.finding import missing
    from penstock.kube.errors import NotFound

    wish = {"metadata": {"annotations": {REVISION: revision}}}
    try:
        await client.patch(chosen.entry.resource, name, namespace, wish)
    except NotFound as error:
        raise missing(chosen.entry, name, namespace) from error
