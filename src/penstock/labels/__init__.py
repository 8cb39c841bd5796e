"""Labels: which keys and values there may be, and selectors of objects by them.

A selector is text such as `app=web,tier in (a, b),!old` (`parse_selector`) or an object with `matchLabels` and
`matchExpressions` (`selects`, `written`). Both are read as the API server reads them.
"""

from penstock.labels.names import label_value, qualified_name
from penstock.labels.parsing import BadBound, BadKey, BadSelector, BadValue, parse_selector
from penstock.labels.requirement import Operator, Requirement, Requirements, matches
from penstock.labels.selector import BadOperator, selects, written

__all__ = [
    "BadBound",
    "BadKey",
    "BadOperator",
    "BadSelector",
    "BadValue",
    "Operator",
    "Requirement",
    "Requirements",
    "label_value",
    "matches",
    "parse_selector",
    "qualified_name",
    "selects",
    "written",
]
