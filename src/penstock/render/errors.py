"""Why an artifact does not become objects."""

from penstock.errors import StageError


class BuildFailed(StageError):
    """The tree cannot be generated, built, decrypted or substituted; the sentence says which file or object."""

    reason = "BuildFailed"


class SubstitutionFailed(BuildFailed):
    """An expression in the text of an object cannot be replaced."""


class PreparationFailed(StageError):
    """An object was built that must not be applied."""

    reason = "ReconciliationFailed"
