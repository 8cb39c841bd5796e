"""The one thing we must know of a certificate that the standard library does not tell: when it ends."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x17, 0x18


def expiry(pem: bytes) -> datetime | None:
    """When the first certificate of a PEM text ends; None when it cannot be read."""
    try:
        text = pem.decode("ascii")
        begin = text.index(ssl.PEM_HEADER)
        end = text.index(ssl.PEM_FOOTER, begin) + len(ssl.PEM_FOOTER)
        return _not_after(ssl.PEM_cert_to_DER_cert(text[begin:end]))
    except (ValueError, IndexError):
        return None


def _not_after(certificate: bytes) -> datetime | None:
    """The validity is the only sequence of the certificate's body that holds times."""
    _, body, _ = _element(certificate)
    _, body, _ = _element(body)
    while body:
        tag, content, body = _element(body)
        if tag != _SEQUENCE or content[:1] not in (bytes([_UTC_TIME]), bytes([_GENERALIZED_TIME])):
            continue
        _, _, rest = _element(content)
        kind, value, _ = _element(rest)
        layout = "%y%m%d%H%M%SZ" if kind == _UTC_TIME else "%Y%m%d%H%M%SZ"
        return datetime.strptime(value.decode("ascii"), layout).replace(tzinfo=UTC)
    return None


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """Tag and content of the first DER element, and what follows it."""
    length, start = der[1], 2
    if length & 0x80:
        start = 2 + (length & 0x7F)
        length = int.from_bytes(der[2:start], "big")
    return der[0], der[start : start + length], der[start + length :]
