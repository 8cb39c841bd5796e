"""The order of keys in kustomize's output: numbers by value, letters after everything else.

"9" < "09" < "10"      a.9 < a.10      a-b < a1 < aB < ab
"""

from functools import cmp_to_key
from typing import Any

_MANY = 4096
_orders: dict[tuple[str, ...], tuple[str, ...]] = {}


def ordered(mapping: dict[str, Any]) -> tuple[str, ...]:
    """The keys of a mapping in output order.

    Kubernetes objects repeat a few dozen shapes thousands of times, so the answer is remembered by shape.
    """
    shape = tuple(mapping)
    known = _orders.get(shape)
    if known is None:
        if len(_orders) >= _MANY:
            _orders.clear()
        known = tuple(sorted(shape) if all(map(_simple, shape)) else sorted(shape, key=cmp_to_key(compare)))
        _orders[shape] = known
    return known


def _simple(key: str) -> bool:
    """Keys of ASCII letters alone: their natural order is their byte order."""
    return key.isascii() and key.isalpha()


def compare(left: str, right: str) -> int:
    """Negative, zero or positive, as `left` comes before, with or after `right`."""
    for at in range(min(len(left), len(right))):
        if left[at] != right[at]:
            return _differ(left, right, at)
    return len(left) - len(right)


def _differ(left: str, right: str, at: int) -> int:
    one, other = left[at], right[at]
    if one.isalpha() and other.isalpha():
        return -1 if one < other else 1
    if one.isalpha() or other.isalpha():
        return -1 if other.isalpha() else 1
    start = _digits_before(left, at) if "0" in (one, other) else 0
    left_number, left_end = _number(left, at, start)
    right_number, right_end = _number(right, at, start)
    if left_number != right_number:
        return left_number - right_number
    if left_end != right_end:
        return left_end - right_end
    return -1 if one < other else 1


def _digits_before(text: str, at: int) -> int:
    """1 when the zero at hand continues a number, 0 when it leads one."""
    for index in range(at - 1, -1, -1):
        if not text[index].isdigit():
            return 0
        if text[index] != "0":
            return 1
    return 0


def _number(text: str, at: int, start: int) -> tuple[int, int]:
    value = start
    while at < len(text) and text[at].isdecimal():
        value = value * 10 + int(text[at])
        at += 1
    return value, at
