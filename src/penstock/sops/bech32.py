"""Bech32 without a limit on length, the spelling of age's keys."""

from __future__ import annotations

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def decode(text: str) -> tuple[str, bytes]:
    """The prefix and the bytes of a key; ValueError when it is mistyped."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("upper and lower case are mixed")
    lowered = text.lower()
    prefix, mark, rest = lowered.rpartition("1")
    if not mark or not prefix or len(rest) < 6 or any(char not in _ALPHABET for char in rest):
        raise ValueError("not a Bech32 key")
    values = [_ALPHABET.index(char) for char in rest]
    if _checksum(_expanded(prefix) + values) != 1:
        raise ValueError("the checksum does not fit; the key is mistyped or cut off")
    return (prefix.upper() if text.isupper() else prefix), _regrouped(values[:-6])


def encode(prefix: str, data: bytes) -> str:
    """The key in lower case."""
    values = _split(data)
    rest = _checksum(_expanded(prefix.lower()) + values + [0] * 6) ^ 1
    check = [(rest >> 5 * (5 - at)) & 31 for at in range(6)]
    return prefix.lower() + "1" + "".join(_ALPHABET[value] for value in values + check)


def _expanded(prefix: str) -> list[int]:
    return [ord(char) >> 5 for char in prefix] + [0] + [ord(char) & 31 for char in prefix]


def _checksum(values: list[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check


def _regrouped(values: list[int]) -> bytes:
    number = 0
    for value in values:
        number = number << 5 | value
    spare = len(values) * 5 % 8
    if spare > 4 or number & ((1 << spare) - 1):
        raise ValueError("the key has bits to spare")
    return (number >> spare).to_bytes(len(values) * 5 // 8, "big")


def _split(data: bytes) -> list[int]:
    count = (len(data) * 8 + 4) // 5
    number = int.from_bytes(data, "big") << (count * 5 - len(data) * 8)
    return [(number >> 5 * (count - 1 - at)) & 31 for at in range(count)]
