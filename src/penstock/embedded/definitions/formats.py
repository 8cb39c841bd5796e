"""The formats of strings that the API server knows; others are not checked."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from datetime import date, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.embedded.kinds.names import dns_label, dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Callable

# Compiled when first asked for, and kept by `re`: few clusters ever see one of these formats.
_DATE_TIME = r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})?"
_GO_DURATION = r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)"
_LONG_DURATION = (
    r"\d+\s*(?:ns|nano|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?"
    r"|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)"
)
_EMAIL = r"[^@\s<>()\[\],;:]+@[^@\s<>()\[\],;:]+"
_HOSTNAME = r"(?=.{1,255}$)[a-zA-Z0-9](?:[-a-zA-Z0-9_]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9-_]{1,63})*\.?"
_MAC = r"(?:[0-9A-Fa-f]{2}[:-]){5,7}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2,3}[0-9A-Fa-f]{4}"
_UUID = r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?%s[0-9a-fA-F]{3}-?%s[0-9a-fA-F]{3}-?[0-9a-fA-F]{12}"
_HEX_COLOR = r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"
_RGB_COLOR = r"rgb\(\s*(?:\d{1,3}%?\s*,\s*){2}\d{1,3}%?\s*\)"
_BSON = "[0-9a-fA-F]{24}"
_CARD = r"\d{12,19}"
_SSN = r"\d{3}[- ]?\d{2}[- ]?\d{4}"


def _fits(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


def _uuid(version: str = "[0-9a-fA-F]", variant: str = "[0-9a-fA-F]") -> Callable[[str], bool]:
    return _fits(_UUID % (version, variant))


def _date_time(text: str) -> bool:
    if not re.fullmatch(_DATE_TIME, text):
        return False
    try:
        datetime.fromisoformat(text[:19].upper())
    except ValueError:
        return text[17:19] == "60"  # a leap second
    return True


def _date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10


def _duration(text: str) -> bool:
    return any(
        re.fullmatch(pattern, value) for pattern, value in ((_GO_DURATION, text), (_LONG_DURATION, text.lower()))
    )


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _uri(text: str) -> bool:
    if not text or any(char in text for char in ' \t\r\n<>"{}|^`'):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return True

    return fits


def _cidr(text: str) -> bool:
    return "/" in text and _address(lambda value: ipaddress.ip_network(value, strict=False))(text)


def _isbn(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    return re.fullmatch(r"\d{9}[\dX]|\d{13}", digits) is not None


FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _fits(_BSON),
    "byte": _byte,
    "cidr": _cidr,
    "creditcard": _fits(_CARD),
    "date": _date,
    "datetime": _date_time,
    "duration": _duration,
    "email": _fits(_EMAIL),
    "hexcolor": _fits(_HEX_COLOR),
    "hostname": _fits(_HOSTNAME),
    "ipv4": _address(ipaddress.IPv4Address),
    "ipv6": _address(ipaddress.IPv6Address),
    "isbn": _isbn,
    "isbn10": _isbn,
    "isbn13": _isbn,
    "k8slongname": lambda text: not dns_subdomain(text),
    "k8sshortname": lambda text: not dns_label(text),
    "mac": _fits(_MAC),
    "password": lambda _: True,
    "rgbcolor": _fits(_RGB_COLOR),
    "ssn": _fits(_SSN),
    "uri": _uri,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89abAB]"),
    "uuid5": _uuid("5", "[89abAB]"),
}
"""By name without dashes, as the server compares them."""
