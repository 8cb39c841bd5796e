"""Values as Go's formatting verbs print them, because the server's messages contain them."""

from __future__ import annotations

from typing import Any

from penstock.embedded.fields.sets import quoted


def go_type(value: Any) -> str:
    """`%T` of a decoded JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if value is None:
        return "<nil>"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def go_plain(value: Any) -> str:
    """`%v` of the server's wrapper around a value."""
    return f"&{{{go_value(value)}}}"


def go_value(value: Any) -> str:
    """`%v` of a decoded JSON value: maps are sorted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_value, value))}]"
    return str(value)


def go_syntax(value: Any) -> str:
    """`%#v` of the server's wrapper around a value."""
    return f"&value.valueUnstructured{{Value:{_literal(value)}}}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        pairs = ", ".join(f"{quoted(key)}:{_literal(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_literal, value))}}}"
    return str(value)
