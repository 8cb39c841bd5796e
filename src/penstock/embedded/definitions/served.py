"""From a definition to what the server serves because of it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING

from penstock.embedded.definitions.custom_rules import CustomRules
from penstock.embedded.schema import structural_schema
from penstock.embedded.server.ports import ServedResource

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def served(definition: Object) -> list[ServedResource]:
    """One resource for every version that is served, under the names that were accepted."""
    spec: Object = definition["spec"]
    since = int(definition["metadata"].get("resourceVersion") or 0)
    schemas = {f"{spec['group']}/{version['name']}": _schema(version) for version in spec["versions"]}
    return [_resource(spec, version, schemas, since) for version in spec["versions"] if version.get("served")]


def _resource(spec: Object, version: Object, schemas: dict[str, Callable[[], Schema]], since: int) -> ServedResource:
    names: Object = spec["names"]
    subresources: Object = version.get("subresources") or {}
    storage = next(each["name"] for each in spec["versions"] if each.get("storage"))
    return ServedResource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        singular=names.get("singular", ""),
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        verbs=VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(name for name in ("status", "scale") if name in subresources),
        schema=schemas[f"{spec['group']}/{version['name']}"],
        schemas=schemas,
        rules=_rules(spec, version),
        custom=True,
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        list_kind=names.get("listKind", ""),
        storage_hash=storage_hash(spec["group"], storage, names["kind"]),
        scale=subresources.get("scale"),
        since=since,
    )


def _schema(version: Object) -> Callable[[], Schema]:
    return cache(lambda: structural_schema(_openapi(version)))


def _rules(spec: Object, version: Object) -> Callable[[], CustomRules]:
    """Made when the first object arrives: many definitions are never used."""
    subresources: Object = version.get("subresources") or {}
    return cache(
        lambda: CustomRules(
            _openapi(version),
            kind=spec["names"]["kind"],
            api_version=f"{spec['group']}/{version['name']}",
            namespaced=spec["scope"] == "Namespaced",
            has_status="status" in subresources,
            scale=subresources.get("scale"),
        )
    )


def _openapi(version: Object) -> Object | None:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def storage_hash(group: str, version: str, kind: str) -> str:
    """What discovery says about how objects are stored."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
