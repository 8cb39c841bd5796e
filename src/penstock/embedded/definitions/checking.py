"""Checks a custom object against its schema, worded as the API server words it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock.embedded.definitions.nodes import MISSING, Node
from penstock.embedded.kinds.problems import (
    FieldProblem,
    Problems,
    invalid,
    quoted,
    required,
    too_long,
    too_many,
    unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT32, _INT64 = 2**31, 2**63
_WHOLE = "<nil>"
"""What the server prints for the field where only a sentence tells which value is meant."""


def check(problems: Problems, value: Any, node: Node, path: str, old: Any = MISSING) -> None:
    """Add everything that is wrong with a value. What was so before, in `old`, is not held against it."""
    if old is not MISSING and _same(value, old):
        return
    if not _check_type(problems, value, node, path):
        if value is not None:
            _check_enum(problems, value, node, path)
        return
    _check_composed(problems, value, node, path)
    if isinstance(value, str):
        _check_text(problems, value, node, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(problems, value, node, path)
    elif isinstance(value, list):
        _check_list(problems, value, node, path, old)
    _check_enum(problems, value, node, path)
    if isinstance(value, dict):
        _check_object(problems, value, node, path, old)


def _check_enum(problems: Problems, value: Any, node: Node, path: str) -> None:
    """Whether it is one of the values that there are; a value of the wrong type is asked, too."""
    if node.enum and not any(_same(value, allowed) for allowed in node.enum):
        listed = [allowed if isinstance(allowed, str) else quoted(allowed) for allowed in node.enum]
        problems.append(unsupported(path, value, listed))


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON is: 1 is 1.0, but not true."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _check_type(problems: Problems, value: Any, node: Node, path: str) -> bool:
    """Whether the value has a type that lets the other checks make sense."""
    if not node.types:
        return True
    if value is None:
        if not node.nullable:
            problems.append(_wrong_type(path, ",".join(node.types), "null"))
        return False
    found = _json_type(value)
    if found in node.types or (found == "integer" and "number" in node.types):
        return True
    if found == "number" and "integer" in node.types and float(value).is_integer():
        return True
    if found == "number" and node.types == ("integer",):
        known = node.format in ("int32", "int64")
        problems.append(_wrong_type(path, *((node.format, "float64") if known else ("integer", "number"))))
        return True
    problems.append(_wrong_type(path, ",".join(node.types), found))
    return False


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "null"


def _wrong_type(path: str, wanted: str, found: str) -> FieldProblem:
    return type_invalid(path, found, f"{path} in body must be of type {wanted}: {quoted(found)}")


def type_invalid(path: str, value: Any, detail: str) -> FieldProblem:
    return FieldProblem("FieldValueTypeInvalid", path, f"Invalid value: {quoted(value)}: {detail}")


def _check_text(problems: Problems, value: str, node: Node, path: str) -> None:
    if node.max_length is not None and len(value) > node.max_length:
        problems.append(too_long(path, node.max_length))
    elif node.min_length is not None and len(value) < node.min_length:
        problems.append(invalid(path, value, f"{path} in body should be at least {node.min_length} chars long"))
    elif node.pattern is not None and node.pattern.search(value) is None:
        problems.append(invalid(path, value, f"{path} in body should match '{node.pattern_text}'"))
    if node.format_fits is not None and not node.format_fits(value):
        problems.append(type_invalid(path, value, f"{path} in body must be of type {node.format}: {quoted(value)}"))


def _check_number(problems: Problems, value: float, node: Node, path: str) -> None:
    if node.types == ("integer",) and not _in_range(value, node.format):
        form = f"with format {node.format}" if node.format else "(default format)"
        detail = f"Checked value must be of type integer {form} in {path}"
        problems.append(invalid(_WHOLE, "", detail))
    bounds = node.bounds
    factor = bounds.get("multipleOf")
    if factor and not float(value / factor).is_integer():
        problems.append(invalid(path, value, f"{path} in body should be a multiple of {go_float(factor)}"))
    least, most = bounds.get("minimum"), bounds.get("maximum")
    if least is not None and (value < least or (node.exclusive_minimum and value == least)):
        words = "greater than" if node.exclusive_minimum else "greater than or equal to"
        problems.append(invalid(path, value, f"{path} in body should be {words} {go_float(least)}"))
    if most is not None and (value > most or (node.exclusive_maximum and value == most)):
        words = "less than" if node.exclusive_maximum else "less than or equal to"
        problems.append(invalid(path, value, f"{path} in body should be {words} {go_float(most)}"))


def _in_range(value: float, form: str) -> bool:
    limit = _INT32 if form == "int32" else _INT64
    return float(value).is_integer() and -limit <= value < limit


def go_float(value: float) -> str:
    """A number as Go prints a float64."""
    number = float(value)
    if number == 0 or not math.isfinite(number):
        return "0"
    exponent = math.floor(math.log10(abs(number)))
    if number.is_integer() and -4 <= exponent < 21 and exponent < 6:
        return str(int(number))
    if -4 <= exponent < 6:
        return repr(number)
    mantissa, _, power = f"{number:.16e}".partition("e")
    shortest = repr(number / 10**exponent) if abs(exponent) < 300 else mantissa
    digits = next((f"{number:.{places}e}" for places in range(17) if float(f"{number:.{places}e}") == number), shortest)
    mantissa, _, power = digits.partition("e")
    sign, size = power[0], power[1:].lstrip("0").rjust(2, "0")
    return f"{mantissa}e{sign}{size}"


def _check_list(problems: Problems, value: Sequence[Any], node: Node, path: str, old: Any) -> None:
    before = _by_key(old, node) if isinstance(old, list) else {}
    if node.items is not None:
        for index, item in enumerate(value):
            check(problems, item, node.items, f"{path}[{index}]", before.get(_key(item, node), MISSING))
    if node.max_items is not None and len(value) > node.max_items:
        problems.append(too_many(path, len(value), node.max_items))
    if node.min_items is not None and len(value) < node.min_items:
        problems.append(invalid(path, len(value), f"{path} in body should have at least {node.min_items} items"))


def _by_key(old: Sequence[Any], node: Node) -> dict[Any, Any]:
    """The items of a list that can be found again by their keys; other lists are new or not as a whole."""
    if node.list_type != "map":
        return {}
    return {_key(item, node): item for item in old}


def _key(item: Any, node: Node) -> Any:
    if node.list_type != "map" or not isinstance(item, dict):
        return MISSING
    return tuple(repr(item.get(name)) for name in node.map_keys)


def _check_object(problems: Problems, value: dict[str, Any], node: Node, path: str, old: Any) -> None:
    before: dict[str, Any] = old if isinstance(old, dict) else {}
    if node.max_properties is not None and len(value) > node.max_properties:
        problems.append(too_many(path, len(value), node.max_properties))
    if node.min_properties is not None and len(value) < node.min_properties:
        detail = f"{path} in body should have at least {node.min_properties} properties"
        problems.append(invalid(path, len(value), detail))
    wanted = (*node.required, "apiVersion", "kind") if node.embedded and path else node.required
    problems += [required(_below(path, name)) for name in wanted if name not in value]
    if not node.properties and not isinstance(node.additional, Node):
        return
    for key, inner in value.items():
        child = node.child(key)
        if child is not None and not (node.embedded and key == "metadata"):
            check(problems, inner, child, _below(path, key), before.get(key, MISSING))


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _check_composed(problems: Problems, value: Any, node: Node, path: str) -> None:
    """allOf, anyOf, oneOf and not."""
    if node.any_of:
        tried = [_problems(value, each, path) for each in node.any_of]
        if all(tried):
            problems.append(invalid(_WHOLE, "", f'"{path}" must validate at least one schema (anyOf)'))
            problems += _fewest(tried)
    if node.one_of:
        tried = [_problems(value, each, path) for each in node.one_of]
        fitting = sum(not found for found in tried)
        if fitting != 1:
            count = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            detail = f'"{path}" must validate one and only one schema (oneOf). {count}'
            problems.append(invalid(_WHOLE, "", detail))
            problems += [] if fitting else _fewest(tried)
    if node.all_of:
        found = [problem for each in node.all_of for problem in _problems(value, each, path)]
        problems += found
        if found:
            problems.append(invalid(_WHOLE, "", f'"{path}" must validate all the schemas (allOf)'))
    if node.not_ is not None and not _problems(value, node.not_, path):
        problems.append(invalid(_WHOLE, "", f'"{path}" must not validate the schema (not)'))


def _fewest(tried: Sequence[Problems]) -> Problems:
    """Of several schemas that do not fit, what is wrong by the nearest one."""
    fewest = min(len(found) for found in tried)
    return next(found for found in tried if len(found) == fewest)


def _problems(value: Any, node: Node, path: str) -> Problems:
    found: Problems = []
    check(found, value, node, path)
    return found
