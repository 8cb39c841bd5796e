"""Bodies of requests: JSON and YAML in, objects out, and the server's words for what cannot be read."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.server.negotiation import YAML
from penstock.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    import yaml

    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

LIMIT = 3 * 1024 * 1024
DEPTH_LIMIT = 250
WEIGHT_LIMIT = 500_000
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


class Unreadable(Exception):
    """The bytes are not what their type promises; the sentence is the parser's."""


def parse(body: bytes, media_type: str) -> Any:
    """The value of a body; Unreadable says why not."""
    return _yaml(body) if media_type == YAML else _json(body)


def read_object(body: bytes, media_type: str, resource: ServedResource, kind: str = "") -> Object:
    """The object of a body, as it was sent, with kind and apiVersion filled in; 400 when it is none."""
    wanted = kind or resource.kind
    try:
        value = parse(body, media_type)
    except Unreadable as error:
        words = f"{error}" if media_type == YAML else f"couldn't get version/kind; json parse error: {error}"
        raise _unrecognized(wanted, words, body) from None
    if not isinstance(value, dict):
        words = f"json: cannot unmarshal {json_type(value)} into Go value of type {_TYPE_META}"
        raise _unrecognized(wanted, f"couldn't get version/kind; json parse error: {words}", body)
    for name in ("apiVersion", "kind"):
        told = value.get(name)
        if told is not None and not isinstance(told, str):
            words = f"json: cannot unmarshal {json_type(told)} into Go struct field .{name} of type string"
            raise _unrecognized(wanted, f"couldn't get version/kind; json parse error: {words}", body)
    if str(value.get("apiVersion") or "").count("/") > 1:
        raise _unrecognized(wanted, f"unexpected GroupVersion string: {value['apiVersion']}", body)
    return value


def read_options(body: bytes, media_type: str) -> Object:
    """The DeleteOptions of a body."""
    try:
        value = parse(body, media_type)
    except Unreadable as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(value, dict):
        words = f"json: cannot unmarshal {json_type(value)} into Go value of type {_TYPE_META}"
        raise bad_request(f"couldn't get version/kind; json parse error: {words}")
    kind = value.get("kind") or "DeleteOptions"
    version = value.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    return value


def json_type(value: Any) -> str:
    """What Go calls the type of a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if value is None:
        return "null"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Unreadable(go_json_error(body)) from None


def go_json_error(body: bytes) -> str:
    """What Go's decoder says about the mistake in these bytes."""
    text = body.decode(errors="replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return _go_words(text, error)
    except RecursionError:
        return "exceeded max depth"
    return "invalid character in string literal"  # bytes that are no UTF-8, or a number beyond all bounds


def _go_words(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :]
    if error.msg.startswith("Illegal trailing comma"):
        rest = rest[1:]
    rest = rest.lstrip(_SPACE)
    if not rest or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    if rest in ("t", "tr", "tru", "f", "fa", "fal", "fals", "n", "nu", "nul", "-"):
        return "unexpected end of JSON input"
    shown = _SHOWN.get(rest[0], f"'{rest[0]}'")
    place = next((words for start, words in _PLACES.items() if error.msg.startswith(start)), "in literal")
    if error.msg.startswith("Expecting ','"):
        inside = _inside_object(text[: error.pos])
        place = "after object key:value pair" if inside else "after array element"
    return f"invalid character {shown} {place}"


_SPACE = " \t\r\n"
_SHOWN = {"'": "'\\''", '"': "'\"'", "\n": "'\\n'", "\t": "'\\t'", "\r": "'\\r'", "\0": "'\\x00'"}
_PLACES = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character": "in string literal",
    "Invalid \\": "in string escape code",
}


def _inside_object(text: str) -> bool:
    depth: list[str] = []
    for char in _STRING.sub("", text):
        if char in "{[":
            depth.append(char)
        elif char in "}]" and depth:
            depth.pop()
    return bool(depth) and depth[-1] == "{"


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')


def _yaml(body: bytes) -> Any:
    import yaml  # YAML is rare here, and its parser is slow to import

    stripped = body.lstrip()
    if stripped[:1] in (b"{", b"["):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass  # YAML in flow style, or a mistake that YAML's parser names
    try:
        # First the events alone: a document that is too deep would take the parser hours and the reader its stack.
        _check_depth(body)
        value = yaml.load(body, Loader=_loader())  # noqa: S506 - a safe loader without dates
        if b"*" in body and _weight(value, {}) > WEIGHT_LIMIT:
            raise Unreadable("yaml: document contains excessive aliasing")
        # What JSON cannot say (sets, keys that are no text) is not an object of the API either.
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except (yaml.YAMLError, ValueError, RecursionError, orjson.JSONEncodeError) as error:
        raise Unreadable(_yaml_words(error)) from None


def _check_depth(body: bytes) -> None:
    import yaml

    depth = 0
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_LIMIT:
                raise Unreadable("yaml: exceeded max depth")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@cache
def _loader() -> type[yaml.CSafeLoader]:
    """Safe YAML in which a date is a text, as JSON has it."""
    import yaml

    class Loader(yaml.CSafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _yaml_words(error: Exception) -> str:
    """The mistake as the server's YAML parser tells it, which counts lines in its own way."""
    text = str(getattr(error, "problem", "") or error)
    mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    line = 0
    if mark is not None and mark.line:
        line = mark.line + (type(error).__name__ == "ScannerError")
    elif context is not None:
        line = context.line
    return f"yaml: line {line}: {text}" if line else f"yaml: {text}"


def _weight(value: Any, known: dict[int, int]) -> int:
    """How many values this is once every alias is written out."""
    if not isinstance(value, (dict, list)):
        return 1
    weight = known.get(id(value))
    if weight is None:
        known[id(value)] = 1
        children = value.values() if isinstance(value, dict) else value
        weight = known[id(value)] = 1 + sum(_weight(child, known) for child in children)
    return weight


def _unrecognized(kind: str, words: str, body: bytes) -> StatusError:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {words} ({_excerpt(body)})")


def _excerpt(body: bytes) -> str:
    """The beginning of a body as the server quotes it: as text only where that looks like JSON."""
    if not body:
        return "<empty>"
    text = body.decode(errors="replace")
    if text.lstrip().startswith("{"):
        return text if len(text) <= 30 else f"{text[:30]} ..."
    encoded = body.hex()
    return encoded if len(body) <= 30 else f"{encoded[:30]} ..."
