"""Resource quantities: `500m`, `1.5Gi`, `2e3`; parsed exactly, and written in the one form the API server stores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Format = Literal["decimal", "binary", "exponent"]

NANO = 10**9
MAX_BINARY = (2**63 - 1) * NANO
_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: name for name, exponent in _DECIMAL.items()}
_BINARY_NAMES = {exponent: name for name, exponent in _BINARY.items()}


class QuantityError(ValueError):
    """The text is no quantity; the sentence is the API server's."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in billionths, and the notation in which it is written back."""

    nano: int
    format: Format

    @property
    def value(self) -> int:
        """The amount as a whole number, rounded up away from zero."""
        whole = -(-abs(self.nano) // NANO)
        return whole if self.nano >= 0 else -whole

    @property
    def milli(self) -> int:
        """The amount in thousandths, rounded up away from zero."""
        thousandths = -(-abs(self.nano) // 10**6)
        return thousandths if self.nano >= 0 else -thousandths

    @property
    def is_whole(self) -> bool:
        return self.nano % NANO == 0

    def rounded_to_milli(self) -> Quantity:
        return Quantity(self.milli * 10**6, self.format)

    def __str__(self) -> str:
        if not self.nano:
            return "0"
        if self.format == "binary" and self.is_whole and not -1024 * NANO < self.nano < 1024 * NANO:
            return self._binary_text()
        return self._decimal_text()

    def _binary_text(self) -> str:
        number, exponent = self.nano // NANO, 0
        while number % 1024 == 0 and exponent < 60:
            number, exponent = number // 1024, exponent + 10
        return f"{number}{_BINARY_NAMES.get(exponent, '')}"

    def _decimal_text(self) -> str:
        number, exponent = self.nano, -9
        while number % 1000 == 0 and (exponent < 18 or self.format == "exponent"):
            number, exponent = number // 1000, exponent + 3
        if self.format == "exponent":
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_NAMES[exponent]}"


@lru_cache(4096)
def parse(text: str) -> Quantity:
    """The quantity that a text stands for; finer than a billionth is rounded up, away from zero."""
    if text == "0":
        return Quantity(0, "decimal")
    match = _FORM.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise QuantityError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    digits = int((whole + fraction) or "0")
    format_, ten, two = _scale(suffix)
    nano = _scaled(digits << two, ten - len(fraction) + 9)
    if format_ == "binary":
        nano = min(nano, MAX_BINARY)
        if 0 < nano < NANO:
            format_ = "decimal"
    return Quantity(-nano if sign == "-" else nano, format_)


def _scale(suffix: str) -> tuple[Format, int, int]:
    """Format, power of ten and power of two of a suffix."""
    if suffix in _DECIMAL:
        return "decimal", _DECIMAL[suffix], 0
    if suffix in _BINARY:
        return "binary", 0, _BINARY[suffix]
    if match := _EXPONENT.fullmatch(suffix):
        exponent = int(match[1])
        if abs(exponent) <= 1000:  # beyond that nothing but memory would be spent
            return "exponent", exponent, 0
    raise QuantityError("unable to parse quantity's suffix")


def _scaled(number: int, power: int) -> int:
    factor: int = 10 ** abs(power)
    return number * factor if power >= 0 else -(-number // factor)


@lru_cache(4096)
def canonical(text: str) -> str:
    """The form in which the API server stores a quantity, such as `1` for `1000m`."""
    return str(parse(text))


@lru_cache(4096)
def as_read(text: str) -> str:
    """The form in which a quantity comes back that nothing was computed with.

    The API server keeps the text itself where it looks canonical at a quick glance, as `+1` or `1.500` do.
    """
    quantity = parse(text)
    match = _FORM.fullmatch(text)
    if match is None:
        return str(quantity)
    number, fraction = match[2].lstrip("0") or "0", match[3] or ""
    _, ten, two = _scale(match[4])
    digits = number + fraction
    if quantity.format == "binary":
        quick = not fraction and 15 - len(number) - two * 3 // 10 - 1 >= 0
        return text if quick and int(digits) % 8 else str(quantity)
    scale = ten - len(fraction)
    quick = len(digits) <= 18 and scale >= -9
    return text if quick and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0" else str(quantity)
