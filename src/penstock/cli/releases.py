"""What a Helm release has put into a cluster, as its record tells."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
from typing import TYPE_CHECKING

import orjson

from penstock.api.inventory import Identity
from penstock.cli import state
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.kube import Client, Object

_GZIP = b"\x1f\x8b\x08"
_LARGEST = 64 * 1024 * 1024
"""Bytes of an unpacked record. Secrets end at 1 MiB; what unpacks to more than this is an attack."""


async def contents(client: Client, release: Object) -> list[Identity]:
    """The objects of the latest release; none when it goes to another cluster, or when there is no record of it."""
    from penstock.kube.errors import NotFound
    from penstock.kube.resources import SECRETS

    history = state.at(release, "status", "history")
    latest = history[0] if isinstance(history, list) and history else None
    where = state.text(release, "status", "storageNamespace")
    if state.at(release, "spec", "kubeConfig") is not None or not latest or not where:
        return []
    try:
        secret = await client.get(SECRETS, f"sh.helm.release.v1.{latest.get('name')}.v{latest.get('version')}", where)
    except NotFound:
        return []
    found = [_identity(obj) for obj in _objects(state.text(secret, "data", "release"), release)]
    return [await _placed(client, one, api, state.text(latest, "namespace")) for one, api in found]


def _identity(obj: Object) -> tuple[Identity, str]:
    api = state.text(obj, "apiVersion")
    group = api.rpartition("/")[0]
    return Identity(group, state.text(obj, "kind"), state.namespace(obj), state.name(obj)), api


async def _placed(client: Client, identity: Identity, api_version: str, namespace: str) -> Identity:
    """The object in the namespace of the release, if it says none and its kind has them."""
    from penstock.kube.errors import KubeError

    if identity.namespace:
        return identity
    try:
        resource = await client.discovery.resource(api_version, identity.kind)
    except KubeError:
        return identity
    return identity._replace(namespace=namespace) if resource.namespaced else identity


def _objects(record: str, release: Object) -> list[Object]:
    """The objects in a record: base64 of base64 of (mostly gzipped) JSON with the manifest in it."""
    from penstock.yaml import YAMLError, documents

    try:
        packed = base64.b64decode(base64.b64decode(record))
        manifest = state.text(orjson.loads(_unpacked(packed)), "manifest")
        found = [document.value for document in documents(manifest)]
    except (binascii.Error, OSError, EOFError, orjson.JSONDecodeError, YAMLError) as error:
        where = f"HelmRelease/{state.namespace(release)}/{state.name(release)}"
        raise PenstockError(f"{where}: the record of its release cannot be read") from error
    return [obj for obj in found if isinstance(obj, dict) and obj.get("kind")]


def _unpacked(packed: bytes) -> bytes:
    if not packed.startswith(_GZIP):
        return packed
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        return file.read(_LARGEST)
