"""`penstock trace`: from an object of the cluster to the Kustomization and the source that it comes from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from penstock.api.kinds import KUSTOMIZE_GROUP
from penstock.cli import progress, state
from penstock.cli.access import (
    HOME,
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    ask,
    duration,
)
from penstock.cli.ages import local
from penstock.cli.catalogue import KUSTOMIZATION, by_kind
from penstock.cli.flags import Argument, Option
from penstock.cli.output import Output, printable, to_json, to_yaml
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube import Client, Object, Resource

HIGHEST = 10
"""Owners above an object that are asked: a pod has two."""

ORIGINS = (
    ("Origin Revision", "org.opencontainers.image.revision"),
    ("Origin Source", "org.opencontainers.image.source"),
)

Block = list[tuple[str, str]]
"""Titles and values, in the order in which they are shown."""


class NotThere(PenstockError):
    """There is no such object."""


class NotManaged(PenstockError):
    """No controller of ours has applied the object."""


def trace(
    words: Annotated[list[str], Argument(metavar="KIND/NAME", show_default=False)],
    kind: Annotated[str, Option(help="The kind, when only the name is given.")] = "",
    api_version: Annotated[str, Option(help="The API version that belongs to --kind.")] = "",
    namespace: NamespaceOption = HOME,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock trace -n apps deployment/web, or penstock trace -n apps deployment web

    An object that belongs to another one (a Pod to a ReplicaSet) is traced through its owner. Exit 1 when an object
    is not managed by a Kustomization.
    """
    wanted = _wanted(words, kind, api_version)

    async def work(client: Client) -> int:
        failed = 0
        found: list[list[Block]] = []
        for api, word, name in wanted:
            try:
                found.append(await Tracer(client).trace(await _resource(client, api, word), name, namespace))
            except PenstockError as error:
                if len(wanted) == 1:
                    raise
                failed += 1
                progress.failure(f"failed to trace {word}/{name} in namespace {namespace}: {error}")
        sys.stdout.write(_shown(found, output))
        return 1 if failed else 0

    return ask(work, kubeconfig=kubeconfig, context=context, timeout=duration(timeout).seconds)


def _wanted(words: Sequence[str], kind: str, api_version: str) -> list[tuple[str, str, str]]:
    """API version (empty when it is to be found), kind and name of every object."""
    if kind or api_version:
        if not kind or not api_version:
            raise UsageError("--kind and --api-version belong together: give both or neither")
        return [(api_version, kind, name) for name in words]
    if all("/" in word for word in words):
        pairs = [word.partition("/") for word in words]
        if any(not kind or not name for kind, _, name in pairs):
            raise UsageError("an object is written as KIND/NAME, such as deployment/web")
        return [("", kind, name) for kind, _, name in pairs]
    if len(words) < 2 or any("/" in word for word in words):
        raise UsageError("either `KIND/NAME` or `KIND NAME` is required as an argument")
    return [("", words[0], name) for name in words[1:]]


async def _resource(client: Client, api_version: str, word: str) -> Resource:
    """The resource that people mean by a word: its kind, plural, singular or a short name, with a group or without."""
    if api_version:
        return await client.discovery.resource(api_version, word)
    wish, _, group = word.lower().partition(".")
    for served in await client.discovery.kinds():
        known = {served.resource.plural, served.resource.kind.lower(), served.singular, *served.short_names}
        if wish in known and (not group or served.resource.group == group):
            return served.resource
    raise PenstockError(f'the server doesn\'t have a resource type "{word}"')


