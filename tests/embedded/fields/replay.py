"""Do with our functions what a real API server did, and say where the result differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.fields import (
    FieldConflict,
    PatchError,
    TypedError,
    apply,
    custom_reset_fields,
    json_patch,
    merge_patch,
    scale_managers,
    scaled_managers,
    strategic_patch,
    update,
)
from penstock.embedded.schema import builtin_schema, structural_schema
from tests.embedded.differential.steps import APPLY_PATCH, JSON_PATCH, STRATEGIC_PATCH
from tests.embedded.differential.widgets import WIDGET_SCHEMA

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

WIDGET = structural_schema(WIDGET_SCHEMA)


def schema_of(line: Object) -> Schema:
    if line["kind"] == "Widget":
        return WIDGET
    found = builtin_schema(line["apiVersion"], line["kind"])
    assert found is not None
    return found


def replayed(line: Object) -> tuple[Any, Any]:
    """What we make of a recorded line, and what the server made of it."""
    if line["code"] >= 300:
        return _refusal(line), _refused(line["answer"])
    if line["subresource"] == "scale":
        return _scaled(line), line["after"]["metadata"].get("managedFields", [])
    expected = line["answer"]["metadata"].get("managedFields", [])
    made = _applied(line) if line["type"] == APPLY_PATCH else _updated(line)
    return made["metadata"].get("managedFields", []), expected


def _refused(answer: Object) -> Any:
    causes = (answer.get("details") or {}).get("causes") or []
    return _told(answer["message"]), sorted((cause["message"], cause["field"]) for cause in causes)


def _told(message: str) -> str:
    """Of several mistakes the server tells now this one first, now that one."""
    first, *lines = message.split("\n")
    return "\n".join([first, *sorted(lines)]) if "errors:\n" in message else message


def _refusal(line: Object) -> Any:
    try:
        if line["subresource"] == "scale":
            _scaled(line)
        elif line["type"] == APPLY_PATCH:
            _applied(line)
        else:
            patched(line)
    except FieldConflict as error:
        return error.message, sorted(error.causes)
    except (PatchError, TypedError) as error:
        return _told(str(error)), []
    return "no refusal", []


def _common(line: Object) -> dict[str, Any]:
    resets = custom_reset_fields(line["subresource"], has_status=True) if line["kind"] == "Widget" else None
    return {
        "schema": schema_of(line),
        "manager": line["query"].get("fieldManager", ""),
        "subresource": line["subresource"],
        "now": newest(line["answer"]),
        "resets": resets,
    }


def newest(obj: Object) -> str:
    """The time of the request, as far as it can be seen."""
    entries = (obj.get("metadata") or {}).get("managedFields") or []
    return max((entry["time"] for entry in entries if "time" in entry), default="2026-01-01T00:00:00Z")


def _applied(line: Object) -> Object:
    return apply(line["live"], line["sent"], force="force" in line["query"], **_common(line))


def _updated(line: Object) -> Object:
    """Defaults are not our part here: the new object is the server's, but for its managers."""
    answer = line["answer"]
    metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    return update(line["live"], {**answer, "metadata": metadata}, **_common(line))


def patched(line: Object) -> Object:
    validation = line["query"].get("fieldValidation", "Warn")
    if line["type"] == JSON_PATCH:
        return json_patch(line["live"], line["sent"], validation=validation)
    if line["type"] == STRATEGIC_PATCH:
        return strategic_patch(line["live"], line["sent"], schema_of(line))
    return merge_patch(line["live"], line["sent"], validation=validation)


def _scaled(line: Object) -> list[Object]:
    live, field = line["live"], "size" if line["kind"] == "Widget" else "replicas"
    where = {line["apiVersion"]: ("f:spec", f"f:{field}")}
    entries = live["metadata"].get("managedFields")
    scale = _scale(live["spec"].get(field, 0), scale_managers(entries, replicas=where))
    schema = builtin_schema("autoscaling/v1", "Scale")
    assert schema is not None
    common: dict[str, Any] = {**_common(line), "schema": schema, "resets": None}
    if line["type"] == APPLY_PATCH:
        new = apply(scale, {**line["sent"], "metadata": {"name": "web"}}, force="force" in line["query"], **common)
    else:
        wanted = (line["sent"].get("spec") or {}).get("replicas", 0)
        new = update(scale, _scale(wanted, []), **common)
    scale_entries = new["metadata"].get("managedFields")
    return scaled_managers(entries, scale_entries, api_version=line["apiVersion"], replicas=where)


def _scale(replicas: int, entries: list[Object]) -> Object:
    """A Scale as the server writes it: no replicas at all for zero."""
    spec = {"replicas": replicas} if replicas else {}
    metadata: Object = {"name": "web", "uid": "1", "managedFields": entries}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": spec,
        "status": {"replicas": 0},
    }
