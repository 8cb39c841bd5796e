"""Shamir's secret sharing over GF(2^8): a data key in parts, of which some are enough.

A part is one value per byte of the secret, followed by the point (1 to 255) at which the polynomials were evaluated.
"""

from __future__ import annotations

import secrets
from functools import reduce
from operator import xor

from penstock.sops.errors import DataKeyError

_REDUCTION = 0x1B  # x^8 + x^4 + x^3 + x + 1


def _tables() -> tuple[bytes, bytes]:
    powers = bytearray(510)
    logarithms = bytearray(256)
    value = 1
    for exponent in range(255):
        powers[exponent] = powers[exponent + 255] = value
        logarithms[value] = exponent
        doubled = ((value << 1) ^ (_REDUCTION if value & 0x80 else 0)) & 0xFF
        value ^= doubled  # times 3, which generates the whole group
    return bytes(powers), bytes(logarithms)


_POWERS, _LOGARITHMS = _tables()


def split(secret: bytes, *, parts: int, threshold: int) -> list[bytes]:
    """As many parts as asked for; any `threshold` of them give the secret back, fewer give nothing away."""
    if not 2 <= threshold <= parts <= 255:
        raise DataKeyError(f"{threshold} of {parts} key groups is not possible; from 2 up to all of them is")
    points = secrets.SystemRandom().sample(range(1, 256), parts)
    polynomials = [bytes([byte]) + secrets.token_bytes(threshold - 1) for byte in secret]
    return [bytes(_evaluate(polynomial, point) for polynomial in polynomials) + bytes([point]) for point in points]


def combine(parts: list[bytes]) -> bytes:
    """The secret that the parts were made of; with too few or foreign parts, some other bytes."""
    lengths = {len(part) for part in parts}
    points = [part[-1] for part in parts if part]
    if len(parts) < 2 or len(lengths) != 1 or lengths.pop() < 2:
        raise DataKeyError("the parts of the data key do not belong together")
    if len(set(points)) != len(points) or 0 in points:
        raise DataKeyError("two key groups hold the same part of the data key")
    weights = [_weight(point, points) for point in points]
    columns = zip(*(part[:-1] for part in parts), strict=True)
    return bytes(reduce(xor, map(_times, column, weights)) for column in columns)


def _evaluate(polynomial: bytes, point: int) -> int:
    result = 0
    for coefficient in reversed(polynomial):
        result = _times(result, point) ^ coefficient
    return result


def _weight(point: int, points: list[int]) -> int:
    """What this point counts for in the value at zero (Lagrange)."""
    weight = 1
    for other in points:
        if other != point:
            weight = _times(weight, _over(other, other ^ point))
    return weight


def _times(left: int, right: int) -> int:
    return _POWERS[_LOGARITHMS[left] + _LOGARITHMS[right]] if left and right else 0


def _over(left: int, right: int) -> int:
    return _POWERS[_LOGARITHMS[left] - _LOGARITHMS[right] + 255] if left else 0