class Tracer:
    """Reads the way back from a cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def trace(self, resource: Resource, name: str, namespace: str) -> list[Block]:
        obj = await self._read(resource, name, namespace)
        owner = await self._manager({**obj, "kind": resource.kind}, HIGHEST)
        if owner is None:
            raise NotManaged("object not managed by Flux")
        first: Block = [("Object", f"{resource.kind}/{name}")]
        if state.namespace(obj):
            first.append(("Namespace", state.namespace(obj)))
        return [[*first, ("Status", "Managed by Flux")], *await self._kustomization(*owner)]

    async def _read(self, resource: Resource, name: str, namespace: str) -> Object:
        from penstock.kube.errors import NotFound

        try:
            return await self._client.get(resource, name, namespace)
        except NotFound as error:
            raise NotThere(f'{error}; it was looked for in "{namespace}", and -n names another namespace') from error

    async def _manager(self, obj: Object, steps: int) -> tuple[str, str] | None:
        """Name and namespace of the Kustomization that manages the object, or the one that the object belongs to."""
        labels = state.at(obj, "metadata", "labels")
        name, namespace = (state.text(labels, f"{KUSTOMIZE_GROUP}/{key}") for key in ("name", "namespace"))
        if name:
            return name, namespace
        for reference in state.at(obj, "metadata", "ownerReferences") or ():
            above = await self._owner(reference, state.namespace(obj)) if steps else None
            if above is not None and (found := await self._manager(above, steps - 1)):
                return found
        return None

    async def _owner(self, reference: Any, namespace: str) -> Object | None:
        from penstock.kube.errors import KubeError

        try:
            resource = await self._client.discovery.resource(
                state.text(reference, "apiVersion"), state.text(reference, "kind")
            )
            return await self._client.get(resource, state.text(reference, "name"), namespace)
        except KubeError:
            return None

    async def _kustomization(self, name: str, namespace: str) -> list[Block]:
        from penstock.cli.finding import read

        entry = KUSTOMIZATION
        obj = await read(self._client, entry, name, namespace)
        block: Block = [("Kustomization", name), ("Namespace", namespace)]
        if target := state.text(obj, "spec", "targetNamespace"):
            block.append(("Target", target))
        block += [("Path", state.text(obj, "spec", "path")), ("Revision", entry.revision(obj)), *_status(obj)]
        blocks = [block]
        origin = entry.origin(obj)
        source = by_kind(origin.kind) if origin else None
        if origin is not None and source is not None:
            found = await read(self._client, source, origin.name, origin.namespace)
            blocks.append(_source(found, origin.kind))
        return blocks


def _source(obj: Object, kind: str) -> Block:
    block: Block = [(kind, state.name(obj)), ("Namespace", state.namespace(obj)), *_place(obj, kind)]
    if revision := state.text(obj, "status", "artifact", "revision"):
        block.append(("Revision", revision))
    notes = state.at(obj, "status", "artifact", "metadata")
    block += [(title, told) for title, key in ORIGINS if (told := state.text(notes, key))]
    return block + _status(obj, fails=True)


def _place(obj: Object, kind: str) -> Block:
    """Where the source lies, and which of its versions is followed."""
    if kind == "ExternalArtifact":
        reference = state.at(obj, "spec", "sourceRef")
        return [("Source", "/".join(state.text(reference, part) for part in ("kind", "namespace", "name")))]
    if kind == "Bucket":
        return [("Endpoint", state.text(obj, "spec", "endpoint")), ("Bucket", state.text(obj, "spec", "bucketName"))]
    reference = state.at(obj, "spec", "ref")
    last = "Digest" if kind == "OCIRepository" else "Branch"
    followed = [("Tag", "tag"), ("Tag", "semver"), (last, last.lower())]
    first = next(((title, told) for title, key in followed if (told := state.text(reference, key))), None)
    return [("URL", state.text(obj, "spec", "url")), *([first] if first else [])]


def _status(obj: Object, *, fails: bool = False) -> Block:
    if state.condition(obj, "Ready") is None:
        return [("Status", "Unknown")]
    ready = state.ready(obj)
    verb = "reconciliation failed" if fails and ready.status == "False" else "reconciled"
    return [("Status", f"Last {verb} at {local(ready.since)}"), ("Message", ready.message)]


def _shown(found: Sequence[Sequence[Block]], output: Output | None) -> str:
    if output in {Output.JSON, Output.YAML}:
        data = [[dict(block) for block in blocks] for blocks in found]
        return to_json(data) if output is Output.JSON else to_yaml(data)
    if output is Output.NAME:
        return "".join(f"{_name(block)}\n" for blocks in found for block in blocks)
    return "---\n".join("\n" + "---\n".join(map(_text, blocks)) for blocks in found)


def _name(block: Block) -> str:
    """Kind, namespace and name of what a block is about; its first line names it."""
    title, told = block[0]
    kind, name = told.split("/", 1) if title == "Object" else (title, told)
    return printable("/".join(part for part in (kind, dict(block).get("Namespace", ""), name) if part))


def _text(block: Block) -> str:
    return "".join(f"{f'{title}:':<17}{printable(told)}".rstrip() + "\n" for title, told in block)
