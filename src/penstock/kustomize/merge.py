"""Strategic merge: a patch laid over an object, lists joined by the keys their type declares.

The result is the one kustomize gives, to the order of list elements. A few of its rules are surprising:

- the patch's elements come first, then the object's own;
- in a list with several keys, elements that both sides have move to the end;
- `$patch: replace` on an element of such a list has no effect when the object has that element;
- fields of the object that were left blank (`field:`) vanish; an explicit `null` stays.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from penstock.kustomize.elements import (
    SCALARS,
    append_all,
    by_key,
    find,
    key_values,
    put,
    scalar_values,
    unify,
)
from penstock.kustomize.errors import PatchError
from penstock.kustomize.missing import MISSING
from penstock.kustomize.resource import Nulls
from penstock.schema import Schema, Shape, shape_of
from penstock.yaml import text_of
from penstock.yaml.scalars import Untagged, resolve

_DIRECTIVE = "$patch"
_Path = tuple[str, ...]
Quoted = Callable[[str, _Path], bool]


def merge(
    value: dict[str, Any],
    patch: dict[str, Any],
    schema: Schema,
    *,
    nulls: Nulls | None = MappingProxyType({}),
    schemas: Mapping[_Path, Any] = MappingProxyType({}),
    written: bool = False,
    quoted: Quoted = lambda _, __: False,
) -> dict[str, Any] | None:
    """Lay `patch` over `value`, changing both; None when the patch deletes the object.

    `nulls` are the texts of the value's nulls (None: all were left blank), `schemas` those of single fields.
    `written` says that the value may hold scalars without a type, `quoted` whether a string stood in quotes: then it
    stays one, whatever the patch has.
    """
    merged = _Merge(schema, nulls, schemas, quoted, written=written).walk(value, patch, None, ())
    return merged if isinstance(merged, dict) else None


class _Merge:
    def __init__(
        self, schema: Schema, nulls: Nulls | None, schemas: Mapping[_Path, Any], quoted: Quoted, *, written: bool
    ) -> None:
        self._schema = schema
        self._quoted = quoted
        self._nulls = nulls
        self._shapes = {path: shape_of(one) for path, one in schemas.items()}
        self._is_quiet = nulls is not None and "" not in nulls.values() and not schemas and not written

    def walk(self, value: Any, patch: Any, shape: Shape | None, path: _Path) -> Any:
        if self._shapes:
            shape = self._shapes.get(path, shape)
        if shape is None:
            shape = self._shape_of(value) or self._shape_of(patch)
        leading = value if value is not MISSING and value is not None else patch
        if leading is MISSING or leading is None:
            return self._nothing(value, patch, path)
        if isinstance(leading, dict):
            _expect(dict, value, patch, path)
            return self._mapping(value, patch, shape, path)
        if isinstance(leading, list):
            _expect(list, value, patch, path)
            if shape is not None and shape.merges:
                return self._keyed_list(value, patch, shape, path)
            return value if patch is MISSING else patch
        _expect(None, value, patch, path)
        return value if patch is MISSING else self._styled(value, patch, path)

    def _styled(self, value: Any, patch: Any, path: _Path) -> Any:
        """The patch's scalar in the style of the object's."""
        if type(value) is str and type(patch) is not str and patch is not None and self._quoted(value, path):
            return text_of(patch)
        return patch

    def _shape_of(self, value: Any) -> Shape | None:
        if not isinstance(value, dict) or not value.get("kind") or not value.get("apiVersion"):
            return None
        return self._schema.shape(text_of(value["apiVersion"]), text_of(value["kind"]))

    def _nothing(self, value: Any, patch: Any, path: _Path) -> Any:
        """Neither side has a value: an explicit null of the object survives if the patch is silent."""
        if patch is MISSING and value is None and self._nulls is not None and self._nulls.get(path) != "":
            return None
        return MISSING

    def _mapping(self, value: Any, patch: Any, shape: Shape | None, path: _Path) -> Any:
        target = self._mapping_target(value, patch)
        if target is MISSING:
            return MISSING
        source: dict[str, Any] = patch if isinstance(patch, dict) else {}
        if source is not target:
            self._settle(target, source, shape, path)
        for key, new in list(source.items()):
            before = target.get(key, MISSING)
            if type(new) in _PLAIN and type(before) in _PLAIN:
                target[key] = new if type(new) is str else self._styled(before, new, (*path, key))
                continue
            after = self.walk(before, new, shape.field(key) if shape else None, (*path, key))
            if after is MISSING or after is None:
                target.pop(key, None)
            elif after is not before:
                target[key] = after
        return target

    def _settle(self, target: dict[str, Any], source: dict[str, Any], shape: Shape | None, path: _Path) -> None:
        """Go through the fields that the patch does not mention: blank ones vanish, and keyed lists are tidied."""
        for key, before in list(target.items()):
            if key in source or type(before) in _PLAIN:
                continue
            if type(before) is Untagged:
                target[key] = str(before)  # kustomize puts quotes around what it comes by
                continue
            child = shape.field(key) if shape else None
            if self._is_quiet and (child is None or not child.deep):
                continue
            after = self.walk(before, MISSING, child, (*path, key))
            if after is MISSING:
                del target[key]
            elif after is not before:
                target[key] = after

    def _mapping_target(self, value: Any, patch: Any) -> Any:
        directive = _mapping_directive(patch)
        if directive == "delete" or (patch is None and isinstance(value, dict)):
            return MISSING
        if directive == "replace" or not isinstance(value, dict):
            return patch
        return value

    def _keyed_list(self, value: Any, patch: Any, shape: Shape, path: _Path) -> Any:
        target = value
        if not isinstance(value, list):
            target = patch
        elif patch is None:
            return MISSING
        elif isinstance(patch, list):
            directive = _list_directive(patch)
            if directive == "delete":
                return MISSING
            if directive == "replace":
                target = patch
        return self._elements(target, patch if isinstance(patch, list) else None, shape, path)

    def _elements(self, target: list[Any], patch: list[Any] | None, shape: Shape, path: _Path) -> list[Any]:
        keys = shape.keys
        if len(keys) == 1 and (regular := self._regular(target, patch, shape, path)) is not None:
            return regular
        if keys:
            found = key_values(keys, patch, target)
        else:
            keys, found = SCALARS, scalar_values(patch, target)
        if not found:
            return target
        if len(keys) > 1:
            unify(found)
        used = [at for at in range(len(keys)) if any(values[at] for values in found)] or list(range(len(keys)))
        names = tuple(keys[at] for at in used)
        element = shape.element()
        merged: list[Any] = []
        for values in found:
            texts = [values[at] for at in used]
            known = [(name, text) for name, text in zip(names, texts, strict=True) if text]
            known = known or list(zip(names, texts, strict=True))
            result = self.walk(find(target, known), MISSING if patch is None else find(patch, known), element, path)
            if result is MISSING or result is None or result == {}:
                put(target, None, names, texts)
                continue
            if isinstance(result, dict):
                for name, text in known:
                    if name not in result and text:
                        result[name] = resolve(text, "resource")
            put(merged, result, names, texts)
        return append_all(merged, target, names)

    def _regular(self, target: list[Any], patch: list[Any] | None, shape: Shape, path: _Path) -> list[Any] | None:
        """The usual case, in one pass: every element has the key, and none has it twice."""
        own = by_key(target, shape.keys[0])
        new = own if patch is target else by_key(patch or [], shape.keys[0])
        if own is None or new is None:
            return None
        element = shape.element()
        settled = self._is_quiet and (element is None or not element.deep)
        result: list[Any] = []
        for text in {**new, **own}:
            before = own.get(text, MISSING)
            if settled and text not in new:
                result.append(before)
                continue
            after = self.walk(before, new.get(text, MISSING), element, path)
            if after is not MISSING and after:
                result.append(after if before is MISSING else before)
        return result


_PLAIN = frozenset({str, int, bool, float})


def _expect(kind: type | None, value: Any, patch: Any, path: _Path) -> None:
    for one in (value, patch):
        if one is None or one is MISSING:
            continue
        if (kind is None and isinstance(one, (dict, list))) or (kind is not None and not isinstance(one, kind)):
            wanted = "a scalar" if kind is None else "a mapping" if kind is dict else "a list"
            raise PatchError(
                f"the patch and the object disagree at '{'.'.join(path)}': expected {wanted}, found {one!r}"
            )


def _mapping_directive(patch: Any) -> str:
    if not isinstance(patch, dict) or _DIRECTIVE not in patch:
        return "merge"
    return _checked(text_of(patch.pop(_DIRECTIVE)))


def _list_directive(patch: list[Any]) -> str:
    for item in patch:
        if isinstance(item, dict) and _DIRECTIVE in item:
            if len(item) > 1:
                return "merge"
            directive = _checked(text_of(item[_DIRECTIVE]))
            put(patch, None, (_DIRECTIVE,), [directive])
            return directive
    return "merge"


def _checked(directive: str) -> str:
    if directive not in ("delete", "replace", "merge"):
        raise PatchError(f"unknown patch strategy '{directive}'; use delete, replace or merge")
    return directive
