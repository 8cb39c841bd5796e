"""OpenPGP keys for tests, made on the spot."""

from __future__ import annotations

from openpgp.composed import (
    EncryptionCaps,
    KeyType,
    SecretKeyParamsBuilder,
    SignedSecretKey,
    SubkeyParamsBuilder,
)


def new_key() -> SignedSecretKey:
    """A key as people have them: one for signatures, with a subkey for encryption."""
    subkey = SubkeyParamsBuilder().key_type(KeyType.ecdh("curve25519")).can_encrypt(EncryptionCaps.all()).build()
    return (
        SecretKeyParamsBuilder()
        .key_type(KeyType.ed25519_legacy())
        .can_certify(True)
        .can_sign(True)
        .primary_user_id("tests <tests@example.com>")
        .subkey(subkey)
        .build()
        .generate()
    )


def armored_secret(key: SignedSecretKey) -> str:
    return key.to_armored()


def armored_public(key: SignedSecretKey) -> str:
    return key.to_public_key().to_armored()
