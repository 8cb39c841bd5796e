"""The generated table of built-in types. Codes are explained in `tools/schema_table.py`."""

import json
from collections.abc import Mapping
from functools import cache, partial
from os.path import dirname

from penstock.schema.scopes import NAMESPACED
from penstock.schema.shapes import Finder, Schema, Shape

DEFAULT = "1.21"  # what kustomize 5 merges by; a newer table would merge lists that it replaces


@cache
def builtin(version: str = DEFAULT) -> Schema:
    """The types of one Kubernetes version."""
    with open(f"{dirname(__file__)}/kubernetes-{version}.json", "rb") as file:  # noqa: PTH120, PTH123  -- starts faster
        table = json.load(file)
    types = _Types(table["types"], frozenset(table["merging"]))
    shapes = {_type_meta(kind): partial(types.shape, number) for kind, number in table["kinds"].items()}
    definitions = {name: partial(types.shape, number) for number, name in enumerate(table["names"])}
    return Schema(shapes, NAMESPACED, definitions)


def _type_meta(kind: str) -> tuple[str, str]:
    api_version, _, name = kind.rpartition("/")
    return api_version, name


class _Types:
    def __init__(self, codes: list[Mapping[str, str] | str], merging: frozenset[int]) -> None:
        self._codes = codes
        self._merging = merging
        self._shapes: dict[int, Shape | None] = {}

    def shape(self, number: int) -> Shape | None:
        if number not in self._shapes:
            code = self._codes[number]
            if isinstance(code, str):
                self._shapes[number] = self._decoded(code)
            else:
                fields: dict[str, Finder] = {name: partial(self._decoded, text) for name, text in code.items()}
                self._shapes[number] = Shape(fields=fields, deep=number in self._merging)
        return self._shapes[number]

    def _decoded(self, code: str) -> Shape | None:
        kind, *attributes = code.split(" ")
        if kind[0] == "@":
            return self.shape(int(kind[1:]))
        if kind[0] == "{":
            return Shape(values=partial(self._decoded, kind[1:]), deep=self._is_deep(kind))
        if kind[0] == "[":
            keys = next((attribute[:-1] for attribute in attributes if attribute.endswith("=")), None)
            return Shape(
                element=partial(self._decoded, kind[1:]),
                merges=keys is not None,
                keys=tuple(keys.split(",")) if keys else (),
                deep=keys is not None or self._is_deep(kind),
            )
        return None if kind == "o" else SCALAR

    def _is_deep(self, kind: str) -> bool:
        number = kind.lstrip("[{@")
        return number.isdigit() and int(number) in self._merging


SCALAR = Shape(deep=False)
