"""Expressions in built objects: each object is written as text, substituted, and read again.

The text has lost the quotes that its author wrote: a variable that holds `123` or `true` becomes a number or a
boolean, and an empty one becomes null, as it does with Flux.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from penstock.render.envsubst import substitute
from penstock.render.errors import SubstitutionFailed
from penstock.render.expressions import ExpressionError
from penstock.yaml import YAMLError, config, plain, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Object = dict[str, Any]

_SWITCH = "kustomize.toolkit.fluxcd.io/substitute"
_LINE = re.compile(r"line \d+")


def substituted(obj: Object, text: str, variables: Mapping[str, str], *, strict: bool) -> Object:
    """The object after substitution in its YAML text; the same one when there is nothing to do.

    SubstitutionFailed names the object, and never quotes a value: it may come from a Secret.
    """
    if "$" not in text or is_disabled(obj):
        return obj
    try:
        replaced = substitute(text, variables, strict=strict)
        if replaced == text:
            return obj
        made = _settled(config(replaced))
    except ExpressionError as error:
        raise _failed(obj, f"variable substitution failed: {error}") from error
    except YAMLError as error:
        line = _LINE.search(str(error))
        where = f" at {line[0]} of the object" if line else ""
        raise _failed(obj, f"YAMLToJSON: the text is no YAML any more after substitution{where}") from None
    if not isinstance(made, dict) or not made.get("kind"):
        raise _failed(obj, "UnmarshalJSON: the text is no object any more after substitution")
    return made


def _settled(value: Any) -> Any:
    """What JSON knows of a value; a date is the text that stands there."""
    kind = type(value)
    if kind is dict:
        return {key: _settled(item) for key, item in value.items()}
    if kind is list:
        return [_settled(item) for item in value]
    return text_of(value) if isinstance(value, str) and kind is not str else plain(value)


def is_disabled(obj: Object) -> bool:
    """True when a label or annotation of the object keeps it as it is."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return False
    marks = (metadata.get("labels"), metadata.get("annotations"))
    return any(isinstance(texts, dict) and texts.get(_SWITCH) == "disabled" for texts in marks)


def type_name(obj: Object) -> str:
    """Kind, version and group as kustomize prints them, such as `Deployment.v1.apps`."""
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{obj.get('kind', '')}.{version}.{group or '[noGrp]'}"


def _failed(obj: Object, why: str) -> SubstitutionFailed:
    name = (obj.get("metadata") or {}).get("name", "")
    return SubstitutionFailed(f"post build failed for '{type_name(obj)}/{name}': envsubst error: {why}")
