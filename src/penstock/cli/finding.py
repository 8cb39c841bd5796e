"""Reading the objects of a kind from a cluster, with sentences for what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kube.errors import NotFound, NotServed

if TYPE_CHECKING:
    from penstock.cli.catalogue import Entry
    from penstock.kube import Client, Object


PART_OF = "app.kubernetes.io/part-of=flux"
"""The label that Flux and Penstock put on what they install."""


class NotInstalled(PenstockError):
    """The cluster does not know the kind."""


class Missing(PenstockError):
    """There is no such object."""


async def listed(
    client: Client,
    entry: Entry,
    namespace: str | None,
    *,
    name: str | None = None,
    labels: str | None = None,
) -> list[Object]:
    """The objects of a kind in one namespace, or in all of them when that is None."""
    fields = f"metadata.name={name}" if name else None
    try:
        found = await client.list(entry.resource, namespace, labels=labels or None, fields=fields)
    except NotServed as error:
        raise not_installed(entry) from error
    return [_named(entry, obj) for obj in found.items]


async def read(client: Client, entry: Entry, name: str, namespace: str) -> Object:
    """One object by its name."""
    try:
        return _named(entry, await client.get(entry.resource, name, namespace))
    except NotServed as error:
        raise not_installed(entry) from error
    except NotFound as error:
        raise missing(entry, name, namespace) from error


def missing(entry: Entry, name: str, namespace: str | None) -> Missing:
    return Missing(f"{entry.kind.kind} object '{name}' not found in {place(namespace)} namespace")


def place(namespace: str | None) -> str:
    """The namespace in a sentence."""
    return "any" if namespace is None else f'"{namespace}"'


def not_installed(entry: Entry) -> NotInstalled:
    return NotInstalled(
        f"the cluster does not know {entry.kind.kind} of {entry.kind.api_version}; "
        "apply the definitions: penstock crds | kubectl apply --server-side -f -"
    )


def _named(entry: Entry, obj: Object) -> Object:
    obj.setdefault("apiVersion", entry.kind.api_version)
    obj.setdefault("kind", entry.kind.kind)
    return obj
