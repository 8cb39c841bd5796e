"""Bodies of PATCH requests: which kind of patch, and what it makes of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import orjson

from penstock.embedded.fields import PatchError, json_patch, merge_patch, strategic_patch_with_rest
from penstock.embedded.server.bodies import Unreadable, go_json_error, json_type, parse
from penstock.embedded.server.negotiation import YAML
from penstock.embedded.status import StatusError, bad_request, unsupported_media_type

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
