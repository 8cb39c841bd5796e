"""Short ways to write the objects that tests about fields are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.fields import apply, update
from penstock.embedded.schema import builtin_schema, structural_schema
from tests.embedded.differential.widgets import WIDGET_SCHEMA

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

NOON = "2026-01-01T12:00:00Z"
LATER = "2026-01-01T12:00:01Z"
WIDGET = structural_schema(WIDGET_SCHEMA)


def schema_of(obj: Object) -> Schema:
    found = WIDGET if obj["kind"] == "Widget" else builtin_schema(obj["apiVersion"], obj["kind"])
    assert found is not None
    return found


def config(**data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": data}


def widget(**spec: Any) -> Object:
    return {"apiVersion": "example.penstock.dev/v1", "kind": "Widget", "metadata": {"name": "web"}, "spec": spec}


def deployment(*containers: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers)}},
            **spec,
        },
    }


def applied(
    live: Object | None, wanted: Object, manager: str = "alpha", *, force: bool = False, now: str = NOON
) -> Object:
    """Apply; the result is as it would be stored, with a uid."""
    return stored(apply(live, wanted, schema=schema_of(wanted), manager=manager, force=force, now=now))


def updated(
    live: Object | None, new: Object, manager: str = "alpha", *, subresource: str = "", now: str = NOON
) -> Object:
    return stored(update(live, new, schema=schema_of(new), manager=manager, subresource=subresource, now=now))


def stored(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "uid": "1"}}


def managers(obj: Object) -> dict[str, Any]:
    """Who manages what, by `manager operation[/subresource]`."""
    return {_who(entry): entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def times(obj: Object) -> dict[str, str | None]:
    return {_who(entry): entry.get("time") for entry in obj["metadata"].get("managedFields", [])}


def _who(entry: Object) -> str:
    below = f"/{entry['subresource']}" if "subresource" in entry else ""
    return f"{entry['manager']} {entry['operation']}{below}"
