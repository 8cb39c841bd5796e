"""What a cluster needs before the controllers can begin: the definitions, and the objects that point at a folder.

It is what a bootstrap leaves in a cluster. Where the folder has a `gotk-sync.yaml`, or other files that follow the
folder itself, those count; else a GitRepository and a Kustomization `flux-system` are made.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from penstock import yaml
from penstock.api import crds
from penstock.cli.up.folders import SYNC, manifests
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import GROUP, KINDS
from penstock.errors import PenstockError, UsageError
from penstock.kube import ObjectRef
from penstock.kube.errors import NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, group_of
from penstock.runtime.triggers import REQUESTED_AT

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence
    from pathlib import Path

    from penstock.kube import Client, Object, Resource

MANAGER = "penstock"
HOME = "flux-system"
_KUSTOMIZATION_CRD = f"{KUSTOMIZATIONS.plural}.{KUSTOMIZATIONS.group}"
_NOWHERE = "https://localhost/"
"""Of a directory that has no remote; it is never asked, because the directory stands for it."""


_SCHEMES = ("http://", "https://", "ssh://")
_SHORT = re.compile(r"(?P<host>[^/:]+@[^/:]+):(?P<path>[^/].*)")


class BrokenFile(PenstockError):
    """A file that has to be read before anything can run is no YAML."""


@dataclass(frozen=True, slots=True)
class Sync:
    """The objects that let a cluster follow a folder."""

    objects: tuple[Object, ...]
    source: ObjectRef
    kustomization: ObjectRef

    @property
    def namespace(self) -> str:
        return self.kustomization.namespace


def sync(root: Path, folder: str, url: str = "") -> Sync:
    """The folder's own, or new ones for it. Blocks."""
    return _own(root, folder) or _made(root, folder, url)


def read(files: Iterable[Path]) -> list[Object]:
    """The objects of some files; BrokenFile for what is no YAML. Blocks."""
    found: list[Object] = []
    for file in files:
        try:
            found += objects_of(file)
        except yaml.YAMLError as error:
            raise BrokenFile(f"{file}: {error}") from error
    return found


def objects_of(file: Path) -> list[Object]:
    """The Kubernetes objects of a file; YAMLError when it is none. Blocks."""
    values = [yaml.plain(document.value) for document in yaml.documents(file.read_bytes())]
    return [obj for obj in values if _is_object(obj)]


