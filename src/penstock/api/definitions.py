"""CustomResourceDefinitions, made from the Structs whenever somebody asks."""

import msgspec

from penstock.api.kinds import KINDS, Column, Kind
from penstock.api.structural import schema_of
from penstock.api.wire import Object, Wire, encode
from penstock.errors import UsageError

_KEEPS_VARIABLES = {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}


def crds() -> list[Object]:
    """The CRDs of all kinds, as fresh objects, always in the same order."""
    return [_definition(kind) for kind in KINDS.values()]


def crd(kind: str) -> Object:
    """The CRD of one kind, as a fresh object."""
    if kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r} here; the kinds are {', '.join(KINDS)}")
    return _definition(KINDS[kind])


def part(kind: Kind, name: str) -> type[Wire] | None:
    """The Struct behind `spec` or `status`; None when the kind has no such part."""
    fields = msgspec.structs.fields(kind.struct)
    return next((field.type for field in fields if field.name == name), None)


def _definition(kind: Kind) -> Object:
    metadata: Object = {"name": kind.crd_name}
    if kind.keeps_variables:
        metadata["annotations"] = dict(_KEEPS_VARIABLES)
    older = [
        _version(kind, old.version, kind.load(old.spec) if old.spec else None)
        | {
            "deprecated": True,
            "deprecationWarning": f"{kind.group}/{old.version} {kind.kind} is deprecated; write {kind.api_version}",
            "storage": False,
        }
        for old in kind.older
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind, kind.version), *older],
        },
    }


def _names(kind: Kind) -> Object:
    names: Object = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if kind.categories:
        names["categories"] = list(kind.categories)
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    return names


def _version(kind: Kind, version: str, spec: type[Wire] | None = None) -> Object:
    return {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _root(kind, spec)},
        "subresources": {"status": {}} if part(kind, "status") else {},
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
    }


def _column(column: Column) -> Object:
    return {"name": column.name, "type": column.type, "jsonPath": column.path}


def _root(kind: Kind, spec: type[Wire] | None) -> Object:
    properties: Object = {
        "apiVersion": {"description": "Group and version of the API.", "type": "string"},
        "kind": {"description": "Name of the kind.", "type": "string"},
        "metadata": {"type": "object"},
        "spec": schema_of(spec or part(kind, "spec")),
    }
    if status := part(kind, "status"):
        properties["status"] = schema_of(status)
        if default := _default_status(kind):
            properties["status"]["default"] = default
    return {"description": (kind.struct.__doc__ or "").strip(), "type": "object", "properties": properties}


def _default_status(kind: Kind) -> Object:
    (field,) = (field for field in msgspec.structs.fields(kind.struct) if field.name == "status")
    default: Object = encode(field.default)
    return default
