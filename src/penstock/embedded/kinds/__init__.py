"""What the API server does to objects of each built-in kind, besides storing them.

In the order of a write: `Rules.default` reads the object as its Go type (unknown fields go, quantities and times get
their one form, a value of the wrong type is a `DecodeError`) and fills in defaults; `prepare_create` or
`prepare_update` drops what this write may not set and counts the generation; `validate_create` or `validate_update`
says what is wrong, in the API server's words.

What depends on other objects is in `admission.py`, what a Service is given in `addresses.py`.
"""

from penstock.embedded.kinds.plugin import install
from penstock.embedded.kinds.problems import FieldProblem
from penstock.embedded.kinds.registry import rules
from penstock.embedded.kinds.rules import Rules
from penstock.schema.scalars import DecodeError

__all__ = ["DecodeError", "FieldProblem", "Rules", "install", "rules"]
