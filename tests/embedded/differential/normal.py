"""Answers without what cannot be equal on two servers.

This is the whole list; everything else has to be the same, key for key and word for word.

- uids, resource versions and times, wherever they stand, also inside of objects that an error quotes.
- The order of managedFields, which times decide.
- What is drawn by lot: cluster IPs, node ports, and the names of the volumes that hold tokens.
- The order of the causes of a conflict: the server walks through the managers in a random order.
- The lines of an error about several fields that do not fit their schema: the server walks through them likewise.
- The order of keys in a fieldsV1 that an error quotes: after a write to a scale, and only then, numbers in keys stand
  in the order of their digits.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TOKEN_VOLUME = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
_VERSION_IN_TEXT = re.compile(r'(resourceVersion\\*"?:\\*"?|ResourceVersion in record \()\d+')
_CLUSTER_IP = re.compile(r"\b10\.0\.\d+\.\d+\b")
_QUOTED = re.compile(r'(?<=Invalid value: )"(?:[^"\\]|\\.)*"')
_SCHEMA_ERRORS = re.compile(r"errors:\n")
_CONFLICT = "FieldManagerConflict"
_DRAWN = frozenset({"nodePort", "healthCheckNodePort"})
_FIRST_NODE_PORT = 30000


def normal(value: Any, key: str = "") -> Any:
    """The value with placeholders for what differs from server to server."""
    if isinstance(value, dict):
        made = {name: normal(child, name) for name, child in value.items()}
        return _sorted(made) if key == "fieldsV1" else made
    if isinstance(value, list):
        items = [normal(item) for item in value]
        return sorted(items, key=_text) if key == "managedFields" or _is_conflict(items) else items
    if isinstance(value, str):
        return _normal_text(value, key)
    return "<drawn>" if key in _DRAWN and isinstance(value, int) and value >= _FIRST_NODE_PORT else value


def _normal_text(text: str, key: str) -> str:
    if key == "resourceVersion" and text:
        return "<version>"
    text = _CLUSTER_IP.sub("<ip>", _TIME.sub("<time>", _UID.sub("<uid>", text)))
    text = _TOKEN_VOLUME.sub("<token volume>", _VERSION_IN_TEXT.sub(r"\1<version>", text))
    if key != "message":
        return text
    if _SCHEMA_ERRORS.search(text):
        first, *lines = text.split("\n")
        return "\n".join([first, *sorted(lines)])
    return _QUOTED.sub(_quoted, text)


def _quoted(match: re.Match[str]) -> str:
    """A whole object that an error quotes: as an object, but every key stays where it is."""
    try:
        # What is escaped in there for the sake of HTML stays escaped.
        text: str = orjson.loads(match[0].replace("\\\\u00", "\\\\\\\\u00"))
        return orjson.dumps(normal(orjson.loads(text))).decode() if text.startswith("{") else match[0]
    except orjson.JSONDecodeError:
        return match[0]


def _is_conflict(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and item.get("reason") == _CONFLICT for item in items)


def _sorted(value: Any) -> Any:
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def differences(left: Any, right: Any, path: str = "") -> list[str]:
    """Where two normalised values differ, one line each."""
    if isinstance(left, dict) and isinstance(right, dict):
        found: list[str] = []
        for key in sorted({*left, *right}):
            where = f"{path}.{key}"
            if key not in left:
                found.append(f"{where}: only embedded has {_short(right[key])}")
            elif key not in right:
                found.append(f"{where}: only real has {_short(left[key])}")
            else:
                found += differences(left[key], right[key], where)
        return found
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [
            line for i, pair in enumerate(zip(left, right, strict=True)) for line in differences(*pair, f"{path}[{i}]")
        ]
    same = left == right and isinstance(left, bool) == isinstance(right, bool)
    return [] if same else [f"{path}: real {_short(left)}, embedded {_short(right)}"]


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) < 600 else f"{text[:600]} ..."
