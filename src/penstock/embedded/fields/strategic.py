"""Strategic merge patch: merge by type, with directives in the patch.

`$patch` replaces or deletes, `$retainKeys` names what may stay, `$setElementOrder/x` orders a list and
`$deleteFromPrimitiveList/x` takes values out of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.fields.elementorder import in_order
from penstock.embedded.fields.errors import PatchError
from penstock.embedded.fields.gotext import go_value

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"
_DROPPED: Any = object()
_PLAIN = frozenset(
    {
        "containerPort",
        "globalDefault",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostPort",
        "maxReplicas",
        "minReadySeconds",
        "nodePort",
        "paused",
        "port",
        "publishNotReadyAddresses",
        "readOnly",
        "value",
    }
)
"""Numbers and booleans that Go has no pointer to: to order them as a list is an error of its own."""


def strategic_patch(obj: Object, patch: Any, schema: Schema) -> Object:
    """The object with the patch applied; `PatchError` as the server answers it."""
    return strategic_patch_with_rest(obj, patch, schema)[0]


def strategic_patch_with_rest(obj: Object, patch: Any, schema: Schema) -> tuple[Object, Object]:
    """The patched object, and the patch as the server has it afterwards, which it prints when the object is wrong.

    Directives that were followed are gone from it, and nulls where there was nothing to remove.
    """
    if patch is None:
        return obj, {}
    if not isinstance(patch, dict):
        what = {list: "array", str: "string", bool: "bool"}.get(type(patch), "number")
        raise _bad_request(f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}")
    rest: Object = orjson.loads(orjson.dumps(patch))
    return _map(obj, rest, schema), rest


def _failed(message: str) -> PatchError:
    """An error that the server did not foresee: 500, and no reason."""
    return PatchError(500, "", message)


def _bad_request(message: str) -> PatchError:
    return PatchError(400, "BadRequest", message)


def _map(original: dict[str, Any] | None, patch: dict[str, Any], schema: Schema | None) -> dict[str, Any]:
    """A new map; the patch loses the directives that were followed."""
    if DIRECTIVE in patch:
        return _directed(patch)
    result = dict(original or {})
    _retain_keys(result, patch)
    _order_lists(result, patch, schema)
    for key, value in patch.items():
        if key.startswith(DELETE_FROM):
            _delete_from(result, _target(key, DELETE_FROM, "invalid patch format of primitive list"), value, schema)
        elif value is None:
            result.pop(key, None)
        elif key not in result or type(result[key]) is not type(value):
            _discard_nulls(value)
            _take(result, key, _clean(value))
        elif isinstance(value, dict):
            field = _field(schema, key)
            replace = _strategy(field) == "replace"
            result[key] = value if replace else _map(result[key], value, field)
        elif isinstance(value, list):
            result[key] = _list(result[key], value, _field(schema, key))
        else:
            result[key] = value
    return result


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        del patch[DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise _failed(f"unknown patch type: {_verb(directive)} in map: {go_value(patch)}")


def _verb(value: Any) -> str:
    """`%s` of a value; Go has a complaint for what is no string."""
    return value if isinstance(value, str) else f"%!s({_go_kind(value)}={go_value(value)})"


def _go_kind(value: Any) -> str:
    if value is None:
        return "<nil>"
    names = {bool: "bool", int: "int64", float: "float64", list: "[]interface {}", dict: "map[string]interface {}"}
    return names.get(type(value), "string")


def _retain_keys(result: dict[str, Any], patch: dict[str, Any]) -> None:
    """What `$retainKeys` does not name is gone from the result."""
    if RETAIN_KEYS not in patch:
        return
    names = patch.pop(RETAIN_KEYS)
    if not isinstance(names, list):
        raise _bad_request("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM, SET_ORDER)) and key not in names:
            raise _bad_request("invalid patch format of retainKeys")
    for key in [key for key in result if key not in names]:
        del result[key]


def _order_lists(result: dict[str, Any], patch: dict[str, Any], schema: Schema | None) -> None:
    """Lists whose order the patch gives are merged here, and are gone from the patch."""
    for directive in [key for key in patch if key.startswith(SET_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _failed(f"expected a []interface {{}}, but received a {_go_kind(order)}")
        key = _target(directive, SET_ORDER, "invalid patch format of setElementOrder list")
        for holder in (result, patch):
            if key in holder and not isinstance(holder[key], list):
                raise _failed(f"expected a []interface {{}}, but received a {_go_kind(holder[key])}")
        field = _field(schema, key)
        if field.kind == "scalar" and (field.scalar == "string" or key in _PLAIN):
            raise _failed("expected slice or array type, but got: struct")
        merge_key = field.merge_key or ""
        check_order(patch.get(key, []), order, merge_key)
        if key not in result and key not in patch:
            continue
        original = result.get(key)
        merged = _merged_list(original, patch.get(key), field)
        is_map = _element_type(original or [], patch.get(key, [])) == "map"
        if is_map and original and isinstance(patch.get(key), list):
            original = _overwritten(original, patch[key], merge_key)
        result[key] = in_order(merged, order, original or [], merge_key=merge_key, maps=is_map)
        patch.pop(key, None)


def _overwritten(original: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """The original list as the server sees it once items were deleted from it: they are deleted in place.

    What follows a deleted item moves up, what is added goes behind that, and the list stays as long as it was.
    """
    left, length = list(original), len(original)
    for item in patch:
        if not isinstance(item, dict) or item.get(DIRECTIVE) != "delete":
            continue
        place = 0
        while place < length:
            if left[place].get(merge_key, _DROPPED) == item.get(merge_key):
                left[place : length - 1] = left[place + 1 : length]
                length -= 1
            else:
                place += 1
    if length == len(original):
        return original
    known = [each.get(merge_key) for each in left[:length]]
    added = [each for each in patch if DIRECTIVE not in each and each.get(merge_key) not in known]
    return [*left[:length], *added, *left[length + len(added) :]][: len(original)]


def _merged_list(original: list[Any] | None, patch: list[Any] | None, field: Schema) -> list[Any]:
    if patch is None:
        return original or []
    if original is None:
        cleaned: list[Any] = _clean(patch)
        return cleaned
    return _list(original, patch, field)


def check_order(items: list[Any], order: list[Any], merge_key: str) -> None:
    """The items of a patch have to stand in the order that the patch itself asks for."""
    if not items or not order:
        return
    kept = [item for item in items if not (merge_key and _directive(item) == "delete")]
    i = j = 0
    while i < len(kept) and j < len(order):
        if isinstance(kept[i], dict) and DIRECTIVE in kept[i]:
            i += 1
            continue
        if _key(kept[i], merge_key) == _key(order[j], merge_key):
            i += 1
        j += 1
    if i < len(kept) and j >= len(order):
        raise _failed(
            f"The order in patch list:\n{go_value(items)}\n doesn't match {SET_ORDER} list:\n{go_value(order)}\n"
        )


def _directive(item: Any) -> Any:
    if not isinstance(item, dict):
        raise _failed(f"expected a map[string]interface {{}}, but received a {_go_kind(item)}")
    return item.get(DIRECTIVE)


def _key(item: Any, merge_key: str) -> Any:
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise _failed(f"expected a map[string]interface {{}}, but received a {_go_kind(item)}")
    if merge_key not in item:
        raise _no_key(item, merge_key)
    return item[merge_key]


def _no_key(item: dict[str, Any], merge_key: str) -> PatchError:
    return _failed(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")


def _target(directive: str, prefix: str, complaint: str) -> str:
    first, _, key = directive.partition("/")
    if first != prefix or "/" not in directive:
        raise _bad_request(complaint)
    return key


def _delete_from(result: dict[str, Any], key: str, values: Any, schema: Schema | None) -> None:
    if values is None:
        result.pop(key, None)
    elif isinstance(values, list) and isinstance(result.get(key), list):
        _field(schema, key)
        if _element_type(result[key], values) == "map":
            result[key] = _list(result[key], values, _field(schema, key), force=True)
        else:
            result[key] = [item for item in result[key] if item not in values]


def _take(result: dict[str, Any], key: str, value: Any) -> None:
    if value is _DROPPED:
        result.pop(key, None)
    else:
        result[key] = value


def _field(schema: Schema | None, key: str) -> Schema:
    """The type of a field, as the server looks it up; it knows only fields of structs."""
    if schema is None or schema.kind != "struct":
        kind = "interface" if schema is None or schema.kind == "any" else "map" if schema.kind == "map" else "string"
        raise _failed(f"merging an object in json but data type is not struct, instead is: {kind}")
    field = schema.fields.get(key)
    if field is None:
        field = next((each for name, each in schema.fields.items() if name.lower() == key.lower()), None)
    if field is None:
        raise _failed(f'unable to find api field in struct {schema.name} for the json field "{key}"')
    return field


def _strategy(schema: Schema) -> str:
    return next((name for name in schema.merge_strategy if name != "retainKeys"), "")


def _list(original: list[Any], patch: list[Any], field: Schema, *, force: bool = False) -> list[Any]:
    if _strategy(field) != "merge" and not force:
        return patch
    if not original and not patch:
        return original
    merge_key = field.merge_key or ""
    if _element_type(original, patch) != "map":
        merged = _unique([*original, *patch])
        return in_order(merged, patch, original, merge_key=merge_key, maps=False)
    if not merge_key:
        raise _failed("cannot merge lists without merge key for struct")
    original, rest = _special(original, patch, merge_key)
    merged = _merged_items(original, rest, merge_key, field.element)
    return in_order(merged, rest, original, merge_key=merge_key, maps=True)


def _element_type(*lists: list[Any]) -> str:
    kinds = [_go_kind(item) for items in lists for item in items]
    if not kinds:
        raise _failed("no elements in any of the given slices")
    if kinds[0] == "[]interface {}":
        message = "the server rejected our request due to an error in our request"
        raise PatchError(422, "Invalid", message)
    if any(kind != kinds[0] for kind in kinds):
        raise _failed(f"list element types are not identical: {go_value(list(lists))}")
    return "map" if kinds[0].startswith("map") else kinds[0]


def _special(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Items that are directives: what they leave of the original, and the rest of the patch."""
    rest: list[Any] = []
    replace = False
    for item in patch:
        directive = item.get(DIRECTIVE, _DROPPED)
        if directive is _DROPPED:
            rest.append(item)
        elif directive == "delete":
            if merge_key not in item:
                raise _no_key(item, merge_key)
            original = [each for each in original if each.get(merge_key, _DROPPED) != item[merge_key]]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise _failed("merging lists cannot yet be specified in the patch")
        else:
            raise _failed(f"unknown patch type: {_verb(directive)} in map: {go_value(item)}")
    return (rest, []) if replace else (original, rest)


