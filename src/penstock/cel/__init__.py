"""CEL, the language of health checks and ready expressions, with the functions that Flux promises.

`compile` reads an expression, checks its types where variables are declared, and answers a `Program`. An evaluation is
bounded: it stops when it has cost too much. Errors are worded as cel-go words them.
"""

from penstock.cel.errors import CelError, CelRuntimeError, CelSyntaxError
from penstock.cel.program import Program, compile  # noqa: A004  -- to be called as `cel.compile`

__all__ = ["CelError", "CelRuntimeError", "CelSyntaxError", "Program", "compile"]
