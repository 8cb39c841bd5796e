"""Values with their types: do they fit, which fields do they set, and what is left without some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.fields.elements import element_of
from penstock.embedded.fields.errors import ElementError, TypedError
from penstock.embedded.fields.gotext import go_plain, go_syntax, go_type
from penstock.embedded.fields.sets import LEAF, SELF, element_text, is_member

if TYPE_CHECKING:
    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.schema import Schema

_NUMERIC = frozenset({"integer", "number"})
_STRINGS = frozenset({"string", "bytes"})

Errors = list[tuple[str, str]]
"""Pairs of path and sentence."""


def checked(value: Any, schema: Schema) -> FieldSet:
    """The fields that a value sets, after a check that it fits its type; `TypedError` when it does not."""
    errors: Errors = []
    _validate(value, schema, "", errors)
    if errors:
        raise TypedError(sentence(errors))
    return field_set(value, schema)


def problem_of(value: Any, schema: Schema) -> str:
    """Why a stored value does not fit its type, or nothing; items that stand more than once are no problem."""
    errors: Errors = []
    _validate(value, schema, "", errors)
    errors = [(path, what) for path, what in errors if not what.startswith("duplicate entries")]
    return sentence(errors) if errors else ""


def sentence(errors: Errors) -> str:
    """One error as it is, several as a list."""
    texts = [f"{path}: {what}" if path else what for path, what in errors]
    return texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)])


def field_set(value: Any, schema: Schema) -> FieldSet:
    """Every leaf that a value sets, and every list item and map entry it mentions. The value fits its type."""
    kind = schema.kind
    if kind == "list" and isinstance(value, list):
        return {} if schema.list_type == "atomic" else _items(value, schema)
    if not isinstance(value, dict) or schema.atomic:
        return {}
    fields, element = schema.fields, schema.element
    result: FieldSet = {}
    for key, child in value.items():
        field = fields.get(key)
        type_ = field or element
        if type_ is None:
            continue
        node = LEAF if type_.kind == "scalar" else _below(child, type_)
        if node is None:
            # Nothing but empty lists that merge: a declared field is not set by that, an entry of a map is.
            if field is None:
                result[f"f:{key}"] = LEAF
        elif field is None and node and SELF not in node:
            result[f"f:{key}"] = {SELF: LEAF, **node}
        else:
            result[f"f:{key}"] = node
    return result


def _below(value: Any, schema: Schema) -> FieldSet | None:
    """The node of a field that is no scalar by type; None when nothing of it is in the set."""
    if isinstance(value, dict):
        if not value or schema.atomic:
            return LEAF
        return field_set(value, schema) or None
    if isinstance(value, list):
        if schema.kind != "list" or schema.list_type == "atomic":
            return LEAF
        return _items(value, schema) or None
    return LEAF


def _items(items: list[Any], schema: Schema) -> FieldSet:
    """Items that appear more than once are owned as one; of the others also what is in them."""
    result: FieldSet = {}
    element = schema.element
    repeated: set[str] = set()
    for item in items:
        key = element_of(item, schema)
        if key in result:
            repeated.add(key)
            continue
        inner = field_set(item, element) if element is not None and isinstance(item, dict) else LEAF
        result[key] = {SELF: LEAF, **inner} if inner else LEAF
    for key in repeated:
        result[key] = LEAF
    return result


def _validate(value: Any, schema: Schema, path: str, errors: Errors) -> None:
    kind = schema.kind
    if kind == "scalar":
        if value is not None:
            _validate_scalar(value, schema, path, errors)
    elif value is None or kind == "any":
        return
    elif kind == "list":
        _validate_list(value, schema, path, errors)
    else:
        _validate_map(value, schema, path, errors)


def _validate_scalar(value: Any, schema: Schema, path: str, errors: Errors) -> None:
    scalar = schema.scalar
    if scalar in _STRINGS:
        if type(value) is not str:
            errors.append((path, f"expected string, got {go_syntax(value)}"))
    elif scalar in _NUMERIC:
        if type(value) is not int and type(value) is not float:
            errors.append((path, f"expected numeric (int or float), got {go_type(value)}"))
    elif scalar == "boolean":
        if type(value) is not bool:
            errors.append((path, f"expected boolean, got {go_plain(value)}"))
    elif isinstance(value, dict | list) and scalar != "int-or-string":
        # The server takes int-or-string for a value of any shape; its decoder refuses it later.
        errors.append((path, f"expected any scalar, got {go_plain(value)}"))


def _validate_list(value: Any, schema: Schema, path: str, errors: Errors) -> None:
    if not isinstance(value, list):
        errors.append((path, f"expected list, got {go_plain(value)}"))
        return
    element = schema.element
    if element is None:
        return
    if schema.list_type == "atomic":
        if element.kind != "any":
            for index, item in enumerate(value):
                _validate(item, element, f"{path}[{index}]", errors)
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        try:
            key = element_of(item, schema)
        except ElementError as error:
            errors.append((path, f"element {index}: {error}"))
            return
        if key in seen:
            errors.append((path, f"duplicate entries for key {element_text(key)}"))
        seen.add(key)
        _validate(item, element, path + element_text(key), errors)


def _validate_map(value: Any, schema: Schema, path: str, errors: Errors) -> None:
    if not isinstance(value, dict):
        errors.append((path, f"expected map, got {go_plain(value)}"))
        return
    fields, element = schema.fields, schema.element
    for key, child in value.items():
        type_ = fields.get(key) or element
        if type_ is None:
            # The server looks no further in a map that has a field it does not know.
            errors.append((f"{path}.{key}", "field not declared in schema"))
            return
        if child is not None:
            if type_.kind == "scalar":
                if type(child) is not str or type_.scalar not in _STRINGS:
                    _validate_scalar(child, type_, f"{path}.{key}", errors)
            else:
                _validate(child, type_, f"{path}.{key}", errors)


def without(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """The value without these fields; None when nothing is left of it."""
    if isinstance(value, dict):
        return _map_without(value, fields, schema)
    if isinstance(value, list):
        return _list_without(value, fields, schema)
    return value


def _map_without(value: dict[str, Any], fields: FieldSet, schema: Schema) -> Any:
    if not value or schema.atomic:
        return None
    result: dict[str, Any] = {}
    for key, child in value.items():
        node = fields.get(f"f:{key}")
        if node is None:
            result[key] = child
        elif not is_member(node):
            type_ = schema.fields.get(key) or schema.element
            result[key] = child if type_ is None else without(child, node, type_)
    return result or None


def _list_without(value: list[Any], fields: FieldSet, schema: Schema) -> Any:
    if not value or schema.kind != "list" or schema.list_type == "atomic":
        return None
    result: list[Any] = []
    for item in value:
        node = fields.get(element_of(item, schema))
        if node is None:
            result.append(item)
        elif not is_member(node) and schema.element is not None:
            result.append(without(item, node, schema.element))
    return result or None


def with_named(fields: FieldSet, schema: Schema | None) -> FieldSet:
    """The set together with every declared field that has a member below it."""
    result: FieldSet = {}
    for key, node in fields.items():
        if not node:
            result[key] = node
            continue
        inner, declared = _inner(key, schema)
        below = with_named(node, inner)
        result[key] = {SELF: LEAF, **below} if declared and SELF not in below else below
    return result


def _inner(key: str, schema: Schema | None) -> tuple[Schema | None, bool]:
    if schema is None:
        return None, False
    if key.startswith("f:"):
        field = schema.fields.get(key[2:])
        return (field, True) if field is not None else (schema.element if schema.kind != "list" else None, False)
    return (schema.element, False) if schema.kind == "list" and key.startswith("k:") else (None, False)
