from __future__ import annotations

import base64

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from penstock.embedded.access.tokens import BadToken, ForeignToken, Signer
from penstock.errors import PenstockError
from tests.embedded.lifecycle.running import ISSUER, KEY


@pytest.fixture
def signer() -> Signer:
    return Signer(KEY, ISSUER)


def test_a_token_comes_back_as_it_was_signed(signer: Signer) -> None:
    claims = signer.verify(signer.sign({"sub": "me", "aud": ["a"]}))

    assert claims == {"sub": "me", "aud": ["a"], "iss": ISSUER}


def test_the_header_names_algorithm_and_key(signer: Signer) -> None:
    header = orjson.loads(base64.urlsafe_b64decode(signer.sign({}).split(".")[0] + "=="))

    assert header == {"alg": "ES256", "kid": signer.key_id}


def test_another_key_is_not_ours(signer: Signer) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    other = Signer(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), ISSUER)

    with pytest.raises(BadToken, match="error in cryptographic primitive"):
        signer.verify(other.sign({}))


def test_another_issuer_is_foreign(signer: Signer) -> None:
    with pytest.raises(ForeignToken):
        signer.verify(Signer(KEY, "https://elsewhere").sign({}))


def test_changed_claims_are_refused(signer: Signer) -> None:
    header, _, signature = signer.sign({"sub": "me"}).split(".")
    forged = base64.urlsafe_b64encode(orjson.dumps({"sub": "you", "iss": ISSUER})).rstrip(b"=").decode()

    with pytest.raises(BadToken):
        signer.verify(f"{header}.{forged}.{signature}")


def test_no_algorithm_is_no_way_around_the_signature(signer: Signer) -> None:
    body = signer.sign({"sub": "me"}).split(".")[1]
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()

    with pytest.raises(BadToken, match="unexpected signature algorithm"):
        signer.verify(f"{header}.{body}.")


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.b", "....", "%%.%%.%%", "W10.W10.W10"])
def test_what_is_no_token_is_foreign(signer: Signer, token: str) -> None:
    with pytest.raises(ForeignToken):
        signer.verify(token)


def test_a_key_of_another_kind_is_refused() -> None:
    key = rsa.generate_private_key(65537, 2048)

    with pytest.raises(PenstockError, match="EC P-256"):
        Signer(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), ISSUER)


def test_others_can_check_a_token_with_the_published_key(signer: Signer) -> None:
    key = signer.public_keys()["keys"][0]
    x, y = (int.from_bytes(base64.urlsafe_b64decode(key[name] + "=="), "big") for name in ("x", "y"))
    public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()

    header, body, signature = signer.sign({"sub": "me"}).split(".")

    raw = base64.urlsafe_b64decode(signature + "==")
    halves = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
    public.verify(encode_dss_signature(*halves), f"{header}.{body}".encode(), ec.ECDSA(SHA256()))
    assert key["kid"] == signer.key_id
