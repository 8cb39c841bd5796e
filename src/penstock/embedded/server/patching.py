"""Bodies of PATCH requests: which kind of patch, and what it makes of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import orjson

from penstock.embedded.fields import (
    PatchError,
    json_patch,
    merge_patch,
    restore_problem,
    strategic_patch_with_rest,
)
from penstock.embedded.fields.gotext import go_value
from penstock.embedded.fields.restore import alone
from penstock.embedded.kinds.decode import DecodeError, decode
from penstock.embedded.kinds.goform import in_go_order
from penstock.embedded.kinds.problems import go_json, go_quote
from penstock.embedded.server import identity
from penstock.embedded.server.bodies import Unreadable, go_json_error, json_type, parse
from penstock.embedded.server.negotiation import YAML
from penstock.embedded.status import StatusError, bad_request, invalid_patch, unsupported_media_type

if TYPE_CHECKING:
    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

PatchKind = Literal["json", "merge", "strategic", "apply"]

_KINDS: dict[str, PatchKind] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_CUSTOM = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")


def patch_type(header: str, *, custom: bool) -> PatchKind:
    """Which patch a content type means; 415 for any other."""
    media_type = header.partition(";")[0].strip()
    kind = _KINDS.get(media_type)
    if kind is None:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    if custom and kind == "strategic":
        raise unsupported_media_type(_CUSTOM)
    return kind


def read_patch(body: bytes, kind: PatchKind) -> Any:
    """The patch itself; 400 when it is not even the right shape."""
    prefix = "" if kind == "strategic" else "error decoding patch: "
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise bad_request(f"{prefix}{go_json_error(body)}") from None
    if kind == "json":
        if not isinstance(value, list):
            raise bad_request(
                f"{prefix}json: cannot unmarshal {json_type(value)} into Go value of type []handlers.jsonPatchOp"
            )
        return value
    if not isinstance(value, dict):
        raise bad_request(
            f"{prefix}json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
        )
    return value


def patched(obj: Object, patch: Any, kind: PatchKind, resource: ServedResource | None) -> tuple[Object, Any]:
    """What the patch makes of the object, and what is left of a strategic patch then."""
    try:
        if kind == "json":
            return json_patch(obj, patch), patch
        schema = resource.schema() if kind == "strategic" and resource is not None else None
        return (merge_patch(obj, patch), patch) if schema is None else strategic_patch_with_rest(obj, patch, schema)
    except PatchError as error:
        raise StatusError(error.code, error.reason, error.message, details=error.code not in (400, 500)) from error


class Patching:
    """One patch that is no apply: what it makes of an object, and how its refusal is worded."""

    def __init__(self, resource: ServedResource, kind: PatchKind, body: bytes, *, internal: bool = True) -> None:
        """`internal` tells whether the server has internal types for what is patched."""
        self._resource = resource
        self._internal = internal
        self._kind: PatchKind = kind
        self._patch = read_patch(body, kind)
        self._left = self._patch
        self.unread: list[str] = []
        """Top-level fields of what came out that nobody reads, because it does not say which version it is."""

    def make(self, obj: Object) -> Object:
        """What the patch makes of the stored object."""
        made, self._left = patched(obj, self._patch, self._kind, self._resource)
        resource = self._resource
        if resource.custom:
            return made
        schema = resource.schema()
        if self._kind == "strategic":
            if schema is not None and (problem := restore_problem(made, schema)):
                raise self.refused(obj, problem)
            return {**made, "kind": resource.kind, "apiVersion": resource.api_version}
        if problem := identity.mistake(made, resource):
            raise self.refused(obj, problem)
        if self._internal and identity.is_internal(made):
            self.unread = sorted({*made} - {"kind", "apiVersion"})
            made = {"metadata": {}}
        return {**made, "kind": resource.kind, "apiVersion": resource.api_version}

    def refused(self, old: Object, why: str) -> StatusError:
        """422: of a strategic patch the server shows what it left of the patch, else what came out."""
        text = go_value(self._left) if self._kind == "strategic" else go_json(self._made_in_go(old))
        return invalid_patch(go_quote(text), why)

    def unreadable(self, old: Object, error: DecodeError) -> StatusError:
        """The same for what came out and does not fit its type; the first mistake in Go's order counts."""
        if self._kind == "strategic":
            return self.refused(old, alone(error))
        try:
            decode(self._made_in_go(old))
        except DecodeError as first:
            error = first
        return self.refused(old, str(error))

    def _made_in_go(self, old: Object) -> Object:
        return patched(in_go_order(old), self._patch, self._kind, self._resource)[0]


def read_apply(body: bytes) -> Object:
    """The configuration of a server-side apply."""
    try:
        value = parse(body, YAML)
    except Unreadable as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_type(value)} into Go value of type map[string]interface {{}}"
        )
    return value