def _merged_items(original: list[Any], patch: list[Any], merge_key: str, element: Schema | None) -> list[Any]:
    result = list(original)
    for item in patch:
        if merge_key not in item:
            raise _no_key(item, merge_key)
        place = next((i for i, each in enumerate(result) if each.get(merge_key, _DROPPED) == item[merge_key]), None)
        if place is None:
            result.append(item)
        else:
            result[place] = _map(result[place], item, element)
    return result


def _unique(items: list[Any]) -> list[Any]:
    """Each value once. One that was there before is overwritten by the last, as the server does it."""
    length = len(items) - 1
    i = 0
    while i < length:
        j = i + 1
        while j <= length:
            if items[i] == items[j]:
                items[j] = items[length]
                length -= 1
                j -= 1
            j += 1
        i += 1
    return items[: length + 1]


def _discard_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for key in [key for key, each in value.items() if each is None]:
            del value[key]
        for each in value.values():
            _discard_nulls(each)
    elif isinstance(value, list):
        for each in value:
            _discard_nulls(each)


def _clean(value: Any) -> Any:
    """The value without maps that are directives themselves; its own maps change with it, lists are new."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _DROPPED
        for key, each in list(value.items()):
            _take(value, key, _clean(each))
        return value
    if isinstance(value, list):
        return [each for each in map(_clean, value) if each is not _DROPPED]
    return value
