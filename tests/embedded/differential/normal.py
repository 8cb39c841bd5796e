"""Answers without what cannot be equal on two servers: uids, resource versions, times, and what is drawn by lot."""

from __future__ import annotations

import re
from typing import Any

import orjson

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# An error quotes a whole patched object, which has its version in it.
_QUOTED_VERSION = re.compile(r'(resourceVersion\\":\\")\d+')
_CLUSTER_IP = re.compile(r"\b10\.0\.\d+\.\d+\b")
_DRAWN = frozenset({"nodePort", "healthCheckNodePort"})


def normal(value: Any, key: str = "") -> Any:
    """The value with placeholders, and lists without an order of their own sorted."""
    if isinstance(value, dict):
        return {name: normal(child, name) for name, child in value.items()}
    if isinstance(value, list):
        items = [normal(item) for item in value]
        return sorted(items, key=_text) if key in {"managedFields", "causes"} else items
    if isinstance(value, str):
        return _normal_text(value, key)
    return "<drawn>" if key in _DRAWN and isinstance(value, int) and value >= 30000 else value


def _normal_text(text: str, key: str) -> str:
    if key == "resourceVersion" and text:
        return "<version>"
    text = _TIME.sub("<time>", _UID.sub("<uid>", text))
    text = _QUOTED_VERSION.sub(r"\1<version>", _CLUSTER_IP.sub("<ip>", text))
    if key == "message":
        if "errors:\n" in text:
            first, *lines = text.split("\n")
            return "\n".join([first, *sorted(lines)])
    return text


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
