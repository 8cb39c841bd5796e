"""What can go wrong with fields, in the words of the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.embedded.fields.managers import Entry
    from penstock.embedded.fields.sets import Path


class ElementError(PenstockError):
    """A list item from which no path element can be made."""


class TypedError(PenstockError):
    """A value that does not fit its type; the server answers 500 with this sentence and no reason."""

    code = 500
    reason = ""


class FieldConflict(PenstockError):
    """Other managers own fields that an apply would change; the server answers 409 with these causes.

    `causes` are pairs of the message and the field, `found` the same as managers and paths.
    """

    code = 409
    reason = "Conflict"

    def __init__(self, message: str, causes: Sequence[tuple[str, str]], found: Sequence[tuple[Entry, Path]]) -> None:
        super().__init__(message)
        self.message = message
        self.causes = tuple(causes)
        self.found = tuple(found)


class ApplyError(PenstockError):
    """An apply that is not allowed at all; the server answers 400 with this sentence."""

    code = 400
    reason = "BadRequest"


class PatchError(PenstockError):
    """A patch that cannot be read or does not fit the object."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
