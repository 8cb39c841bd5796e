"""OpenAPI documents, made from the schema model: enough for kubectl to validate, diff and explain."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema
    from penstock.embedded.server.catalog import Catalog
    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

_TITLE = {"title": "Kubernetes", "version": "1.36"}
_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "date-time": {"type": "string", "format": "date-time"},
    "micro-time": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "int-or-string": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
}


class OpenApi:
    """The documents by group and version, made when asked for."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._made: dict[str, bytes] = {}
        self._version = -1

    def index(self) -> Object:
        """Where the documents lie; the hash changes when what is served does."""
        paths: Object = {}
        for path in self._paths():
            mark = hashlib.sha512(f"{path} {self._catalog.version}".encode()).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={mark}"}
        return {"paths": paths}

    def document(self, path: str) -> bytes | None:
        """The OpenAPI v3 document of one group and version, such as `apis/apps/v1`."""
        if self._version != self._catalog.version:
            self._made.clear()
            self._version = self._catalog.version
        if path not in self._made:
            if path not in self._paths():
                return None
            self._made[path] = orjson.dumps(self._make(path))
        return self._made[path]

    def swagger(self) -> Object:
        """OpenAPI v2 without definitions: the clients of today read v3."""
        return {"swagger": "2.0", "info": dict(_TITLE), "paths": {}, "definitions": {}}

    def _paths(self) -> list[str]:
        versions = {(resource.group, resource.version) for resource in self._catalog.resources()}
        return [f"apis/{group}/{version}" if group else f"api/{version}" for group, version in sorted(versions)]

    def _make(self, path: str) -> Object:
        group, _, version = path.removeprefix("apis/").removeprefix("api/").rpartition("/")
        writer = _Writer()
        paths: Object = {}
        for resource in self._catalog.resources():
            if (resource.group, resource.version) == (group, version):
                paths.update(_resource_paths(resource, writer))
        return {
            "openapi": "3.0.0",
            "info": dict(_TITLE),
            "paths": paths,
            "components": {"schemas": writer.schemas},
        }


class _Writer:
    """Collects component schemas; a type that has a name is written once."""

    def __init__(self) -> None:
        self.schemas: Object = {}

    def kind(self, resource: ServedResource) -> str:
        name = f"{resource.group or 'core'}.{resource.version}.{resource.kind}".replace("/", ".")
        if name in self.schemas:
            return name
        self.schemas[name] = {}
        schema = resource.schema()
        written = self.inline(schema) if schema is not None else {"type": "object"}
        marks = [{"group": resource.group, "version": resource.version, "kind": resource.kind}]
        self.schemas[name] = {**written, "x-kubernetes-group-version-kind": marks}
        return name

    def value(self, schema: Schema) -> Object:
        if schema.kind != "struct" or not schema.name:
            return self.inline(schema)
        name = f"type.{schema.name}.{id(schema):x}"
        if name not in self.schemas:
            self.schemas[name] = {}
            self.schemas[name] = self.inline(schema)
        return {"$ref": f"#/components/schemas/{name}"}

    def inline(self, schema: Schema) -> Object:
        match schema.kind:
            case "scalar":
                written: Object = dict(_SCALARS.get(schema.scalar, {}))
                if schema.format:
                    written["format"] = schema.format
            case "struct":
                written = {
                    "type": "object",
                    "properties": {key: self._property(each) for key, each in schema.fields.items()},
                }
                if schema.required:
                    written["required"] = list(schema.required)
            case "map":
                written = {"type": "object"}
                if schema.element is not None:
                    written["additionalProperties"] = self._property(schema.element)
            case "list":
                written = {"type": "array", "items": self._property(schema.element) if schema.element else {}}
                written |= self._list_marks(schema)
            case _:
                written = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return written

    def _property(self, schema: Schema) -> Object:
        return self.value(schema)

    def _list_marks(self, schema: Schema) -> Object:
        marks: dict[str, Any] = {"x-kubernetes-list-type": schema.list_type}
        if schema.map_keys:
            marks["x-kubernetes-list-map-keys"] = list(schema.map_keys)
        if schema.merge_key:
            marks["x-kubernetes-patch-merge-key"] = schema.merge_key
        if schema.merge_strategy:
            marks["x-kubernetes-patch-strategy"] = ",".join(sorted(schema.merge_strategy))
        return marks


def _resource_paths(resource: ServedResource, writer: _Writer) -> Object:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    place = f"{root}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"
    name = writer.kind(resource)
    collection: Object = {}
    item: Object = {}
    if "list" in resource.verbs:
        collection["get"] = _operation(resource, name, "list")
    if "create" in resource.verbs:
        collection["post"] = _operation(resource, name, "post")
    for method, verb in (("get", "get"), ("put", "update"), ("patch", "patch"), ("delete", "delete")):
        if verb in resource.verbs:
            item[method] = _operation(resource, name, "put" if method == "put" else verb)
    return {path: value for path, value in ((place, collection), (f"{place}/{{name}}", item)) if value}


def _operation(resource: ServedResource, name: str, action: str) -> Object:
    reference = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    operation: Object = {
        "responses": {"200": {"description": "OK", "content": {"application/json": reference}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [
            {"name": option, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for option in ("dryRun", "fieldManager", "fieldValidation")
        ]
        types = _PATCH_TYPES if action == "patch" else ("application/json",)
        operation["requestBody"] = {"content": dict.fromkeys(types, reference), "required": True}
    return operation
