"""The careful way in: libyaml's events, one at a time, with every rule and limit applied.

It defines what a text means. The quick way (`quick.py`) is only taken for texts on which both agree.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

import yaml

from penstock.yaml.document import Document, Limits, Path
from penstock.yaml.errors import LimitError, YAMLError
from penstock.yaml.scalars import NULLS, Dialect, WrittenKey, resolve, text_of

_TAG = "tag:yaml.org,2002:"


def parse(text: bytes, dialect: Dialect, limits: Limits) -> Iterator[Document]:
    """The documents of a text."""
    comments = _schema_comments(text) if b"# {" in text else {}
    loader = yaml.CSafeLoader(text)
    try:
        while not loader.check_event(yaml.StreamEndEvent):
            event = loader.get_event()
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Reader(loader, dialect, limits, comments).document()
    except yaml.YAMLError as error:
        raise YAMLError(_sentence(error)) from error
    except UnicodeError as error:
        raise YAMLError(f"the text is not valid UTF-8: {error}") from error
    finally:
        loader.dispose()


def _sentence(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error).replace("\n", " ")
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{error.problem or error.context}"


def _schema_comments(text: bytes) -> dict[int, Any]:
    """Comments that hold a JSON object, by the line of the field they belong to."""
    found: dict[int, Any] = {}
    for number, line in enumerate(text.decode(errors="replace").split("\n")):
        before, hash_sign, comment = line.partition("# {")
        if hash_sign:
            try:
                value = json.loads("{" + comment)
            except ValueError:
                continue
            found[number if before.strip() else number + 1] = value
    return found


class _Reader:
    """Reads one document."""

    def __init__(self, loader: Any, dialect: Dialect, limits: Limits, comments: dict[int, Any]) -> None:
        self._loader = loader
        self._dialect: Dialect = dialect
        self._limits = limits
        self._anchors: dict[str, Any] = {}
        self._expanded = 0
        self._path: list[str] = []
        self._depth = 0
        self._nulls: dict[Path, str] = {}
        self._written = False
        self._comments = comments
        self._schemas: dict[Path, Any] = {}

    def document(self) -> Document:
        value = self._node(self._loader.get_event())
        return Document(value, self._nulls, self._written, self._schemas)

    def _node(self, event: Any) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = value
            return value
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self._depth += 1
        if self._depth > self._limits.depth:
            raise LimitError(f"{_at(event)}nested deeper than {self._limits.depth} levels")
        value = self._mapping(event) if isinstance(event, yaml.MappingStartEvent) else self._sequence(event)
        self._depth -= 1
        return value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise YAMLError(f"{_at(event)}unknown anchor '{event.anchor}'")
        value = self._anchors[event.anchor]
        if value is _OPEN:
            raise YAMLError(f"{_at(event)}anchor '{event.anchor}' contains itself")
        return self._copy(value)

    def _copy(self, value: Any) -> Any:
        self._expanded += 1
        if self._expanded > self._limits.nodes_from_aliases:
            raise LimitError(f"aliases expand to more than {self._limits.nodes_from_aliases} values")
        if isinstance(value, dict):
            return {key: self._copy(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item) for item in value]
        return value

    def _sequence(self, start: Any) -> list[Any]:
        if start.anchor:
            self._anchors[start.anchor] = _OPEN
        items: list[Any] = []
        while not isinstance(event := self._loader.get_event(), yaml.SequenceEndEvent):
            items.append(self._node(event))
        if start.anchor:
            self._anchors[start.anchor] = items
        return items

    def _mapping(self, start: Any) -> dict[str, Any]:
        if start.anchor:
            self._anchors[start.anchor] = _OPEN
        mapping: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        while not isinstance(event := self._loader.get_event(), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                merged.extend(self._merge_values(event))
                continue
            key = self._key(event)
            if key in mapping and self._dialect == "resource":
                raise YAMLError(f"{_at(event)}the key {key!r} is given twice")
            self._path.append(key)
            if (schema := self._comments.get(_line(event))) is not None:
                self._schemas[tuple(self._path)] = schema
            mapping[key] = self._node(self._value_event())
            self._path.pop()
        for other in merged:
            for key, item in other.items():
                mapping.setdefault(key, item)
        if start.anchor:
            self._anchors[start.anchor] = mapping
        return mapping

    def _value_event(self) -> Any:
        event = self._loader.get_event()
        if isinstance(event, yaml.ScalarEvent) and event.value in NULLS and event.implicit[0] and not event.tag:
            self._nulls[tuple(self._path)] = event.value
        return event

    def _merge_values(self, key: Any) -> list[dict[str, Any]]:
        value = self._node(self._loader.get_event())
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in values):
            raise YAMLError(f"{_at(key)}`<<` merges mappings only")
        return values

    def _key(self, event: Any) -> str:
        if isinstance(event, yaml.AliasEvent):
            value = self._alias(event)
        elif isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = value
        else:
            raise YAMLError(f"{_at(event)}a key must be a string, not a collection")
        if isinstance(value, str):
            return str(value)
        if self._dialect == "kustomization" and value is not None:
            return text_of(value)
        self._written = True
        return WrittenKey(getattr(event, "value", text_of(value)))

    def _scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            if not event.implicit[0] or tag == "!":
                return event.value
            value = resolve(event.value, self._dialect)
        else:
            value = self._tagged(event, tag)
        if type(value) not in _JSON_TYPES:
            self._written = True
        return value

    def _tagged(self, event: Any, tag: str) -> Any:
        name = tag.removeprefix(_TAG)
        if name == tag or name == "str":
            return event.value
        if name == "binary":
            try:
                return base64.b64decode(event.value, validate=False).decode()
            except (binascii.Error, UnicodeError) as error:
                raise YAMLError(f"{_at(event)}the !!binary value is not base64 of UTF-8 text") from error
        value = resolve(event.value, self._dialect)
        if name == "float" and isinstance(value, int):
            return float(value)
        if not isinstance(value, _TAGGED.get(name, object)):
            raise YAMLError(f"{_at(event)}cannot read {event.value!r} as !!{name}")
        return value


_OPEN = object()
_JSON_TYPES = frozenset({str, int, bool, type(None)})
_TAGGED: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": float,
    "bool": int,
    "null": type(None),
    "timestamp": str,
}


def _at(event: Any) -> str:
    return f"line {_line(event) + 1}: " if event.start_mark else ""


def _line(event: Any) -> int:
    return event.start_mark.line if event.start_mark else -1
