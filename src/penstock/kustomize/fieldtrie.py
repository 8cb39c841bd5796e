"""Many field specs found in one walk through an object.

A trie holds, by name, what lies deeper; under the empty name, the payloads of the paths that end there. Unlike
`fieldspecs.visit`, the walk never creates anything.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldspecs import split

Trie = dict[str, Any]
_LIST = "[]"  # marks a name whose null stands for an empty list


def build(paths: Iterable[tuple[str, Any]]) -> Trie:
    """A trie of paths with their payloads."""
    root: Trie = {}
    for path, payload in paths:
        node = root
        for part in split(path):
            name = part.removesuffix(_LIST)
            node = node.setdefault(name, {})
            if name != part:
                node[_LIST] = True
        node.setdefault("", []).append(payload)
    return root


def hits(value: Any, trie: Trie) -> Iterator[tuple[Any, Any, Any]]:
    """Every place that a path leads to: payload, container and key."""
    stack: list[tuple[Any, Trie]] = [(value, trie)]
    while stack:
        value, node = stack.pop()
        if type(value) is list:
            stack.extend((item, node) for item in value)
        elif type(value) is dict:
            for name, deeper in node.items():
                if name in value and name not in _MARKS:
                    for payload in deeper.get("", ()):
                        yield payload, value, name
                    child = value[name]
                    if child is None:
                        if _LIST in deeper:
                            value[name] = []
                    elif len(deeper) > 1 or "" not in deeper:
                        stack.append((child, deeper))
        elif value is not None:
            names = ", ".join(name for name in node if name not in _MARKS)
            raise FieldError(f"expected a mapping or list with {names}, found {value!r}")


_MARKS = frozenset({"", _LIST})
