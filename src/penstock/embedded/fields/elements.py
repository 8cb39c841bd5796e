"""Path elements of list items: which key or value tells one item of a list from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.fields.errors import ElementError

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def element_of(item: Any, schema: Schema) -> str:
    """The path element of an item of a set or of a map list; `ElementError` when it can have none."""
    return _key(item, schema) if schema.map_keys else _value(item)


def _key(item: Any, schema: Schema) -> str:
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise ElementError(f"associative list with keys may not have {what}")
    keys = schema.memo.get("keys")
    if keys is None:
        # The names in a path element are sorted, whatever order the type lists them in.
        keys = schema.memo["keys"] = [
            (name, f'"{name}":', schema.key_defaults.get(name)) for name in sorted(schema.map_keys)
        ]
    parts: list[str] = []
    for name, text, default in keys:
        if name in item:
            parts.append(text + _json(item[name]))
        elif default is not None:
            parts.append(text + _json(default))
    if not parts:
        names = " ".join(f'"{name}"' for name in schema.map_keys)
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return f"k:{{{','.join(parts)}}}"


def _value(item: Any) -> str:
    if isinstance(item, dict):
        raise ElementError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ElementError("not supported: associative list with lists as elements")
    if item is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return f"v:{_json(item)}"


def _json(value: Any) -> str:
    """JSON as Go writes it: no spaces, and safe inside HTML."""
    if type(value) is int:
        return str(value)
    return go_safe(orjson.dumps(value).decode())


def go_safe(text: str) -> str:
    """JSON text with the letters escaped that Go escapes."""
    return text.translate(_HTML) if "<" in text or ">" in text or "&" in text or not text.isascii() else text
