"""Certificates and keys of TLS Secrets: what the API server says about pairs that do not fit together.

They are stored all the same. What is wrong inside of a certificate or a key is told in fewer words than Go has.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_BLOCK = re.compile(rb"-----BEGIN ([^\n-]*)-----\r?\n.*?-----END \1-----", re.DOTALL)
_KEY = re.compile(r".*PRIVATE KEY$")


def key_pair_warnings(new: Object, _: Object | None) -> list[str]:
    """The warning for a Secret with a certificate and a key that no server could use."""
    if new.get("type") != "kubernetes.io/tls":
        return []
    certificate, key = (base64.b64decode(new.get("data", {}).get(name) or "") for name in ("tls.crt", "tls.key"))
    warning = _certificate_words(certificate) or _key_words(key) or _match_words(certificate, key)
    return [f"tls: {warning}"] if warning else []


def _types(data: bytes) -> list[str]:
    return [match[1].decode("latin-1") for match in _BLOCK.finditer(data)]


def _certificate_words(data: bytes) -> str:
    found = _types(data)
    if "CERTIFICATE" in found:
        return ""
    if not found:
        return "failed to find any PEM data in certificate input"
    if len(found) == 1 and _KEY.match(found[0]):
        return (
            "failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    return f'failed to find "CERTIFICATE" PEM block in certificate input {_skipped(found)}'


def _skipped(found: list[str]) -> str:
    return f"after skipping PEM blocks of the following types: [{' '.join(found)}]"


def _key_words(data: bytes) -> str:
    found = _types(data)
    if any(_KEY.match(each) for each in found):
        return ""
    if not found:
        return "failed to find any PEM data in key input"
    if len(found) == 1 and found[0] == "CERTIFICATE":
        return "found a certificate rather than a key in the PEM for the private key"
    return f'failed to find PEM block with type ending in "PRIVATE KEY" in key input {_skipped(found)}'


def _match_words(certificate: bytes, key: bytes) -> str:
    # Rarely needed, and slow to import.
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
        private = load_pem_private_key(key, None).public_key()
    except (ValueError, TypeError):
        return ""
    if type(public) is not type(private):
        return "private key type does not match public key type"
    return "" if public == private else "private key does not match public key"
