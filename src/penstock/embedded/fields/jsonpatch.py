"""JSON patch (RFC 6902) and JSON merge patch (RFC 7396), with the habits of the library that the server uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.fields.errors import PatchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kube.resources import Object

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 * 1024 * 1024
"""Bytes that the copies of one patch may add up to."""

_INDEX = re.compile(r"[+-]?[0-9]+")
_HTML = re.compile("[<>&\u2028\u2029]")
_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class _Rejected(Exception):
    """The patch does not fit; the server does not say where."""


class _Document:
    """The object on the way through a patch; parts of it are copied before they change."""

    def __init__(self, root: Any, patch: list[Any]) -> None:
        self.root = root
        self.copied = 0
        self._patch = patch
        self._own: dict[int, Any] = {}
        """Containers made here, by identity; kept alive so that no identity is used twice."""

    def place(self, path: str) -> tuple[dict[str, Any] | list[Any], str]:
        """The container that a pointer leads to, ready to be changed, and the last key."""
        parts = path.split("/")
        if len(parts) < 2:
            raise _Rejected
        container = self.root = self._owned(self.root)
        for part in parts[1:-1]:
            key = _unescaped(part)
            child = self._owned(get(container, key))
            put(container, key, child)
            container = child
        return container, _unescaped(parts[-1])

    def holds(self, found: Any, wanted: Any) -> bool:
        """Whether a value is equal as written: 1 is not 1.0, and the server's own text is in HTML-safe JSON.

        So a string with `<` in it is equal only when this very patch has put it there.
        """
        if type(found) is not type(wanted):
            return False
        if isinstance(found, dict):
            return found.keys() == wanted.keys() and all(self.holds(found[key], wanted[key]) for key in found)
        if isinstance(found, list):
            return len(found) == len(wanted) and all(map(self.holds, found, wanted))
        if found != wanted:
            return False
        return not isinstance(found, str) or not _HTML.search(found) or self._is_sent(found)

    def _is_sent(self, text: str) -> bool:
        return any(text is each for operation in self._patch for each in _strings((operation or {}).get("value")))

    def finished(self, value: Any) -> Any:
        """The value as the server writes it: the keys of maps that it had to open are sorted.

        It matters to whoever reads the document in order and stops at the first mistake.
        """
        if id(value) not in self._own:
            return value
        if isinstance(value, dict):
            return {key: self.finished(value[key]) for key in sorted(value)}
        return [self.finished(item) for item in value]

    def opened(self, value: Any) -> Any:
        """The value with all of it open, as it is once it was compared."""
        if not isinstance(value, dict | list):
            return value
        fresh = self._owned(value)
        for key, child in list(fresh.items() if isinstance(fresh, dict) else enumerate(fresh)):
            fresh[key] = self.opened(child)
        return fresh

    def _owned(self, value: Any) -> Any:
        if not isinstance(value, dict | list):
            raise _Rejected
        if id(value) in self._own:
            return value
        fresh = value.copy()
        self._own[id(fresh)] = fresh
        return fresh


def json_patch(obj: Object, patch: Any, *, validation: str = "Warn") -> Object:
    """The object after all operations; `PatchError` as the server answers it.

    `validation` is the request's fieldValidation, which only decides how a body of the wrong shape is named.
    """
    if patch is None:
        return obj
    _check_shape(patch, strict=validation != "Ignore")
    if len(patch) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    document = _Document(obj, patch)
    try:
        for operation in patch:
            _operate(document, operation)
    except _Rejected:
        message = "the server rejected our request due to an error in our request"
        raise PatchError(422, "Invalid", message) from None
    result: Object = document.finished(document.root)
    return result


def _check_shape(patch: Any, *, strict: bool) -> None:
    whole, one = (
        ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp") if strict else ("jsonpatch.Patch", "jsonpatch.Operation")
    )
    if not isinstance(patch, list):
        _refuse(patch, f"value of type {whole}", strict=strict)
    for operation in patch:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            _refuse(operation, f"value of type {one}", strict=strict)
        for name in ("op", "path", "from"):
            if strict and operation.get(name) is not None and not isinstance(operation[name], str):
                _refuse(operation[name], f"struct field jsonPatchOp.{name} of type string", strict=strict)


def _refuse(value: Any, target: str, *, strict: bool) -> None:
    message = f"json: cannot unmarshal {_TYPES.get(type(value), 'null')} into Go {target}"
    raise PatchError(400, "BadRequest", f"error decoding patch: {message}" if strict else message)


def _operate(document: _Document, operation: dict[str, Any] | None) -> None:
    if operation is None:
        raise _Rejected
    verb = operation.get("op")
    path = _text(operation, "path") if verb not in {"move", "copy"} else ""
    if verb == "add":
        insert(*document.place(path), operation.get("value"))
    elif verb == "remove":
        remove(*document.place(path))
    elif verb == "replace":
        _replace(document, path, operation.get("value"))
    elif verb == "test":
        _test(document, path, operation.get("value"))
    elif verb == "move":
        source, key = document.place(_text(operation, "from"))
        value = get(source, key, missing=None)
        remove(source, key)
        insert(*document.place(_text(operation, "path")), value)
    elif verb == "copy":
        _copy(document, operation)
    else:
        raise _Rejected


def _text(operation: dict[str, Any], name: str) -> str:
    value = operation.get(name)
    if not isinstance(value, str):
        raise _Rejected
    return value


def _replace(document: _Document, path: str, value: Any) -> None:
    """A key that is not there is made: only in lists has the place to exist."""
    if not path:
        if not isinstance(value, dict | list):
            raise _Rejected
        document.root = value
        return
    container, key = document.place(path)
    if isinstance(container, list):
        get(container, key)
    put(container, key, value)


def _test(document: _Document, path: str, value: Any) -> None:
    if not path:
        if not document.holds(document.root, value):
            raise _Rejected
        return
    container, key = document.place(path)
    found = get(container, key, missing=None)
    if not document.holds(found, value):
        raise _Rejected
    if isinstance(found, dict | list):
        put(container, key, document.opened(found))


def _copy(document: _Document, operation: dict[str, Any]) -> None:
    source = _text(operation, "from")
    get(*document.place(source), missing=None)
    target = document.place(_text(operation, "path"))
    value = get(*document.place(source), missing=None)  # the way to the target may have opened it
    if value is not None:
        try:
            text = orjson.dumps(document.finished(value))
        except TypeError:
            raise _Rejected from None  # nested too deeply
        document.copied += len(text)
        if document.copied > MAX_COPIED:
            raise _Rejected
        # A copy of its own: two places must not change together.
        value = orjson.loads(text)
    insert(*target, value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


_ABSENT: Any = object()


def get(container: dict[str, Any] | list[Any], key: str, missing: Any = _ABSENT) -> Any:
    """The value at a key; of a map also null for one that is not there, when `missing` says so."""
    if isinstance(container, dict):
        value = container.get(key, missing)
        if value is _ABSENT:
            raise _Rejected
        return value
    return container[_index(key, len(container))]


def put(container: dict[str, Any] | list[Any], key: str, value: Any) -> None:
    """Set a value at a key that a list has already."""
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container))] = value


def insert(container: dict[str, Any] | list[Any], key: str, value: Any) -> None:
    """Add a value: in a list before the one that is there, or with `-` at the end."""
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def remove(container: dict[str, Any] | list[Any], key: str) -> None:
    """Take a value out."""
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise _Rejected


def _index(key: str, length: int) -> int:
    """Negative numbers count from the end."""
    if not _INDEX.fullmatch(key):
        raise _Rejected
    index = int(key)
    if not -length <= index < length:
        raise _Rejected
    return index + length if index < 0 else index


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


def merge_patch(obj: Object, patch: Any, *, validation: str = "Warn") -> Object:
    """The object with a merge patch applied; null removes. Maps that it opened have their keys sorted."""
    if patch is None:
        raise PatchError(400, "BadRequest", "Invalid JSON Patch")
    if not isinstance(patch, dict):
        if validation != "Ignore":
            what = f"json: cannot unmarshal {_TYPES[type(patch)]} into Go value of type map[string]interface {{}}"
            raise PatchError(400, "BadRequest", f"error decoding patch: {what}")
        raise PatchError(400, "BadRequest", "Invalid JSON Patch")
    return _merged(obj, patch)


def _merged(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
            continue
        current = result.get(key)
        if isinstance(current, dict):
            # A list put in place of a map keeps the nulls inside it.
            result[key] = _merged(current, value) if isinstance(value, dict) else value
        else:
            result[key] = _without_nulls(value)
    return dict(sorted(result.items()))


def _without_nulls(value: Any) -> Any:
    """Nulls in maps go; those in lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(value[key]) for key in sorted(value) if value[key] is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
