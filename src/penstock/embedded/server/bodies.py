"""Bodies of requests: JSON and YAML in, objects out, and the server's words for what cannot be read."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import orjson

from penstock.embedded.server.negotiation import YAML
from penstock.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

P = ParamSpec("P")
T = TypeVar("T")

LIMIT = 3 * 1024 * 1024
LONG = 64 * 1024
"""Bodies of more bytes are read in a thread."""
DEPTH_LIMIT = 250
VALUES_LIMIT = 200_000
"""How many values one body may hold. No object needs that many, and each costs the event loop some microseconds."""
_TOO_MANY = f"more than {VALUES_LIMIT} values"
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


class Unreadable(Exception):
    """The bytes are not what their type promises; the sentence is the parser's."""


async def aside(body: bytes, read: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What `read` makes of a body; of a long one in a thread, so that others need not wait for it."""
    if len(body) <= LONG:
        return read(*arguments, **named)
    return await asyncio.to_thread(read, *arguments, **named)


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
    if resource.custom and not kind and not value.get("kind"):
        raise _unrecognized(wanted, f"Object 'Kind' is missing in '{body.decode(errors='replace')}'", body)
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
        return _counted(body, orjson.loads(body))
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
    if body.lstrip()[:1] in (b"{", b"["):
        try:
            return _counted(body, orjson.loads(body))
        except orjson.JSONDecodeError:
            pass  # YAML in flow style, or a mistake that YAML's parser names
    # YAML is rare here, and its parsers are slow to import
    from penstock.yaml import Limits, YAMLError, config, plain
    from penstock.yaml.scalars import WrittenTime

    def as_sent(value: Any) -> Any:
        """Dates stay the texts that they were written as."""
        if isinstance(value, dict):
            return {key: as_sent(item) for key, item in value.items()}
        if isinstance(value, list):
            return [as_sent(item) for item in value]
        return value.text if isinstance(value, WrittenTime) else value

    _check_count(body)
    try:
        value = plain(as_sent(config(body, Limits(LIMIT, DEPTH_LIMIT, VALUES_LIMIT))))
        # What JSON cannot say, such as half a surrogate, is not an object of the API either.
        return orjson.loads(orjson.dumps(value))
    except YAMLError as error:
        raise Unreadable(_yaml_words(error.__cause__ or error)) from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(_yaml_words(error)) from None


def _check_count(body: bytes) -> None:
    """Refuse what has too many values; libyaml's events tell, and only where there may be that many."""
    if body.count(b"\n") + body.count(b",") < VALUES_LIMIT:
        return
    import yaml

    try:
        for count, _ in enumerate(yaml.parse(body, Loader=yaml.CSafeLoader)):
            if count > VALUES_LIMIT:
                raise Unreadable(f"yaml: {_TOO_MANY}")
    except yaml.YAMLError as error:
        raise Unreadable(_yaml_words(error)) from None


def _counted(body: bytes, value: Any) -> Any:
    """The value, unless there are too many in it; whatever has that many has at least as many commas."""
    if body.count(b",") < VALUES_LIMIT:
        return value
    count, left = 0, [value]
    while left:
        each = left.pop()
        count += len(each)
        if count > VALUES_LIMIT:
            raise Unreadable(_TOO_MANY)
        left += [item for item in (each.values() if isinstance(each, dict) else each) if isinstance(item, (dict, list))]
    return value


def _yaml_words(error: BaseException) -> str:
    """The mistake as the server's YAML parser tells it, which counts lines in its own way."""
    text = str(getattr(error, "problem", "") or error)
    mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    line = 0
    if mark is not None and mark.line:
        line = mark.line + (type(error).__name__ == "ScannerError")
    elif context is not None:
        line = context.line
    return f"yaml: line {line}: {text}" if line else f"yaml: {text}"


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
