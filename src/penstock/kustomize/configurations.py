"""Transformer configurations: field specs from files, and from OpenAPI extensions (`crds`)."""

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.kustomize.config import EMPTY, TransformerConfig, configured
from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.fieldspecs import FieldSpec
from penstock.kustomize.ids import Gvk
from penstock.kustomize.kustomization import FieldSpecFields
from penstock.kustomize.place import Place
from penstock.kustomize.records import Record, read
from penstock.yaml import YAMLError, config

_DEPTH = 50  # of definitions that refer to definitions


class _NameReference(Record):
    group: str = ""
    version: str = ""
    kind: str = ""
    field_specs: tuple[FieldSpecFields, ...] = ()


class _File(Record):
    name_prefix: tuple[FieldSpecFields, ...] = ()
    name_suffix: tuple[FieldSpecFields, ...] = ()
    namespace: tuple[FieldSpecFields, ...] = ()
    common_labels: tuple[FieldSpecFields, ...] = ()
    labels: tuple[FieldSpecFields, ...] = ()
    template_labels: tuple[FieldSpecFields, ...] = ()
    common_annotations: tuple[FieldSpecFields, ...] = ()
    name_reference: tuple[_NameReference, ...] = ()
    var_reference: tuple[FieldSpecFields, ...] = ()
    images: tuple[FieldSpecFields, ...] = ()
    replicas: tuple[FieldSpecFields, ...] = ()


def from_files(paths: Iterable[str], place: Place) -> TransformerConfig:
    """The configurations in files, together."""
    found = EMPTY
    for path in paths:
        value = _read(path, place)
        found = found.merged(_from_file(read(value if value is not None else {}, _File, place.name(path))))
    return found


def from_crds(paths: Iterable[str], place: Place) -> TransformerConfig:
    """What the definitions of custom types say about their fields."""
    found = EMPTY
    for path in paths:
        value = _read(path, place)
        if not isinstance(value, dict):
            raise KustomizationError(f"{place.name(path)}: expected a mapping of OpenAPI definitions")
        found = found.merged(_from_definitions(value))
    return found


def _read(path: str, place: Place) -> Any:
    try:
        return config(place.read(path))
    except YAMLError as error:
        raise KustomizationError(f"{place.name(path)}: {error}") from error


def _from_file(file: _File) -> TransformerConfig:
    names = [name for name in _File.__annotations__ if name not in ("name_reference", "var_reference")]
    specs: dict[str, Iterable[FieldSpec]] = {name: [one.spec for one in getattr(file, name)] for name in names}
    specs["variables"] = [one.spec for one in file.var_reference]
    references = [
        (Gvk(one.group, one.version, one.kind), [spec.spec for spec in one.field_specs]) for one in file.name_reference
    ]
    return configured(specs=specs, references=references)


def _from_definitions(definitions: dict[str, Any]) -> TransformerConfig:
    specs: dict[str, list[FieldSpec]] = {"common_annotations": [], "common_labels": [], "name_prefix": []}
    references: list[tuple[Gvk, list[FieldSpec]]] = []
    for name in definitions:
        if {"kind", "apiVersion", "metadata"} <= _properties(definitions, name).keys():
            kind = name.rpartition(".")[2]
            for path, extensions in _extended(definitions, name, (), 0):
                _configure(kind, path, extensions, specs, references)
    return configured(specs=dict(specs), references=references)


def _properties(definitions: dict[str, Any], name: str) -> dict[str, Any]:
    definition = definitions.get(name)
    schema = definition.get("Schema", definition.get("schema")) if isinstance(definition, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _extended(
    definitions: dict[str, Any], name: str, path: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if depth > _DEPTH:
        raise KustomizationError(f"the definition '{name}' refers to itself")
    for field, schema in _properties(definitions, name).items():
        if not isinstance(schema, dict):
            continue
        yield (*path, field), schema
        if "$ref" in schema:
            yield from _extended(definitions, str(schema["$ref"]), (*path, field), depth + 1)


def _configure(
    kind: str,
    path: tuple[str, ...],
    extensions: dict[str, Any],
    specs: dict[str, list[FieldSpec]],
    references: list[tuple[Gvk, list[FieldSpec]]],
) -> None:
    spec = FieldSpec("/".join(path), kind=kind)
    for extension, name in (
        ("annotation", "common_annotations"),
        ("label-selector", "common_labels"),
        ("identity", "name_prefix"),
    ):
        if f"x-kubernetes-{extension}" in extensions:
            specs[name].append(spec)
    version = extensions.get("x-kubernetes-object-ref-api-version")
    target = extensions.get("x-kubernetes-object-ref-kind")
    if version is not None and target is not None:
        name_key = extensions.get("x-kubernetes-object-ref-name-key", "name")
        references.append((Gvk("", version, target), [spec._replace(path=f"{spec.path}/{name_key}")]))
