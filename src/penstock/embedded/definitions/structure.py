"""Checks the schema of a definition: it must be structural, so that everything else can rely on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import re2

from penstock.embedded.definitions.checking import check
from penstock.embedded.definitions.nodes import MISSING, Node
from penstock.embedded.definitions.shaping import prune
from penstock.embedded.kinds.problems import forbidden, invalid, required, unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.embedded.kinds.problems import Problems

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_SCALARS = ("boolean", "integer", "number", "string")
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_COMPOSED = ("allOf", "anyOf", "oneOf")
_ONLY_OUTSIDE = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
)
"""What may not be said inside of allOf, anyOf, oneOf and not."""


def check_schema(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    """Add what is wrong with the schema of a version."""
    found: Problems = []
    if schema.get("nullable") is True:
        found.append(forbidden(f"{field}.nullable", "nullable cannot be true at the root"))
    _check_structure(found, schema, field, where="root")
    _check_words(found, schema, field)
    problems += found
    if not found:
        _check_defaults(problems, schema, field)


def _inner(schema: Mapping[str, Any], field: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The schemas directly below, with where they are."""
    for name, each in (schema.get("properties") or {}).items():
        yield each, f"{field}.properties[{name}]"
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{field}.additionalProperties"
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{field}.items"


def _check_words(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    """What no schema may say anywhere, and what needs something else beside it."""
    kind = schema.get("type")
    if kind == "null":
        problems.append(forbidden(f"{field}.type", "type cannot be set to null, use nullable as an alternative"))
    if kind and kind not in TYPES:
        problems.append(unsupported(f"{field}.type", kind, TYPES))
    problems += [
        forbidden(f"{field}.{word}", f"{word} is not supported") for word in _NOT_SUPPORTED if schema.get(word)
    ]
    if schema.get("uniqueItems") is True:
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        problems.append(forbidden(f"{field}.uniqueItems", why))
    if schema.get("additionalProperties") not in (None, False) and schema.get("properties"):
        why = "additionalProperties and properties are mutual exclusive"
        problems.append(forbidden(f"{field}.additionalProperties", why))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        word = "x-kubernetes-preserve-unknown-fields"
        problems.append(invalid(f"{field}.{word}", False, "must be true or undefined"))
    _check_list_words(problems, schema, field)
    for each, where in _inner(schema, field):
        _check_words(problems, each, where)


def _check_list_words(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in ("atomic", "granular"):
        problems.append(unsupported(f"{field}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    if list_type is not None and schema.get("type") != "array":
        why = "must be array if x-kubernetes-list-type is specified"
        kind = schema.get("type")
        problems.append(invalid(f"{field}.type", kind, why) if kind else required(f"{field}.type", why))
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        problems.append(unsupported(f"{field}.x-kubernetes-list-type", list_type, ("atomic", "set", "map")))
    if keys and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        where = f"{field}.x-kubernetes-list-type"
        problems.append(invalid(where, list_type, why) if list_type else required(where, why))
    if list_type == "map":
        _check_keys(problems, schema, tuple(keys), field)


def _check_keys(problems: Problems, schema: Mapping[str, Any], keys: tuple[str, ...], field: str) -> None:
    if not keys:
        why = "must not be empty if x-kubernetes-list-type is map"
        problems.append(required(f"{field}.x-kubernetes-list-map-keys", why))
    items = schema.get("items")
    if not isinstance(items, dict):
        problems.append(required(f"{field}.items", "must have a schema if x-kubernetes-list-type is map"))
        return
    if items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        problems.append(invalid(f"{field}.items.type", items.get("type", ""), why))
    known = items.get("properties") or {}
    for key in keys:
        where = f"{field}.items.properties[{key}]"
        if key not in known:
            why = "entries must all be names of item properties"
            problems.append(invalid(f"{field}.x-kubernetes-list-map-keys", list(keys), why))
            continue
        if known[key].get("type") not in (*_SCALARS, None, ""):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            problems.append(invalid(f"{where}.type", items.get("type", ""), why))
        named = "this property is in x-kubernetes-list-map-keys, so it"
        if "default" not in known[key] and key not in (items.get("required") or ()):
            problems.append(required(f"{where}.default", f"{named} must have a default or be a required property"))
        if known[key].get("nullable") is True:
            problems.append(forbidden(f"{where}.nullable", f"{named} cannot be nullable"))
    if len(set(keys)) != len(keys):
        why = "must not contain duplicate entries"
        problems.append(invalid(f"{field}.x-kubernetes-list-map-keys", list(keys), why))


def _check_structure(problems: Problems, schema: Mapping[str, Any], field: str, *, where: str) -> None:
    kind: str = schema.get("type") or ""
    if kind == "array" and not isinstance(schema.get("items"), dict):
        problems.append(required(f"{field}.items", "must be specified"))
    _check_inner_structure(problems, schema, field)
    _check_patterns(problems, schema, field)
    if where == "root" and schema.get("additionalProperties") is not None:
        problems.append(forbidden(f"{field}.additionalProperties", "must not be used at the root"))
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    free = (
        schema.get("x-kubernetes-int-or-string") is True or schema.get("x-kubernetes-preserve-unknown-fields") is True
    )
    if embedded and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        problems.append(invalid(f"{field}.type", kind, why) if kind else required(f"{field}.type", why))
    elif not kind and not free:
        places = {"root": "at the root", "item": "for specified array items"}
        problems.append(
            required(f"{field}.type", f"must not be empty {places.get(where, 'for specified object fields')}")
        )
    if where == "root" and kind not in ("", "object"):
        problems.append(invalid(f"{field}.type", kind, "must be object at the root"))
    if embedded or where == "root":
        _check_identity(problems, schema, field)
    if embedded and not free and not schema.get("properties"):
        why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        problems.append(required(f"{field}.properties", why))


def _check_inner_structure(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    for each, below in _inner(schema, field):
        _check_structure(problems, each, below, where="item" if below == f"{field}.items" else "field")
    for word in _COMPOSED:
        for index, each in enumerate(schema.get(word) or ()):
            _check_nested(problems, each, f"{field}.{word}[{index}]", schema)
    if schema.get("not"):
        _check_nested(problems, schema["not"], f"{field}.not", schema)


def _check_identity(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    known = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in known and known[name].get("type") != "string":
            problems.append(invalid(f"{field}.properties[{name}].type", known[name].get("type", ""), "must be string"))
    metadata = known.get("metadata")
    if metadata is None:
        return
    where = f"{field}.properties[metadata]"
    if metadata.get("type") != "object":
        problems.append(invalid(f"{where}.type", metadata.get("type", ""), "must be object"))
    said = set(metadata) - {"type", "description", "properties"}
    if said or set(metadata.get("properties") or ()) - {"name", "generateName"}:
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        problems.append(forbidden(where, why))


def _check_nested(problems: Problems, schema: Mapping[str, Any], field: str, outer: Mapping[str, Any]) -> None:
    """A schema inside of allOf and the like may only restrict what is declared outside."""
    may_have_type = outer.get("x-kubernetes-int-or-string") is True
    for word, why in _ONLY_OUTSIDE:
        if schema.get(word) and not (word == "type" and may_have_type):
            problems.append(forbidden(f"{field}.{word}", why))
    _check_patterns(problems, schema, field)
    for name, each in (schema.get("properties") or {}).items():
        _check_nested(problems, each, f"{field}.properties[{name}]", {})
    if isinstance(schema.get("items"), dict):
        _check_nested(problems, schema["items"], f"{field}.items", {})


def _check_patterns(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    pattern = schema.get("pattern")
    if not pattern:
        return
    try:
        re2.compile(pattern, _quiet())
    except re2.error as error:
        why = f"must be a valid regular expression, but isn't: error parsing regexp: {_go_words(error, pattern)}"
        problems.append(invalid(f"{field}.pattern", pattern, why))


def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
}


def _go_words(error: Exception, pattern: str) -> str:
    """What the two libraries of the same regular expressions say differently."""
    words = error.args[0] if error.args else str(error)
    told = words.decode() if isinstance(words, bytes) else str(words)
    kind, colon, part = told.partition(": ")
    return f"{_GO_WORDS.get(kind, kind)}: `{part if colon and part else pattern}`"


def _check_defaults(problems: Problems, schema: Mapping[str, Any], field: str) -> None:
    """A default must be what it would be after pruning, and fit its own type."""
    if schema.get("default") is not None:
        node = Node(schema)
        pruned = _copied(node.default)
        prune(pruned, node)
        if pruned != node.default:
            problems.append(invalid(f"{field}.default", node.default, "must not have unknown fields"))
        found: Problems = []
        check(found, node.default, node, f"{field}.default", MISSING)
        problems += found
    for each, below in _inner(schema, field):
        _check_defaults(problems, each, below)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
