"""JSON patches (RFC 6902), with the few liberties that kustomize takes.

`replace` may set a field of a mapping that is not there, and list indexes may count from the end.
"""

from typing import Any

from penstock.kustomize.copying import deep_copy
from penstock.kustomize.errors import PatchError

Operation = dict[str, Any]
_LARGEST_COPY = 100_000  # values that the `copy` operations of one patch may make


def check(operations: Any) -> list[Operation]:
    """The operations of a patch; PatchError if it is something else."""
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise PatchError("a JSON patch is a list of operations")
    return operations


def apply(value: Any, operations: list[Operation]) -> Any:
    """The value after all operations; the value given may have changed even if one of them fails."""
    copied = 0
    for operation in operations:
        kind = operation.get("op")
        path = _path(operation, "path")
        if kind == "add":
            _add(value, path, deep_copy(operation.get("value")))
        elif kind == "remove":
            _remove(value, path)
        elif kind == "replace":
            value = _replace(value, path, deep_copy(operation.get("value")))
        elif kind == "move":
            source = _path(operation, "from")
            moved = _get(value, source)
            _remove(value, source)
            _add(value, path, moved)
        elif kind == "copy":
            duplicate = deep_copy(_get(value, _path(operation, "from")))
            copied += _count(duplicate)
            if copied > _LARGEST_COPY:
                raise PatchError(f"the patch copies more than {_LARGEST_COPY} values")
            _add(value, path, duplicate)
        elif kind == "test":
            _test(value, path, operation.get("value"))
        else:
            raise PatchError(f"unknown JSON patch operation '{kind}'")
    return value


def _path(operation: Operation, field: str) -> str:
    path = operation.get(field)
    if not isinstance(path, str):
        raise PatchError(f"the operation {operation.get('op')!r} needs a `{field}`")
    return path


def _container(value: Any, path: str) -> tuple[Any, str]:
    """What holds the place that the path names, and the last part of the path."""
    parts = path.split("/")
    if len(parts) < 2:
        raise PatchError(f"the path '{path}' does not start with a slash")
    for part in parts[1:-1]:
        value = _item(value, _decoded(part), path)
    if not isinstance(value, (dict, list)):
        raise PatchError(f"there is nothing at the path '{path}'")
    return value, _decoded(parts[-1])


def _item(value: Any, key: str, path: str) -> Any:
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list):
        return value[_index(key, len(value), path)]
    raise PatchError(f"there is no '{key}' at the path '{path}'")


def _decoded(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


def _index(key: str, length: int, path: str) -> int:
    try:
        index = int(key) if len(key) < 20 else length
    except ValueError:
        raise PatchError(f"'{key}' is not a list index, in the path '{path}'") from None
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise PatchError(f"the list at '{path}' has no element {key}")
    return index


def _get(value: Any, path: str) -> Any:
    holder, key = _container(value, path)
    if isinstance(holder, dict):
        return holder.get(key)
    return holder[_index(key, len(holder), path)]


def _add(value: Any, path: str, item: Any) -> None:
    holder, key = _container(value, path)
    if isinstance(holder, dict):
        holder[key] = item
    elif key == "-":
        holder.append(item)
    else:
        holder.insert(_index(key, len(holder) + 1, path), item)


def _remove(value: Any, path: str) -> None:
    holder, key = _container(value, path)
    if isinstance(holder, list):
        del holder[_index(key, len(holder), path)]
    elif key in holder:
        del holder[key]
    else:
        raise PatchError(f"cannot remove '{path}': it is not there")


def _replace(value: Any, path: str, item: Any) -> Any:
    if path == "":
        if not isinstance(item, (dict, list)):
            raise PatchError("the whole object can only be replaced by an object")
        return item
    holder, key = _container(value, path)
    if isinstance(holder, dict):
        holder[key] = item
    else:
        holder[_index(key, len(holder), path)] = item
    return value


def _test(value: Any, path: str, expected: Any) -> None:
    found = value if path == "" else _get(value, path)
    if not _same(found, expected):
        raise PatchError(f"the test at '{path}' failed")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1
