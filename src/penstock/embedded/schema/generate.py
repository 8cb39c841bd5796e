"""Write `builtin.json` from a real API server: `python -m penstock.embedded.schema.generate` in the checkout.

Only facts are kept: names, types, how things merge, and what discovery says. No sentence of a description.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.schema.real import real_server
from penstock.embedded.schema.table import CORE_DEFAULT_VERBS, FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import aiohttp

    from penstock.kube.resources import Object

_PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.", "io.k8s.")
_SCALARS = {
    ("string", ""): "s",
    ("string", "byte"): "B",
    ("string", "date-time"): "t",
    ("boolean", ""): "b",
    ("integer", "int32"): "i4",
    ("integer", "int64"): "i8",
    ("integer", ""): "i",
    ("number", "double"): "n",
    ("number", ""): "n",
}
# Types that are a struct in OpenAPI, or nothing at all, and something else on the wire.
_SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "T",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "a",
}
# What OpenAPI does not tell of fields that are always written: those it misses, and those it has too many.
_WRITTEN_TOO: dict[str, tuple[str, ...]] = {
    "io.k8s.api.apps.v1.ControllerRevision": ("data",),
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus": ("currentMetrics",),
    "io.k8s.api.core.v1.Event": ("eventTime", "firstTimestamp", "lastTimestamp"),
    "io.k8s.api.discovery.v1.EndpointSlice": ("endpoints", "ports"),
    "io.k8s.api.events.v1.Event": ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
    "io.k8s.api.rbac.v1.ClusterRole": ("rules",),
    "io.k8s.api.rbac.v1.Role": ("rules",),
    "io.k8s.api.resource.v1.DeviceClaim": ("requests",),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus": (
        "conditions",
        "storedVersions",
    ),
}
_NOT_WRITTEN: dict[str, tuple[str, ...]] = {
    "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": ("policyName", "validationActions"),
    "io.k8s.api.authentication.v1.TokenReviewSpec": ("token",),
    "io.k8s.api.core.v1.ReplicationControllerSpec": ("minReadySeconds",),
    "io.k8s.api.networking.v1.IPAddressSpec": ("parentRef",),
}
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def table(definitions: Mapping[str, Object], resources: list[Any]) -> Object:
    """The whole table: which type a kind has, the types, the resources."""
    kinds = {kind: _short(name) for name, definition in definitions.items() for kind in _kinds(definition)}
    types = {
        _short(name): _type(name, definition, definitions)
        for name, definition in definitions.items()
        if "properties" in definition or _is_empty_struct(name, definition)
    }
    return {"kinds": dict(sorted(kinds.items())), "types": dict(sorted(types.items())), "resources": resources}


def encode(made: Object) -> bytes:
    """One line a type, so that a new Kubernetes version is a diff that can be read."""
    lines = [b'{"kinds":' + orjson.dumps(made["kinds"]) + b",", b'"types":{']
    lines.append(b",\n".join(orjson.dumps(name) + b":" + orjson.dumps(made["types"][name]) for name in made["types"]))
    lines.append(b'},\n"resources":[')
    lines.append(b",\n".join(orjson.dumps(each) for each in made["resources"]))
    lines.append(b"]}\n")
    return b"\n".join(lines)


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _kinds(definition: Object) -> Iterable[str]:
    for each in definition.get("x-kubernetes-group-version-kind", ()):
        version = f"{each['group']}/{each['version']}" if each["group"] else each["version"]
        yield f"{version} {each['kind']}"


def _is_empty_struct(name: str, definition: Object) -> bool:
    """A Go struct that has no fields yet; OpenAPI cannot tell it from a free-form object."""
    return name.endswith("CustomResourceSubresourceStatus") and definition.get("type") == "object"


def _type(name: str, definition: Object, definitions: Mapping[str, Object]) -> Object:
    record: Object = {
        "f": {name: _code(field, definitions) for name, field in definition.get("properties", {}).items()}
    }
    if "x-kubernetes-map-type" in definition:
        record["map"] = definition["x-kubernetes-map-type"]
    if "required" in definition:
        record["r"] = definition["required"]
    written = _always_written(definition) | dict.fromkeys(_WRITTEN_TOO.get(name, ()))
    written = {field: zero for field, zero in written.items() if field not in _NOT_WRITTEN.get(name, ())}
    if written:
        record["z"] = written
    return record


def _always_written(definition: Object) -> Object:
    """The fields that Go writes even when they are zero, with that zero; `{}` is a struct that is no pointer.

    A default in OpenAPI tells of strings, numbers and structs. Lists, maps and pointers that have to be there are
    written as null. Times that are zero are left out nearly everywhere an empty object has one.
    """
    found: Object = {}
    required = definition.get("required", ())
    for name, field in definition.get("properties", {}).items():
        if _refers_to_time(field):
            continue
        if "default" in field and field["default"] in ({}, "", 0, False):
            found[name] = field["default"]
        elif name in required:
            found[name] = None
    return found


def _refers_to_time(field: Object) -> bool:
    return any(str(each.get("$ref", "")).endswith("Time") for each in field.get("allOf", ()))


def _code(schema: Object, definitions: Mapping[str, Object]) -> Any:
    reference = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf", ()) if "$ref" in each), None)
    facts = _facts(schema)
    if reference is not None:
        return _reference(reference.rpartition("/")[2], facts, definitions)
    kind = schema.get("type", "")
    if kind == "array":
        return ["[]", _code(schema["items"], definitions), facts]
    if kind == "object":
        inner = schema.get("additionalProperties")
        return ["{}", _code(inner, definitions) if inner else "d", facts]
    if not kind:
        return "d"
    code = _SCALARS[kind, schema.get("format", "")]
    return [code, "", facts] if facts else code


def _reference(name: str, facts: Object, definitions: Mapping[str, Object]) -> Any:
    definition = definitions[name]
    if name in _SPECIAL:
        return [_SPECIAL[name], "", facts] if facts and _SPECIAL[name] != "a" else _SPECIAL[name]
    if "properties" in definition or _is_empty_struct(name, definition):
        return ["@", _short(name), facts] if facts else f"@{_short(name)}"
    return ["{}", "d", facts] if definition.get("type") == "object" else "d"


def _facts(schema: Object) -> Object:
    """What a field adds to its type. A default of `{}` says only that the Go field is no pointer."""
    found = {
        "list": schema.get("x-kubernetes-list-type"),
        "keys": schema.get("x-kubernetes-list-map-keys"),
        "map": schema.get("x-kubernetes-map-type"),
        "key": schema.get("x-kubernetes-patch-merge-key"),
        "strategy": schema.get("x-kubernetes-patch-strategy"),
        "enum": schema.get("enum"),
        "default": schema.get("default") if schema.get("default") != {} else None,
    }
    return {name: fact for name, fact in found.items() if fact is not None}


def resources(discovery: Iterable[Object], hashes: Mapping[tuple[str, str, str], str]) -> list[Any]:
    """What discovery says, group by group in its own order."""
    return [
        [
            group["metadata"].get("name", ""),
            version["version"],
            [
                _resource(each, hashes.get((group["metadata"].get("name", ""), version["version"], each["resource"])))
                for each in version["resources"]
            ],
        ]
        for group in discovery
        for version in group["versions"]
    ]


def _resource(facts: Object, storage_hash: str | None) -> Object:
    made: Object = {
        "plural": facts["resource"],
        "singular": facts["singularResource"],
        "kind": facts["responseKind"]["kind"],
        "namespaced": facts["scope"] == "Namespaced",
    }
    if tuple(facts["verbs"]) != CORE_DEFAULT_VERBS:
        made["verbs"] = facts["verbs"]
    if "shortNames" in facts:
        made["short"] = facts["shortNames"]
    if "categories" in facts:
        made["categories"] = facts["categories"]
    if "subresources" in facts:
        made["subresources"] = [
            [each["subresource"], kind["kind"], each["verbs"], kind["group"], kind["version"]]
            for each in facts["subresources"]
            for kind in [each["responseKind"]]
        ]
    if storage_hash:
        made["hash"] = storage_hash
    return made


async def _ask(session: aiohttp.ClientSession, path: str, accept: str = "application/json") -> Object:
    async with session.get(path, headers={"Accept": accept}) as answer:
        answer.raise_for_status()
        found: Object = orjson.loads(await answer.read())
        return found


async def _read(session: aiohttp.ClientSession) -> Object:
    definitions: Object = {}
    for path in (await _ask(session, "/openapi/v3"))["paths"]:
        document = await _ask(session, f"/openapi/v3/{path}")
        for name, definition in document.get("components", {}).get("schemas", {}).items():
            definitions.setdefault(name, definition)
    discovery = [
        *(await _ask(session, "/api", _AGGREGATED))["items"],
        *(await _ask(session, "/apis", _AGGREGATED))["items"],
    ]
    return table(definitions, resources(discovery, await _hashes(session, discovery)))


async def _hashes(session: aiohttp.ClientSession, discovery: Iterable[Object]) -> dict[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for group in discovery:
        name = group["metadata"].get("name", "")
        for version in (each["version"] for each in group["versions"]):
            listed = await _ask(session, f"/apis/{name}/{version}" if name else f"/api/{version}")
            for each in listed["resources"]:
                if "storageVersionHash" in each:
                    found[name, version, each["name"]] = each["storageVersionHash"]
    return found


async def main() -> None:
    """Read a fresh server, and write the table."""
    async with real_server() as session:
        made = await _read(session)
    target = Path(__file__).with_name(FILE)
    written = await asyncio.to_thread(target.write_bytes, encode(made))
    sys.stdout.write(f"{target.name}: {len(made['types'])} types, {written} bytes\n")


if __name__ == "__main__":
    asyncio.run(main())
