"""Notary's signature envelope in CBOR: a COSE message with the certificates of the signer (extra `cose`)."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from penstock.sources.oci.verification.errors import NotSigned
from penstock.sources.oci.verification.jws import (
    EXPIRY,
    SCHEME,
    Protected,
    Signed,
    certificates,
    check_signature,
    target,
    understand,
)

_SIGN1 = 18  # the tag of a message with one signature
_ALGORITHM, _CRITICAL, _CONTENT, _CHAIN = 1, 2, 3, 33  # labels of headers
_ALGORITHMS = {-37: "PS256", -38: "PS384", -39: "PS512", -7: "ES256", -35: "ES384", -36: "ES512"}


def read(content: bytes) -> Signed:
    """The envelope, if its signature fits its first certificate; NotSigned otherwise."""
    if find_spec("cbor2") is None:
        raise NotSigned("envelopes in COSE need the extra 'cose': pip install 'penstock[cose]'")
    import cbor2

    try:
        message = cbor2.loads(content)
        if getattr(message, "tag", None) != _SIGN1:
            raise NotSigned("the signature envelope is not a COSE message with one signature")
        raw, loose, payload, signature = message.value
        protected = _protected(cbor2.loads(raw))
        found = loose[_CHAIN]
        chain = certificates([found] if isinstance(found, bytes) else list(found))
        signed = cbor2.dumps(["Signature1", raw, b"", payload])
    except (cbor2.CBORError, ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise NotSigned("the signature envelope is damaged") from error
    understand(protected)
    check_signature(chain[0], protected.alg, signed, signature)
    return Signed(target(payload), protected.expiry, chain)


def _protected(headers: dict[Any, Any]) -> Protected:
    expiry = headers.get(EXPIRY)
    if isinstance(expiry, int):
        expiry = datetime.fromtimestamp(expiry, UTC)
    if expiry is not None and not isinstance(expiry, datetime):
        raise ValueError("the expiry is no time")
    return Protected(
        alg=_ALGORITHMS.get(headers[_ALGORITHM], str(headers[_ALGORITHM])),
        cty=str(headers[_CONTENT]),
        crit=tuple(str(label) for label in headers[_CRITICAL]),
        scheme=str(headers[SCHEME]),
        expiry=expiry,
    )
