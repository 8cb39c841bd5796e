"""Why a file could not be read."""

from penstock.errors import PenstockError


class FileError(PenstockError):
    """The file or directory is missing, of the wrong kind, unreadable or too large."""


class EscapeError(FileError):
    """The name leads out of the directory that was allowed."""