def _is_object(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return False
    return all(
        isinstance(one, str) for one in (value.get("apiVersion"), value.get("kind"), value["metadata"].get("name"))
    )


async def prepare(client: Client, objects: Sequence[Object], wanted: Sync, *, token: str, guest: bool = False) -> None:
    """Put the definitions, the objects that come first and the sync into the cluster, in this order.

    What is there already is asked to run again: what it says of itself may be older than the files. A guest leaves
    the definitions that a cluster has as they are. A cluster that follows another folder is refused: it would lose
    everything that is not in this one.
    """
    there = {obj["metadata"]["name"] for obj in (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items}
    if _KUSTOMIZATION_CRD in there:
        await _check_folder(client, wanted)
    missing = [one for one in crds() if not guest or one["metadata"]["name"] not in there]
    namespaces = {HOME, wanted.namespace} | {obj["metadata"].get("namespace") or HOME for obj in objects}
    await _all(_define(client, missing), *(_namespace(client, name) for name in sorted(namespaces)))
    for obj in objects:
        resource = await client.discovery.resource(obj["apiVersion"], obj["kind"])
        if resource.namespaced:
            obj["metadata"].setdefault("namespace", HOME)
        await client.apply(resource, obj, manager=MANAGER, force=True)
    for obj in wanted.objects:
        resource = KUSTOMIZATIONS if obj["kind"] == KUSTOMIZATIONS.kind else KINDS[obj["kind"]]
        await client.apply(resource, obj, manager=MANAGER, force=True)
    for resource in (*KINDS.values(), KUSTOMIZATIONS):
        for obj in (await client.list(resource)).items:
            await ask(client, resource, ObjectRef.of(obj), token)


async def ask(client: Client, resource: Resource, ref: ObjectRef, token: str) -> None:
    """Ask for a run, as `flux reconcile` does; what is gone needs none."""
    body = {"metadata": {"annotations": {REQUESTED_AT: token}}}
    with suppress(NotFound):
        await client.patch(resource, ref.name, ref.namespace, body, manager=MANAGER)


async def _all(*work: Coroutine[Any, Any, object]) -> None:
    """Do all at the same time; the first thing that goes wrong is told, and not a group of them."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except* PenstockError as errors:
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


async def _check_folder(client: Client, wanted: Sync) -> None:
    ref = wanted.kustomization
    try:
        found = await client.get(KUSTOMIZATIONS, ref.name, ref.namespace)
    except NotFound:
        return
    has, wants = (_path(one.get("spec") or {}) for one in (found, wanted.objects[-1]))
    if has != wants:
        raise UsageError(
            f"Kustomization/{ref.namespace}/{ref.name} of the cluster follows './{has}', and not './{wants}'; "
            "take another cluster or another --data-dir"
        )


def _path(spec: dict[str, Any]) -> PurePosixPath:
    return PurePosixPath(spec.get("path") or ".")


async def _define(client: Client, definitions: Sequence[Object]) -> None:
    await _all(
        *(
            client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition, manager=MANAGER, force=True)
            for definition in definitions
        )
    )
    kinds = (
        (f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"])
        for definition in definitions
        for version in definition["spec"]["versions"]
        if version["served"]
    )
    await client.discovery.until_served(kinds)


async def _namespace(client: Client, name: str) -> None:
    await client.apply(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager=MANAGER
    )


def _own(root: Path, folder: str) -> Sync | None:
    """The Kustomization in the folder whose path is the folder, and its source."""
    place = root / folder
    objects = read(sorted(place.glob(f"*/{SYNC}")))
    for file in manifests(place):
        with suppress(yaml.YAMLError):  # the controller will say what is wrong with it
            objects += objects_of(file)
    sources = {ObjectRef.of(obj): obj for obj in objects if group_of(obj["apiVersion"]) == GROUP}
    for obj in objects:
        if obj["kind"] != KUSTOMIZATIONS.kind or group_of(obj["apiVersion"]) != KUSTOMIZATIONS.group:
            continue
        spec: dict[str, Any] = obj.get("spec") or {}
        named: dict[str, Any] = spec.get("sourceRef") or {}
        own = ObjectRef.of(obj)
        ref = ObjectRef(GROUP, named.get("kind", ""), named.get("namespace") or own.namespace, named.get("name", ""))
        if _path(spec) == PurePosixPath(folder) and ref in sources:
            return Sync((sources[ref], obj), ref, own)
    return None


def _made(root: Path, folder: str, url: str) -> Sync:
    metadata = {"name": HOME, "namespace": HOME}
    source: Object = {
        "apiVersion": KINDS["GitRepository"].api_version,
        "kind": "GitRepository",
        "metadata": metadata,
        "spec": {"interval": "1m", "url": _address(url) or f"{_NOWHERE}{root.name}"},
    }
    kustomization: Object = {
        "apiVersion": KUSTOMIZATIONS.api_version,
        "kind": KUSTOMIZATIONS.kind,
        "metadata": metadata,
        "spec": {
            "interval": "10m",
            "path": f"./{folder}",
            "prune": True,
            "sourceRef": {"kind": "GitRepository", "name": HOME},
        },
    }
    return Sync((source, kustomization), ObjectRef.of(source), ObjectRef.of(kustomization))


def _address(remote: str) -> str:
    """A remote as the API takes it; empty when it is only a path."""
    if short := _SHORT.fullmatch(remote):
        return f"ssh://{short['host']}/{short['path']}"
    return remote if remote.startswith(_SCHEMES) else ""
