"""Nested metadata as one level of names, for formats that have no nesting: `age__list_0__map_enc`."""

from __future__ import annotations

import re
from typing import Any

from penstock.sops.errors import LoadError
from penstock.sops.values import Branch, Comment, Value

_STEP = re.compile(r"(__map_|__list_)")
_LONGEST = 10_000


def flatten(branch: Branch, prefix: str = "") -> Branch:
    """One level of names; empty lists and mappings vanish."""
    result = Branch()
    for key, value in branch:
        if isinstance(key, str):
            _flatten(value, prefix + key, result)
    return result


def _flatten(value: Value, name: str, result: Branch) -> None:
    if isinstance(value, Branch):
        for key, inner in value:
            _flatten(inner, f"{name}__map_{key}", result)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _flatten(item, f"{name}__list_{position}", result)
    else:
        result.append((name, value))


def unflatten(branch: Branch) -> Branch:
    """The nested form of one level of names."""
    root: dict[str | int, Any] = {}
    for key, value in branch:
        if isinstance(key, Comment):
            continue
        _place(root, key, value)
    nested = _nested(root)
    return nested if isinstance(nested, Branch) else Branch()


def _place(root: dict[str | int, Any], name: str, value: Value) -> None:
    steps = _steps(name)
    here = root
    for step in steps[:-1]:
        here = here.setdefault(step, {})
        if not isinstance(here, dict):
            raise LoadError(f"{name!r} in the SOPS metadata is both a value and a container")
    if steps[-1] in here:
        raise LoadError(f"{name!r} appears twice in the SOPS metadata")
    here[steps[-1]] = value


def _steps(name: str) -> list[str | int]:
    first, *rest = _STEP.split(name)
    steps: list[str | int] = [first]
    for mark, text in zip(rest[::2], rest[1::2], strict=True):
        if mark == "__map_":
            steps.append(text)
        elif text.isascii() and text.isdigit() and len(text) < 6:
            steps.append(int(text))
        else:
            raise LoadError(f"{name!r} in the SOPS metadata has no list position")
    return steps


def _nested(node: Any) -> Value:
    if not isinstance(node, dict):
        return node  # type: ignore[no-any-return]  # a scalar of the branch
    if all(isinstance(key, str) for key in node):
        return Branch((key, _nested(node[key])) for key in sorted(node))
    if sorted(key for key in node if isinstance(key, int)) != list(range(len(node))) or len(node) > _LONGEST:
        raise LoadError("a list in the SOPS metadata has gaps")
    return [_nested(node[position]) for position in range(len(node))]
