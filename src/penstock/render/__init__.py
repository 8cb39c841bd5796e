"""From an artifact to its final objects: generate, build, decrypt, substitute, label.

`render` makes objects of a tree by a `Recipe`; the tree is only read. `prepare` turns them into what is applied.
"""

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
from penstock.render.envsubst import substitute
from penstock.render.errors import BuildFailed, PreparationFailed, SubstitutionFailed
from penstock.render.expressions import ExpressionError
from penstock.render.keys import Decryption, DecryptionSettings, open_keyring, read_keys
from penstock.render.overlay import Overlay
from penstock.render.pipeline import Rendered, render
from penstock.render.prepare import owned, prepare
from penstock.render.recipe import KeyMaterial, Recipe
from penstock.render.variables import merge_variables

__all__ = [
    "BuildFailed",
    "DecryptedSources",
    "Decryption",
    "DecryptionFailed",
    "DecryptionSettings",
    "ExpressionError",
    "KeyMaterial",
    "Overlay",
    "PreparationFailed",
    "Recipe",
    "Rendered",
    "SubstitutionFailed",
    "decrypt_object",
    "decrypt_objects",
    "decrypt_sources",
    "is_encrypted",
    "is_encrypted_secret",
    "merge_variables",
    "open_keyring",
    "owned",
    "prepare",
    "read_keys",
    "render",
    "require_decrypted",
    "substitute",
    "verifies_mac",
    "verify_resources",
]
