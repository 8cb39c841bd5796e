"""Small facts about single objects: their order on the wire, names, times, and how messages call them."""

from __future__ import annotations

import os
import random
import time
import uuid
from typing import TYPE_CHECKING

import orjson

from penstock.embedded.kinds.problems import go_json
from penstock.embedded.status import StatusError, bad_request, internal_error, plain_error
from penstock.schema.scalars import DecodeError

if TYPE_CHECKING:
    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_PREFIX_LIMIT = 63 - _SUFFIX_LENGTH
_random = random.SystemRandom()

_REGISTRY_KEYS = {
    "/services": "services/specs",
    "/endpoints": "services/endpoints",
    "/nodes": "minions",
    "/replicationcontrollers": "controllers",
    "networking.k8s.io/ingresses": "ingress",
    "policy/poddisruptionbudgets": "poddisruptionbudgets",
    "apiextensions.k8s.io/customresourcedefinitions": "apiextensions.k8s.io/customresourcedefinitions",
    "apiregistration.k8s.io/apiservices": "apiregistration.k8s.io/apiservices",
}


def ordered(obj: Object) -> Object:
    """The object with kind, apiVersion and metadata first: lists cut the first two off."""
    known = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": obj["metadata"]}
    for key, value in obj.items():
        if key not in known:
            known[key] = value
    return known


def new_uid() -> str:
    return str(uuid.UUID(bytes=os.urandom(16), version=4))


def timestamp(seconds: float) -> str:
    """A moment as metadata has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def generated_name(prefix: str) -> str:
    return prefix[:_PREFIX_LIMIT] + "".join(_random.choices(_SUFFIX, k=_SUFFIX_LENGTH))


def internal_package(group: str) -> str:
    """The Go package of a group's internal types, which some messages name."""
    return group.partition(".")[0] or "core"


def registry_key(resource: ServedResource, namespace: str, name: str) -> str:
    """Where the real server keeps an object; one message says it."""
    path = f"{resource.group}/{resource.plural}"
    folder = path if resource.custom else _REGISTRY_KEYS.get(path, resource.plural)
    return "/".join(part for part in ("/registry", folder, namespace, name) if part)


def check_kind(obj: Object, resource: ServedResource, *, known: bool) -> None:
    """Fill in kind and apiVersion where they are missing; 400 when they are somebody else's.

    `known` tells whether the server knows the kind that the object claims to be.
    """
    if resource.custom:
        if (told := obj.get("apiVersion") or "") != resource.api_version:
            raise bad_request(
                f"the API version in the data ({told}) does not match the expected API version ({resource.api_version})"
            )
        return  # a wrong kind is found with everything else that is wrong
    kind = obj.get("kind") or resource.kind
    api_version = obj.get("apiVersion") or resource.api_version
    obj["kind"], obj["apiVersion"] = kind, api_version
    if kind == resource.kind and api_version == resource.api_version:
        return
    version = api_version.rpartition("/")[2]
    if known and kind != resource.kind:
        why = (
            f"converting ({version}.{kind}) to ({internal_package(resource.group)}.{resource.kind}): unknown conversion"
        )
    elif known:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    else:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
    raise bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')


def check_patched_identity(obj: Object) -> None:
    """What a patch must leave of a custom object; `DecodeError` when it took the kind away."""
    if not obj.get("kind"):
        text = go_json(orjson.loads(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)))
        raise DecodeError(f"Object 'Kind' is missing in '{text}'")
    if not obj.get("apiVersion"):
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")


def check_metadata_shape(obj: Object, resource: ServedResource) -> None:
    """400 when metadata is not even an object; the kind's own rules check the rest."""
    metadata = obj.get("metadata")
    if metadata is None:
        obj["metadata"] = {}
        return
    if not isinstance(metadata, dict):
        whole = "Go value" if resource.custom else f"Go struct field {resource.kind}.metadata"
        place = f"{whole} of type v1.ObjectMeta"
        words = f"json: cannot unmarshal {_go_type(metadata)} into {place}"
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {words}'
        )


def check_namespace(metadata: Object, resource: ServedResource, namespace: str) -> None:
    """The object's namespace must be that of the path; an empty one is filled in."""
    told = metadata.get("namespace") or ""
    expected = namespace if resource.namespaced else ""
    if not told:
        if expected:
            metadata["namespace"] = expected
        return
    if told == expected:
        return
    if not expected:
        # A namespace on a cluster-scoped object is dropped, not refused.
        metadata.pop("namespace", None)
        return
    raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_name(metadata: Object, name: str) -> None:
    """The object's name must be that of the path."""
    told = metadata.get("name") or ""
    if not told:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if told != name:
        raise bad_request(f"the name of the object ({told}) does not match the name on the URL ({name})")


def is_version(text: str) -> bool:
    """Whether a text names a version that an object could have had."""
    return text.isascii() and text.isdigit() and int(text) != 0


def parse_version(text: str) -> int:
    """A resourceVersion that an object carries; 500 when it is no number, as on the real server."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        raise plain_error(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def query_version(text: str) -> StatusError:
    """What is wrong with the resourceVersion of a query."""
    return plain_error(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax')


def _go_type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array"
