"""What a refused dry-run means: what is told of it, and whether the object has to be made anew."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

from penstock.kube.errors import ApiError, Invalid, KubeError, NoMatch, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kube import Object, ObjectRef

HIDDEN = "*****"
SHORT = 6
"""Characters under which a value may stand inside of other words by chance."""

_IMMUTABLE = re.compile(
    r"is\s+immutable"
    r"|immutable\s+field"
    r"|updates\s+to\s+[^;]{1,400}\s(?:is|are)\s+forbidden"
    r"|may\s+not\s+(?:be\s+)?change"
    r"|cannot\s+(?:be\s+)?change"
    r"|can\s?not\s+be\s+unset"
)
"""What validation says of a field that cannot change, as the kinds of Kubernetes word it."""

_IMMUTABLE_ANYWHERE = re.compile(r"is\s+immutable|immutable\s+field")


def told(ref: ObjectRef, desired: Object, error: KubeError, *, namespaced: bool = True) -> str:
    """One sentence about a dry-run that failed, in the words that users of Flux search for.

    A kind that lives outside of namespaces lacks none, whatever it did not find.
    """
    message = public(str(error), desired)
    if isinstance(error, NoMatch):
        kind, version = desired.get("kind"), desired.get("apiVersion")
        return f'{ref} dry-run failed: no matches for kind "{kind}" in version "{version}": {message}'
    if isinstance(error, NotFound):
        lacking = namespaced and not ref.namespace
        return f"{ref} namespace not specified: {message}" if lacking else f"{ref} not found: {message}"
    reason = _reason(error)
    return f"{ref} dry-run failed{f' ({reason})' if reason else ''}: {message}"


def _reason(error: KubeError) -> str:
    if not isinstance(error, ApiError):
        return ""
    if any(cause.reason == "FieldManagerConflict" for cause in error.causes):
        return "FieldManagerConflict"
    return error.reason


def is_immutable(error: KubeError) -> bool:
    """Whether nothing but a field that must not change stands in the way: making the object anew would help.

    A mistake beside it would not go away by deleting the object, so every cause has to be such a field. A precondition
    on the uid is not one, although the server says so.
    """
    if not isinstance(error, ApiError) or error.code >= 500:
        return False
    if isinstance(error, Invalid) and error.causes:
        return all(cause.field != "metadata.uid" and _IMMUTABLE.search(cause.message) for cause in error.causes)
    pattern = _IMMUTABLE if isinstance(error, Invalid) else _IMMUTABLE_ANYWHERE
    return pattern.search(str(error)) is not None


def public(message: str, desired: Object) -> str:
    """The message without anything that the data of a Secret hold, in any form in which a server may quote it.

    A short value counts only as a word of its own, and the object's name stays: it is no secret.
    """
    if desired.get("kind") != "Secret" or desired.get("apiVersion") != "v1":
        return message
    message = message.partition(", error found in #")[0]  # the decoder quotes the bytes around a mistake
    values = sorted({value for value in _values(desired) if value}, key=len, reverse=True)
    if not values:
        return message
    hidden = "|".join(re.escape(value) if len(value) >= SHORT else rf"\b{re.escape(value)}\b" for value in values)
    name = re.escape(str((desired.get("metadata") or {}).get("name") or HIDDEN))
    return re.sub(f"({name})|{hidden}", lambda found: found[1] or HIDDEN, message)


def _values(secret: Object) -> Iterator[str]:
    for place in ("data", "stringData"):
        for text in _leaves(secret.get(place)):
            yield from _forms(text)


def _leaves(value: Any) -> Iterator[str]:
    """Every value inside, also where the data have a shape that they must not have."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)


def _forms(text: str) -> Iterator[str]:
    yield text
    yield base64.b64encode(text.encode()).decode()
    try:
        yield base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return
