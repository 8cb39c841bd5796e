"""Fields of objects: who manages them, how a request changes them, and which of them nobody declared.

Everything here is pure: objects in, objects out, nothing is changed in place, and the time is given.
"""

from penstock.embedded.fields.compare import same
from penstock.embedded.fields.errors import ApplyError, FieldConflict, PatchError, TypedError
from penstock.embedded.fields.jsonpatch import json_patch, merge_patch
from penstock.embedded.fields.manage import apply, settled, unreadable, update
from penstock.embedded.fields.reset import custom_reset_fields, reset_fields
from penstock.embedded.fields.restore import restore_problem
from penstock.embedded.fields.scale import scale_managers, scaled_managers
from penstock.embedded.fields.strategic import strategic_patch, strategic_patch_with_rest
from penstock.embedded.fields.strictness import (
    FieldProblems,
    apply_problems,
    object_problems,
    patch_problems,
    unknown_fields,
)

__all__ = [
    "ApplyError",
    "FieldConflict",
    "FieldProblems",
    "PatchError",
    "TypedError",
    "apply",
    "apply_problems",
    "custom_reset_fields",
    "json_patch",
    "merge_patch",
    "object_problems",
    "patch_problems",
    "reset_fields",
    "restore_problem",
    "same",
    "scale_managers",
    "scaled_managers",
    "settled",
    "strategic_patch",
    "strategic_patch_with_rest",
    "unknown_fields",
    "unreadable",
    "update",
]
