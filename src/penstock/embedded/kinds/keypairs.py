"""Whether the certificate and the key of a TLS Secret belong together, in the words of Go's library."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_BLOCK = re.compile(rb"^-----BEGIN ([^\n-]*)-----[ \t\r]*\n(.*?)^-----END \1-----[ \t\r]*$", re.DOTALL | re.MULTILINE)


def key_pair_warnings(new: Object, _: Object | None) -> list[str]:
    """The warning for a Secret with a certificate and a key that no server could use; it is stored all the same."""
    if new["type"] != "kubernetes.io/tls":
        return []
    data = new.get("data", {})
    problem = _problem(data.get("tls.crt") or "", data.get("tls.key") or "")
    return [problem] if problem else []


def _problem(certificate: str, key: str) -> str:
    """What is wrong with a pair, both in base64; empty when they fit. Malformed certificates are all told alike."""
    blocks, keys = _blocks(certificate), _blocks(key)
    found = next((data for kind, data in blocks if kind == "CERTIFICATE"), None)
    if found is None:
        return _no_certificate([kind for kind, _ in blocks])
    secret = next(((kind, data) for kind, data in keys if _is_key(kind)), None)
    if secret is None:
        return _no_key([kind for kind, _ in keys])
    return _mismatch(found, *secret)


def _blocks(text: str) -> list[tuple[str, bytes]]:
    data = base64.b64decode(text)
    made: list[tuple[str, bytes]] = []
    for match in _BLOCK.finditer(data):
        # Headers of a block end with an empty line.
        body = match[2].rpartition(b"\n\n")[2]
        try:
            made.append((match[1].decode(), base64.b64decode(b"".join(body.split()), validate=True)))
        except (binascii.Error, UnicodeDecodeError):
            continue
    return made


def _is_key(kind: str) -> bool:
    return kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY")


def _no_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched"
        )
    told = " ".join(skipped)
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: [{told}]"
    )


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    told = " ".join(skipped)
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: [{told}]"
    )


def _mismatch(found: bytes, kind: str, data: bytes) -> str:
    # Rarely needed, and slow to import.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.x509 import load_der_x509_certificate

    try:
        public = load_der_x509_certificate(found).public_key()
    except ValueError:
        return "x509: malformed certificate"
    pem = b"-----BEGIN %s-----\n%s-----END %s-----\n" % (kind.encode(), base64.encodebytes(data), kind.encode())
    try:
        own = serialization.load_pem_private_key(pem, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if type(public) is not type(own):
        return "tls: private key type does not match public key type"
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    if public.public_bytes(*form) != own.public_bytes(*form):
        return "tls: private key does not match public key"
    return ""
