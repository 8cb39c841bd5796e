"""The order of a merged list: items of the patch in the patch's order, the others where the server had them."""

from __future__ import annotations

from typing import Any

from penstock.embedded.fields.errors import PatchError
from penstock.embedded.fields.gotext import go_value


def in_order(
    merged: list[Any], patch_order: list[Any], server_order: list[Any], *, merge_key: str, maps: bool
) -> list[Any]:
    """The merged items, ordered. `maps` says that items are told apart by their merge key."""
    if maps:
        for place, item in enumerate(patch_order):
            if not isinstance(item, dict):
                raise PatchError(500, "", f"value for key {place} is not a map")
    wanted = [_key(item, merge_key) for item in patch_order] if merge_key else patch_order
    mine: list[Any] = []
    others: list[Any] = []
    for item in merged:
        (mine if _identity(item, merge_key) in wanted else others).append(item)
    mine = _sorted(mine, patch_order, merge_key, maps=maps)
    others = _sorted(others, server_order, merge_key, maps=maps)
    return _interleaved(others, mine, server_order, merge_key, maps=maps)


def _identity(item: Any, merge_key: str) -> Any:
    if not merge_key:
        return item
    if merge_key not in item:
        raise _no_key(item, merge_key)
    return item[merge_key]


def _no_key(item: dict[str, Any], merge_key: str) -> PatchError:
    return PatchError(500, "", f"map: {go_value(item)} does not contain declared merge key: {merge_key}")


def _key(item: Any, merge_key: str) -> Any:
    return item.get(merge_key) if isinstance(item, dict) else None


def _sorted(items: list[Any], order: list[Any], merge_key: str, *, maps: bool) -> list[Any]:
    if not maps:
        return _by_rank(items, [_rank(item, order) for item in items])
    for item in [*items, *order]:
        if merge_key not in item:
            raise _no_key(item, merge_key)
    kept = [item for item in items if item.get("$patch") != "delete"]
    ranks = [_rank(item[merge_key], [each[merge_key] for each in order]) for item in kept]
    return _by_rank(kept, ranks) + [item for item in items if item.get("$patch") == "delete"]


def _rank(value: Any, order: list[Any]) -> int:
    return order.index(value) if value in order else -1


def _by_rank(items: list[Any], ranks: list[int]) -> list[Any]:
    """Stable by rank. An item without one goes before whatever stands before it, as the server's sort does."""
    if all(rank >= 0 for rank in ranks):
        return [items[place] for place in sorted(range(len(items)), key=ranks.__getitem__)]
    result, placed = list(items), list(ranks)
    for end in range(1, len(result)):
        place = end
        while place and (placed[place] < 0 or placed[place - 1] < 0 or placed[place] < placed[place - 1]):
            result[place - 1], result[place] = result[place], result[place - 1]
            placed[place - 1], placed[place] = placed[place], placed[place - 1]
            place -= 1
    return result


def _interleaved(
    others: list[Any], mine: list[Any], server_order: list[Any], merge_key: str, *, maps: bool
) -> list[Any]:
    known = [_key(item, merge_key) if maps else item for item in server_order]

    def place(item: Any) -> int:
        return _rank(_key(item, merge_key) if maps else item, known)

    result: list[Any] = []
    i = j = 0
    while i < len(others) and j < len(mine):
        left, right = place(others[i]), place(mine[j])
        if 0 <= left < right:
            result.append(others[i])
            i += 1
        else:
            result.append(mine[j])
            j += 1
    return [*result, *others[i:], *mine[j:]]
