"""Dotted paths, as variables and replacements write them.

    spec.containers.[name=web].ports.0.containerPort       metadata.annotations.[a.b/c]

A part is a field, an index, `[field=value]` for the elements with that value, or `*` for all elements. A dot
inside a name is escaped with a backslash or put in brackets.
"""

from collections.abc import Iterator
from typing import Any, Literal

from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldspecs import split_on
from penstock.kustomize.selectors import pattern
from penstock.yaml import text_of
from penstock.yaml.scalars import Untagged, is_string, resolve

Kind = Literal["scalar", "mapping", "list"]
Spot = tuple[Any, Any]  # a container, and the key or index of a value in it
_MOST = 1_000_000


def split_dotted(path: str) -> list[str]:
    """The parts of a path."""
    pieces = split_on(path, ".")
    parts: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        at += 1
        if not piece.startswith("[") or piece.endswith("]"):
            parts.append(piece)
            continue
        while at < len(pieces):
            piece += "." + pieces[at]
            at += 1
            if piece.endswith("]"):
                break
        parts.append(piece if "=" in piece else piece.strip("[]"))
    return parts


def lookup(value: Any, parts: list[str]) -> tuple[bool, Any]:
    """Whether there is a value at the path, and which; a wildcard is not allowed."""
    for part in parts:
        name = part.strip()
        if not name:
            continue
        if value is None:
            return False, None
        if name == "*":
            raise FieldError("a wildcard is not allowed here")
        if _number(name) is not None or name == "-":
            found, value = _element(value, name)
        elif _is_condition(name):
            found, value = _matching(value, name)
        elif isinstance(value, dict):
            found, value = name in value, value.get(name)
        else:
            raise FieldError(f"expected a mapping with '{name}', found {_brief(value)}")
        if not found:
            return False, None
    return True, value


def matches(value: Any, parts: list[str], create: Kind | None) -> list[Spot]:
    """Every place that the path leads to.

    With `create`, what is missing on the way is made, and the last part becomes an empty value of that kind.
    """
    spots: list[Spot] = [([value], 0)]
    for at, part in enumerate(parts):
        following = parts[at + 1] if at + 1 < len(parts) else None
        spots = [spot for holder, key in spots for spot in _step(holder, key, part, following, create)]
        if len(spots) > _MOST:
            raise FieldError(f"the path leads to more than {_MOST} places")
    return spots


def _step(holder: Any, key: Any, part: str, following: str | None, create: Kind | None) -> Iterator[Spot]:
    value = holder[key]
    if _number(part) is not None:
        yield from _index(value, part, following, create)
    elif _is_condition(part):
        yield from _elements(value, part, create)
    elif part == "*":
        yield from ((value, index) for index in range(len(_list(value))))
    else:
        yield from _field(value, part, following, create)


def _field(value: Any, name: str, following: str | None, create: Kind | None) -> Iterator[Spot]:
    if value is None:
        return
    if not isinstance(value, dict):
        raise FieldError(f"expected a mapping with '{name}', found {_brief(value)}")
    if name not in value:
        if create is None:
            return
        value[name] = _empty(following, create)
    yield value, name


def _index(value: Any, part: str, following: str | None, create: Kind | None) -> Iterator[Spot]:
    items = _list(value)
    index = int(part)
    if index == len(items) and create is not None:
        items.append(_empty(following, create))
    if index >= len(items):
        raise FieldError(f"the list has {len(items)} elements, none with the index {index}")
    yield items, index


def _elements(value: Any, part: str, create: Kind | None) -> Iterator[Spot]:
    items = _list(value)
    name, text = _condition(part)
    compiled = pattern(text)
    found = [index for index, item in enumerate(items) if _holds(item, name, compiled)]
    if not found and create is not None:
        element = resolve(text, "resource") if text else ""
        items.append({name: element} if name else element)
        found = [len(items) - 1]
    yield from ((items, index) for index in found)


def _holds(item: Any, name: str, compiled: Any) -> bool:
    if name:
        if not isinstance(item, dict) or name not in item:
            return False
        item = item[name]
    return compiled.search(_printed(item)) is not None


def _printed(value: Any) -> str:
    """A scalar as it stands in YAML: quoted if it would not be a string otherwise."""
    text = text_of(value)
    if isinstance(value, str) and text and not is_string(text):
        return f'"{text}"'
    return text if value is not None else "null"


def _empty(following: str | None, create: Kind) -> Any:
    if following is None:
        return {} if create == "mapping" else [] if create == "list" else NEW
    return [] if _is_condition(following) or _number(following) is not None else {}


NEW = Untagged()


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise FieldError(f"expected a list, found {_brief(value)}")
    return value


def _element(value: Any, part: str) -> tuple[bool, Any]:
    items = _list(value)
    index = len(items) - 1 if part == "-" else int(part)
    if index < 0:
        raise FieldError(f"a list index cannot be negative: {part}")
    return (True, items[index]) if index < len(items) else (False, None)


def _matching(value: Any, part: str) -> tuple[bool, Any]:
    name, text = _condition(part)
    for item in _list(value):
        if not name:
            if text_of(item) == text:
                return True, item
        elif isinstance(item, dict) and name in item and text_of(item[name]) == text:
            return True, item
    return False, None


def _is_condition(part: str) -> bool:
    return part.startswith("[") and part.endswith("]")


def _condition(part: str) -> tuple[str, str]:
    name, equals, text = part[1:-1].partition("=")
    if not equals:
        raise FieldError(f"'{part}' should be written as [field=value]")
    return name, text


def _number(part: str) -> int | None:
    if len(part) > 18 or not part.lstrip("+-").isdigit() or not part.isascii():
        return None
    return int(part) if int(part) >= 0 else None


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else repr(value)[:60]
