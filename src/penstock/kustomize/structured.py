"""Replacements inside texts that are themselves YAML or JSON, such as the files in a ConfigMap.

JSON comes out sorted, on one line or indented by two as it was before. YAML keeps its order and style; where
it has comments, only the characters of the changed value are exchanged.
"""

import json
from typing import Any

import yaml

from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldpaths import Kind, lookup, matches
from penstock.kustomize.nodes import Scalar, compose, render, splice, unwrap
from penstock.yaml import text_of
from penstock.yaml.scalars import Untagged, resolve


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


def _write(value: dict[str, Any], field: list[str], text: str, new: Any, inner: list[str], create: Kind | None) -> bool:
    try:
        edited = edit(text, new, inner, create)
    except (FieldError, yaml.YAMLError):
        return False
    for container, key in matches(value, field, None):
        container[key] = edited
    return True


def edit(text: str, new: Any, inner: list[str], create: Kind | None) -> str:
    """The text with the value written into it; FieldError if the path leads nowhere."""
    document = compose(text)
    spots = matches(document, inner, create)
    if not spots:
        raise FieldError("the path leads nowhere")
    is_json = text.lstrip()[:1] in ("{", "[")
    if "#" in text and not is_json and (edited := splice(text, [box[key] for box, key in spots], text_of(new))):
        return edited
    for container, key in spots:
        container[key] = _changed(container[key], new)
    return _as_json(unwrap(document), text) if is_json else render(document).strip()


def _changed(old: Any, new: Any) -> Any:
    if isinstance(old, (dict, list)):
        return new
    if isinstance(old, Scalar):
        return old.replaced(text_of(new))
    return resolve(text_of(new), "resource") if isinstance(old, Untagged) else text_of(new)


def _as_json(value: Any, original: str) -> str:
    indented = "\n" in original and "  " in original
    text = json.dumps(
        value,
        ensure_ascii=False,
        sort_keys=True,
        indent=2 if indented else None,
        separators=(",", ": ") if indented else (",", ":"),
    )
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
