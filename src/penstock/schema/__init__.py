"""What is known about Kubernetes types: how lists merge, which kinds live outside namespaces.

The facts come from a table that `tools/schema_table.py` generates, or from an OpenAPI document of the user.
Both answer through the same small interface: a `Shape` knows the shapes of its fields and elements.
"""

from penstock.schema.openapi import OpenAPIError, from_openapi, shape_of
from penstock.schema.shapes import Schema, Shape
from penstock.schema.table import builtin

__all__ = ["OpenAPIError", "Schema", "Shape", "builtin", "from_openapi", "shape_of"]
