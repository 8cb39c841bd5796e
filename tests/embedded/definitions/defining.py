"""Definitions for tests, in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.embedded.lifecycle.running import get, resource, until

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object

ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(name: str = "wids.test.io", schema: Object | None = None, **parts: Any) -> Object:
    """A definition with one version; `version` in `parts` adds to it, the rest to the spec."""
    plural, _, group = name.partition(".")
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or ANYTHING}}
    version.update(parts.pop("version", {}))
    spec: Object = {
        "group": group,
        "names": {"plural": plural, "kind": plural[:-1].capitalize()},
        "scope": "Namespaced",
        "versions": [version],
        **parts,
    }
    return {"metadata": {"name": name}, "spec": spec}


def spec_of(**properties: Any) -> Object:
    """A schema whose `spec` has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


async def define(engine: Engine, made: Object) -> None:
    """Store a definition, and wait until it is established."""
    await engine.create(resource(engine, "CustomResourceDefinition"), made)
    await until(engine, lambda: conditions(engine, made["metadata"]["name"]).get("Established") == "True")


def conditions(engine: Engine, name: str) -> dict[str, str]:
    found = get(engine, "CustomResourceDefinition", name)
    return {each["type"]: each["status"] for each in (found or {}).get("status", {}).get("conditions") or ()}
