"""`penstock export`: objects as manifests, without what the cluster has added."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from penstock.cli import state
from penstock.cli.access import (
    HOME,
    ContextOption,
    KindArgument,
    KubeconfigOption,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    ask,
    duration,
)
from penstock.cli.catalogue import only
from penstock.cli.flags import Option
from penstock.cli.output import Output, documents
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.cli.catalogue import Chosen
    from penstock.kube import Client, Object

_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"


def export(
    words: KindArgument,
    everything: Annotated[bool, Option("--all", help="All objects of the kind in the namespace.")] = False,
    with_credentials: Annotated[
        bool, Option("--with-credentials", help="Print the Secrets of sources too, in the clear.")
    ] = False,
    namespace: NamespaceOption = HOME,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock export source git --all > sources.yaml"""
    chosen = only(words, "export")
    if not chosen.names and not everything:
        raise UsageError("name is required, or --all")
    if len(chosen.names) > 1 or (chosen.names and everything):
        raise UsageError("give one name, or --all for all objects of the kind")
    if with_credentials and not chosen.entry.source:
        raise UsageError(f"--with-credentials is for sources; a {chosen.entry.human} has none")
    manifests = ask(
        lambda client: collect(client, chosen, namespace, with_credentials=with_credentials),
        kubeconfig=kubeconfig,
        context=context,
        timeout=duration(timeout).seconds,
    )
    sys.stdout.write(_text(manifests, output))
    return 0


async def collect(client: Client, chosen: Chosen, namespace: str, *, with_credentials: bool) -> list[Object]:
    """The manifests, each followed by that of its Secret where that is wanted."""
    from penstock.cli.finding import listed, read

    if chosen.names:
        objects = [await read(client, chosen.entry, chosen.names[0], namespace)]
    else:
        objects = await listed(client, chosen.entry, namespace)
    if not objects:
        raise PenstockError(f"no objects found in {namespace} namespace")
    manifests: list[Object] = []
    for obj in objects:
        manifests.append(stripped(obj))
        secret = state.text(obj, "spec", "secretRef", "name")
        if with_credentials and secret:
            manifests.append(await _secret(client, secret, namespace))
    return manifests


def stripped(obj: Object) -> Object:
    """The object as somebody would have written it: no status, and of the metadata what people set."""
    metadata = obj.get("metadata") or {}
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if metadata.get(key)}
    notes = {key: value for key, value in (kept.pop("annotations", None) or {}).items() if key != _KUBECTL}
    if notes:
        kept["annotations"] = notes
    rest: Object = {key: obj[key] for key in ("spec", "type", "data") if key in obj}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": kept, **rest}


async def _secret(client: Client, name: str, namespace: str) -> Object:
    from penstock.kube.errors import NotFound
    from penstock.kube.resources import SECRETS

    try:
        found = await client.get(SECRETS, name, namespace)
    except NotFound as error:
        raise PenstockError(f"failed to retrieve secret {name}: it is not in {namespace} namespace") from error
    return stripped({**found, "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}})


def _text(manifests: list[Object], output: Output | None) -> str:
    if output in {Output.JSON, Output.NAME}:
        return documents(manifests, output)
    from penstock.yaml import dump

    return "".join(f"---\n{dump(manifest)}" for manifest in manifests)
