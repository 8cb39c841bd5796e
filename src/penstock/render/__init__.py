"""From an artifact to its final objects: generate, build, decrypt, substitute, label."""

from penstock.render.decryption import (
    DecryptionFailed,
    decrypt_object,
    decrypt_objects,
    is_encrypted,
    is_encrypted_secret,
    require_decrypted,
    verifies_mac,
)
from penstock.render.encrypted_sources import DecryptedSources, decrypt_sources, verify_resources
from penstock.render.keys import Decryption, DecryptionSettings, open_keyring

__all__ = [
    "DecryptedSources",
    "Decryption",
    "DecryptionFailed",
    "DecryptionSettings",
    "decrypt_object",
    "decrypt_objects",
    "decrypt_sources",
    "is_encrypted",
    "is_encrypted_secret",
    "open_keyring",
    "require_decrypted",
    "verifies_mac",
    "verify_resources",
]
