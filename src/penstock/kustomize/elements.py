"""The elements of keyed lists: found, unified and joined as kustomize does it.

Elements are compared by the texts of their keys. A list of scalars has one key, the empty name, and its
elements are their own keys.
"""

from typing import Any

from penstock.kustomize.missing import MISSING
from penstock.yaml import text_of

SCALARS = ("",)


def key_values(keys: tuple[str, ...], patch: list[Any] | None, target: list[Any]) -> list[list[str]]:
    """The key values of all elements, the patch's first, each once."""
    seen: dict[tuple[str, ...], None] = {}
    for items in (patch or (), target):
        for item in items:
            if isinstance(item, dict):
                seen.setdefault(tuple(text_of(item.get(key)) for key in keys))
            else:
                seen.setdefault(("",) * len(keys))
    return [list(values) for values in seen]


def by_key(items: list[Any], key: str) -> dict[str, Any] | None:
    """The elements by key, None if one lacks it or repeats it."""
    found: dict[str, Any] = {}
    for item in items:
        text = text_of(item.get(key)) if type(item) is dict else ""
        if not text or text in found:
            return None
        found[text] = item
    return found


def scalar_values(patch: list[Any] | None, target: list[Any]) -> list[list[str]]:
    return [[text] for text in dict.fromkeys(text_of(item) for items in (patch or (), target) for item in items)]


def unify(found: list[list[str]]) -> None:
    """Let elements that share a key value, and contradict each other in none, count as one."""
    for at in range(len(found)):
        one = found[at]
        for to in range(len(found)):
            values = _united(one, found[to])
            if values is not None:
                found[at] = values
                found[to] = values


def _united(one: list[str], other: list[str]) -> list[str] | None:
    common = False
    united: list[str] = []
    for left, right in zip(one, other, strict=True):
        if left == right:
            common = True
        elif left and right:
            return None
        united.append(left or right)
    return united if common else None


def find(items: list[Any], known: list[tuple[str, str]]) -> Any:
    """The first element with these key values."""
    if known[0][0] == "":
        return next((item for item in items if text_of(item) == known[0][1]), MISSING)
    for item in items:
        if isinstance(item, dict) and all(name in item and text_of(item[name]) == text for name, text in known):
            return item
    return MISSING


def _matches(item: Any, names: tuple[str, ...], texts: list[str]) -> bool:
    if names == SCALARS:
        return text_of(item) == texts[0]
    if not isinstance(item, dict) or not texts:
        return False
    return all(
        name in item and (not text or text_of(item[name]) == text) for name, text in zip(names, texts, strict=False)
    )


def put(items: list[Any], element: Any, names: tuple[str, ...], texts: list[str]) -> None:
    """Replace what matches with the element, or add it; None removes what matches."""
    result: list[Any] = []
    placed = False
    for item in items:
        if item is None or item == {}:
            continue
        if not _matches(item, names, texts):
            if texts:
                result.append(item)
        elif element is not None:
            result.append(element)
            placed = True
    if element is not None and not placed:
        result.append(element)
    items[:] = result


def append_all(merged: list[Any], target: list[Any], names: tuple[str, ...]) -> list[Any]:
    """Add the object's own elements behind the merged ones."""
    for item in list(target):
        if names == SCALARS:
            put(merged, item, names, [text_of(item)])
            continue
        texts: list[str] = []
        for name in names:
            if not isinstance(item, dict) or name not in item:
                merged.append(item)
            else:
                texts.append(text_of(item[name]))
        if len(names) > 1:
            put(merged, None, names, texts)
        put(merged, item, names, texts)
    return merged
