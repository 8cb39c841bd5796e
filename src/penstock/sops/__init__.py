"""SOPS files without the `sops` program: decrypted, encrypted, edited and checked in this process.

A file is read into documents that keep order, comments and scalar types (`values`), its data key is opened with the
keys at hand (`Keyring`), its values are decrypted one by one and proven by the MAC (`decrypt`, `open_file`). The way
back is `encrypt` and `close_file`. No plug-in, no agent, no file path of a key: keys come as text and stay in memory.
"""

from penstock.sops.datakey import Keyring, KeyService
from penstock.sops.errors import (
    DataKeyError,
    EmitError,
    IntegrityError,
    KeyFileError,
    LoadError,
    RuleError,
    SopsError,
    TreeError,
)
from penstock.sops.files import Opened, close_file, decrypt, encrypt, open_file, reseal
from penstock.sops.formats import Format, by_mark, by_name, is_marked
from penstock.sops.metadata import Metadata
from penstock.sops.rules import Rules

__all__ = [
    "DataKeyError",
    "EmitError",
    "Format",
    "IntegrityError",
    "KeyFileError",
    "KeyService",
    "Keyring",
    "LoadError",
    "Metadata",
    "Opened",
    "RuleError",
    "Rules",
    "SopsError",
    "TreeError",
    "by_mark",
    "by_name",
    "close_file",
    "decrypt",
    "encrypt",
    "is_marked",
    "open_file",
    "reseal",
]
