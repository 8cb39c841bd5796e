"""The door: a raw object becomes a Struct here, or an error that names the object and the field."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from penstock.api.durations import Duration, quoted
from penstock.api.kinds import KINDS, kind_of
from penstock.api.structural import schema_of
from penstock.api.wire import Object, Wire
from penstock.errors import PenstockError

W = TypeVar("W", bound=Wire)

_WHERE = re.compile(r"^(?P<problem>.*) - at (?P<key>`key` in )?`(?P<path>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|(?P<entry>\[\.\.\.\])")
_SOMEWHERE = object()
_TYPES = {"string": "a string", "boolean": "true or false", "integer": "a whole number", "array": "a list"}
_GOT = {
    "str": "a string",
    "bool": "true or false",
    "int": "a number",
    "float": "a fraction",
    "array": "a list",
    "object": "an object",
}


class InvalidObject(PenstockError):
    """An object that is not what its kind promises; the sentence names the object and the field."""

    def __init__(self, name: str, field: str, problem: str) -> None:
        super().__init__(": ".join(part for part in (name, field, problem) if part))
        self.name = name
        self.field = field
        self.problem = problem


def decode(obj: Object, into: type[W]) -> W:
    """The object as a Struct.

    Unknown fields are ignored, so that a newer API does not break an older us. CEL rules are not looked at: the
    API server has done that. The error shows a value only where the field cannot hold a secret.
    """
    _check_kind(obj, into)
    try:
        return msgspec.convert(obj, into, dec_hook=_custom)
    except msgspec.ValidationError as error:
        raise _explained(str(error), obj, into, ours=isinstance(error.__cause__, ValueError)) from None


def _custom(kind: type, value: Any) -> Any:
    if issubclass(kind, Duration):
        return kind.from_field(value)
    raise NotImplementedError(f"{kind.__name__} has no form on the wire")


def _check_kind(obj: Any, into: type[Wire]) -> None:
    wanted = KINDS.get(into.__name__)
    if wanted is None or wanted.struct is not into:
        return
    if not isinstance(obj, dict):
        raise InvalidObject("", "", f"a {wanted.kind} is an object, not {quoted(obj)}")
    if kind_of(obj) is not wanted:
        claimed = f"{obj.get('kind') or 'nothing'} of {obj.get('apiVersion') or 'no API version'}"
        raise InvalidObject(_name(obj), "", f"is a {claimed}, not a {wanted.kind} of {wanted.group}")


def _name(obj: Any) -> str:
    if not isinstance(obj, dict):
        return ""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    parts = (obj.get("kind"), metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(part) for part in parts if part)


def _explained(text: str, obj: Any, into: type[Wire], *, ours: bool) -> InvalidObject:
    found = _WHERE.match(text)
    problem, path = (found["problem"], found["path"]) if found else (text, "$")
    steps = list(_STEP.finditer(path))
    field = path.removeprefix("$").removeprefix(".").replace("[...]", "[*]")
    if missing := _MISSING.match(problem):
        field = f"{field}.{missing['name']}" if field else missing["name"]
        return InvalidObject(_name(obj), field, "is required")
    if found and found["key"]:
        return InvalidObject(_name(obj), field, "every key must be a string")
    if not ours:
        problem = _problem(problem, _value(obj, steps), _schema(into, steps))
    return InvalidObject(_name(obj), field, problem)


def _value(obj: Any, steps: Sequence[re.Match[str]]) -> Any:
    """What stands at the place, if msgspec says where that is: of a map it does not name the entry."""
    for step in steps:
        if step["entry"]:
            return _SOMEWHERE
        obj = obj[int(step["index"])] if step["index"] else obj[step["name"]]
    return obj


def _schema(into: type[Wire], steps: Sequence[re.Match[str]]) -> Object:
    schema = schema_of(into)
    for step in steps:
        if step["entry"]:
            schema = schema["additionalProperties"]
        elif step["index"]:
            schema = schema["items"]
        else:
            schema = schema["properties"][step["name"]]
    return schema


def _problem(told: str, value: Any, schema: Object) -> str:
    """What is wrong, in our words. Values of free text are not shown: an address may hold a password."""
    kind = schema.get("type", "object")
    shown = "the value" if value is _SOMEWHERE else quoted(value)
    if ", got `" in told:
        got = told.rpartition(", got `")[2].rstrip("`")
        return f"must be {_TYPES.get(kind, 'an object')}, not {_GOT.get(got, got)}"
    if "enum" in schema:
        return f"{shown} is not one of {', '.join(schema['enum'])}"
    if schema.get("format") == "date-time":
        return f"{shown} is not a time like 2030-01-31T12:00:00Z"
    if " of length " in told:
        return _length(schema)
    if "matching regex" in told:
        return f"must match {schema['pattern']}"
    if "minimum" in schema:
        return f"must be at least {schema['minimum']}"
    return told


def _length(schema: Object) -> str:
    if "minItems" in schema:
        return f"must have at least {schema['minItems']} entry"
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    if longest is None:
        return f"must have at least {shortest} characters"
    return f"must have {shortest} to {longest} characters" if shortest else f"must have at most {longest} characters"
