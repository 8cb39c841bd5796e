"""`penstock tree`: what a Kustomization has applied, and what the Kustomizations among that have applied."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from penstock.api.inventory import Identity, InvalidInventoryId, parse
from penstock.api.kinds import HELM_GROUP, KUSTOMIZE_GROUP
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
from penstock.cli.catalogue import Entry, by_kind, one_name, only
from penstock.cli.flags import Option
from penstock.cli.output import Output, printable, to_json
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kube import Client, Object

_OURS = "toolkit.fluxcd.io"


@dataclass(frozen=True, slots=True)
class Node:
    """An object, and those that it has applied."""

    identity: Identity
    children: list[Node] = field(default_factory=list["Node"])

    def __str__(self) -> str:
        one = self.identity
        return "/".join(filter(None, (one.kind, one.namespace, one.name)))


def tree(
    words: KindArgument,
    compact: Annotated[bool, Option("--compact", help="Only objects that are reconciled themselves.")] = False,
    namespace: NamespaceOption = HOME,
    output: OutputOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """For example: penstock tree kustomization apps. What is applied to other clusters is not looked into."""
    chosen = only(words, "tree")
    if chosen.entry.kind.kind != "Kustomization":
        raise UsageError(f"penstock tree shows Kustomizations, not a {chosen.entry.human}")
    name = one_name(chosen, "tree")
    root = ask(
        lambda client: Climber(client, chosen.entry, compact=compact).root(name, namespace),
        kubeconfig=kubeconfig,
        context=context,
        timeout=duration(timeout).seconds,
    )
    sys.stdout.write(_shown(root, output))
    return 0


class Climber:
    """Reads the tree from a cluster."""

    def __init__(self, client: Client, entry: Entry, *, compact: bool) -> None:
        self._client, self._entry, self._compact = client, entry, compact

    async def root(self, name: str, namespace: str) -> Node:
        from penstock.cli.finding import read

        obj = await read(self._client, self._entry, name, namespace)
        node = Node(Identity(KUSTOMIZE_GROUP, self._entry.kind.kind, namespace, name))
        await self._grow(node, obj, {node.identity})
        return node

    async def _grow(self, node: Node, obj: Object, above: set[Identity]) -> None:
        remote = state.at(obj, "spec", "kubeConfig") is not None
        for identity in _applied(obj):
            if identity in above or (self._compact and _OURS not in identity.group):
                continue
            child = Node(identity)
            node.children.append(child)
            if not remote:
                await self._look_into(child, above | {identity})

    async def _look_into(self, node: Node, above: set[Identity]) -> None:
        if (node.identity.group, node.identity.kind) == (KUSTOMIZE_GROUP, "Kustomization"):
            found = await self._found(self._entry, node.identity)
            if found is not None:
                await self._grow(node, found, above)
        elif (node.identity.group, node.identity.kind) == (HELM_GROUP, "HelmRelease"):
            await self._look_into_release(node)

    async def _look_into_release(self, node: Node) -> None:
        from penstock.cli.releases import contents

        entry = by_kind("HelmRelease")
        release = await self._found(entry, node.identity) if entry else None
        if release is None:
            return
        for identity in await contents(self._client, release):
            if not self._compact or _OURS in identity.group:
                node.children.append(Node(identity))

    async def _found(self, entry: Entry, identity: Identity) -> Object | None:
        """The object, or None when it is gone: that is no reason to show nothing of the others."""
        from penstock.cli.finding import Missing, NotInstalled, read

        try:
            return await read(self._client, entry, identity.name, identity.namespace)
        except (Missing, NotInstalled):
            return None


def _applied(obj: Object) -> Iterator[Identity]:
    for entry in state.inventory(obj):
        try:
            yield parse(entry)
        except InvalidInventoryId:
            continue  # whoever wrote that, there is no object to show


def _shown(root: Node, output: Output | None) -> str:
    match output:
        case Output.JSON:
            return to_json(data(root))
        case Output.YAML:
            from penstock.yaml import dump

            return dump(data(root))
        case Output.NAME:
            return "".join(f"{printable(str(node))}\n" for node in _walk(root))
        case Output.WIDE | None:
            return "".join(f"{line}\n" for line in [printable(str(root)), *_lines(root, "")]) + "\n"


def data(node: Node) -> dict[str, Any]:
    """The tree with the keys that Flux uses."""
    one = node.identity
    resource = {"Namespace": one.namespace, "Name": one.name, "GroupKind": {"Group": one.group, "Kind": one.kind}}
    return {"resource": resource} | ({"resources": [data(child) for child in node.children]} if node.children else {})


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _lines(node: Node, indent: str) -> Iterator[str]:
    for child in node.children:
        last = child is node.children[-1]
        yield f"{indent}{'└── ' if last else '├── '}{printable(str(child))}"
        yield from _lines(child, indent + ("    " if last else "│   "))
