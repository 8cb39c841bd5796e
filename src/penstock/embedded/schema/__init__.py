"""What the API server knows about types: the fields of every built-in kind, how its lists and maps merge, and
which resources serve it.

The facts of the built-in kinds stand in `builtin.json`, one line a type, written by
`python -m penstock.embedded.schema.generate` from a real API server. The schema of a custom resource becomes
the same model with `structural_schema`, so that nobody who walks an object has to know where its type is from.
"""

from penstock.embedded.schema.model import ATOMIC, DEDUCED, ResourceType, Schema, Subresource
from penstock.embedded.schema.structural import structural_schema
from penstock.embedded.schema.table import builtin_resources, builtin_schema

__all__ = [
    "ATOMIC",
    "DEDUCED",
    "ResourceType",
    "Schema",
    "Subresource",
    "builtin_resources",
    "builtin_schema",
    "structural_schema",
]
