"""Field validation: fields that a type does not have, and fields that a body has twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.fields.sets import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

MAX_PROBLEMS = 100
"""The server stops counting there."""


@dataclass(frozen=True, slots=True)
class FieldProblems:
    """What is wrong with the fields of one body; false when nothing is."""

    found: tuple[str, ...] = ()
    repeated_lines: tuple[str, ...] = ()
    """Keys that a YAML document has twice, each with its line."""

    def __bool__(self) -> bool:
        return bool(self.found or self.repeated_lines)

    @property
    def warnings(self) -> list[str]:
        """One warning for each."""
        return [*self.repeated_lines, *self.found]

    @property
    def sentence(self) -> str:
        """The error of a strict request."""
        return f"strict decoding error: {', '.join([*self._yaml, *self.found])}"

    @property
    def apply_sentence(self) -> str:
        """The error of a strict server-side apply, which looks only for keys that are there twice."""
        return f"error strict decoding YAML: error converting YAML to JSON: {''.join(self._yaml)}"

    @property
    def _yaml(self) -> list[str]:
        lines = [f"\n  {line}" for line in self.repeated_lines]
        return [f"yaml: unmarshal errors:{''.join(lines)}"] if lines else []


def object_problems(
    obj: Object, schema: Schema, *, body: bytes | None = None, yaml: bool = False, custom: bool = False
) -> FieldProblems:
    """The problems of a whole object. `body` is what it was read from, when repeated keys count."""
    lines = repeated_lines(body) if yaml and body is not None else []
    pairs = None if yaml or body is None else _pairs(body, obj)
    if custom:
        repeated = list(_repeated(pairs, "")) if pairs is not None else []
        return _problems([*repeated, *sorted(unknown_fields(obj, schema))], lines)
    if pairs is not None:
        return _problems(_pair_problems(pairs, schema, ""), lines)
    return _problems(unknown_fields(obj, schema), lines)


def patch_problems(
    patched: Object,
    schema: Schema,
    *,
    body: bytes,
    operations: bool = False,
    values: bool = False,
    unread: Sequence[str] = (),
) -> FieldProblems:
    """The problems of a patch and of what it made of the object. `operations` marks a JSON patch.

    They are told in the order of the document that came out; with `values` there was none, and they are sorted by
    their words. `unread` are more top-level fields that count as unknown.
    """
    pairs = _pairs(body)
    found: list[str] = []
    if operations:
        found = [f"json patch {problem}" for problem in _operation_problems(body)]
    elif pairs is not None:
        found = list(_repeated(pairs, ""))
    unknown = [*unknown_fields(patched, schema), *(f'unknown field "{name}"' for name in unread)]
    return _problems([*found, *sorted(unknown, key=None if values else _place)], [])


def apply_problems(wanted: Object, *, body: bytes) -> FieldProblems:
    """The problems of a server-side apply: keys that are there twice, in JSON or YAML."""
    try:
        repeated = _pairs(body, wanted) is not None
    except ValueError:
        repeated = True  # YAML that is no JSON: its own parser has to look.
    return _problems([], repeated_lines(body)) if repeated else FieldProblems()


def unknown_fields(obj: Any, schema: Schema) -> list[str]:
    """Every field that the type does not declare, as the server names it, in the order of the object."""
    found: list[str] = []
    _unknown(obj, schema, "", found)
    return found


def _unknown(value: Any, schema: Schema, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        # A map where a list should be has no field that anybody knows.
        fields, element = schema.fields, schema.element if schema.kind != "list" else None
        for key, child in value.items():
            type_ = fields.get(key) or element
            if type_ is None:
                if schema.kind != "any":
                    found.append(f'unknown field "{path}.{key}"' if path else f'unknown field "{key}"')
            elif _may_hold_unknown(child, type_):
                _unknown(child, type_, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list) and schema.element is not None:
        for index, item in enumerate(value):
            if _may_hold_unknown(item, schema.element):
                _unknown(item, schema.element, f"{path}[{index}]", found)


def _may_hold_unknown(value: Any, schema: Schema) -> bool:
    if schema.kind == "scalar":  # a map in its place has fields that nobody knows
        return schema.scalar != "untyped" and isinstance(value, dict)
    return schema.kind != "any" and bool(value)


def _place(problem: str) -> list[str]:
    """Where a problem stands in the document that the server made: keys are sorted at every level."""
    return problem.replace("[", ".[").split(".")


def _problems(found: Iterable[str], lines: list[str]) -> FieldProblems:
    return FieldProblems(tuple(dict.fromkeys(found))[:MAX_PROBLEMS], tuple(lines))


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written, with keys that are there twice."""


def _pairs(body: bytes, read: Any = None) -> Any:
    """The document as pairs when some object in it has a key twice; None when none has.

    `read` is what the document was read as: written again it is as long as before when no key got lost.
    """
    if read is not None and len(orjson.dumps(read)) == len(body):
        return None
    repeated = False

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        made = dict(pairs)
        if len(made) != len(pairs):
            repeated = True
        return made

    json.loads(body, object_pairs_hook=collect)
    return json.loads(body, object_pairs_hook=_Pairs) if repeated else None


def _pair_problems(value: Any, schema: Schema, path: str) -> Iterable[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            where = f"{path}.{key}" if path else key
            type_ = schema.fields.get(key) or schema.element
            if type_ is None:
                yield f'unknown field "{where}"'
                continue
            if key in seen:
                yield f'duplicate field "{where}"'
            seen.add(key)
            if type_.kind != "any":
                yield from _pair_problems(child, type_, where)
    elif isinstance(value, list) and schema.element is not None:
        for index, item in enumerate(value):
            yield from _pair_problems(item, schema.element, f"{path}[{index}]")


def _repeated(value: Any, path: str) -> Iterable[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            where = f"{path}.{key}" if path else key
            if key in seen:
                yield f'duplicate field "{where}"'
            seen.add(key)
            yield from _repeated(child, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeated(item, f"{path}[{index}]")


_OPERATION = frozenset({"op", "path", "from", "value"})


def _operation_problems(body: bytes) -> Iterable[str]:
    operations: list[Any] = json.loads(body, object_pairs_hook=_Pairs)
    for index, operation in enumerate(operations or ()):
        seen: set[str] = set()
        for key, value in operation or ():
            where = f"[{index}].{key}"
            if key not in _OPERATION:
                yield f'unknown field "{where}"'
                continue
            if key in seen:
                yield f'duplicate field "{where}"'
            seen.add(key)
            yield from _repeated(value, where)


def repeated_lines(body: bytes) -> list[str]:
    """Keys that a YAML document has twice in one map, each with its line."""
    # YAML is rare here, and its parser is slow to import.
    import yaml

    found: list[tuple[int, str]] = []
    # For every open collection: the keys of a map so far and whether a key comes next; None for a list.
    open_: list[list[Any] | None] = []
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        top = open_[-1] if open_ else None
        is_key = top is not None and top[1]
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            open_.pop()
            continue
        if isinstance(event, yaml.ScalarEvent) and is_key and top is not None:
            if event.value in top[0] and event.start_mark is not None:
                found.append((event.start_mark.line + 1, event.value))
            top[0].add(event.value)
        if top is not None and isinstance(event, yaml.NodeEvent):
            top[1] = not top[1]
        if isinstance(event, yaml.MappingStartEvent):
            open_.append([set(), True])
        elif isinstance(event, yaml.SequenceStartEvent):
            open_.append(None)
        elif isinstance(event, yaml.DocumentEndEvent):
            break
    return [f"line {line}: key {quoted(key)} already set in map" for line, key in sorted(found)]
