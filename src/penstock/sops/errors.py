"""What can go wrong between a SOPS file and its plain text.

SopsError
├── LoadError       the text is not what its format promises, or carries no SOPS metadata
├── KeyFileError    a key, recipient or credential that cannot be used
├── DataKeyError    no key at hand opens enough of the file's key groups
├── TreeError       a value cannot be decrypted: changed, moved, cut off or foreign
├── IntegrityError  the values are readable, but the file as a whole is not what was encrypted
├── EmitError       the plain text does not fit into the format asked for
└── RuleError       a `.sops.yaml` that makes no sense, or has nothing to say about a file

No sentence here quotes a value, a comment, a key or a checksum of them: paths, key names and recipients only.
"""

from penstock.errors import PenstockError


class SopsError(PenstockError):
    """Something about a SOPS file went wrong."""


class LoadError(SopsError):
    """The text is not what its format promises, or carries no SOPS metadata."""


class KeyFileError(SopsError):
    """A key, recipient or credential that cannot be used; the sentence names where it came from."""


class DataKeyError(SopsError):
    """No key at hand opens enough of the file's key groups."""


class TreeError(SopsError):
    """A value cannot be decrypted: changed, moved, cut off or encrypted with another key."""


class IntegrityError(SopsError):
    """The values are readable, but the file as a whole is not what was encrypted."""


class EmitError(SopsError):
    """The plain text does not fit into the format asked for."""


class RuleError(SopsError):
    """A `.sops.yaml` that makes no sense, or has nothing to say about a file."""
