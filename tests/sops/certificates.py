"""A certificate with its key, for tests."""

from __future__ import annotations

import trustme


def certificate_and_key() -> str:
    """Both as PEM in one text."""
    issued = trustme.CA().issue_cert("tests.example.com", key_type=trustme.KeyType.RSA)
    return issued.private_key_and_cert_chain_pem.bytes().decode()
