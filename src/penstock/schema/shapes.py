"""The shape of a value: what a merge needs to know when it meets it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

Finder = Callable[[], "Shape | None"]


class Shape:
    """The fields of an object, the elements of a list or map, and how the list merges.

    Types refer to each other in circles, so what lies below is looked up when it is asked for, and kept.
    """

    __slots__ = ("_element", "_fields", "_found", "_values", "deep", "keys", "merges")

    def __init__(
        self,
        *,
        fields: Mapping[str, Finder] | None = None,
        values: Finder | None = None,
        element: Finder | None = None,
        merges: bool = False,
        keys: tuple[str, ...] = (),
        deep: bool = True,
    ) -> None:
        self.deep = deep  # whether a list that merges may lie below
        self.merges = merges
        self.keys = keys  # of a list that merges; empty for one of scalars
        self._fields = fields or {}
        self._values = values
        self._element = element
        self._found: dict[str, Shape | None] = {}

    def field(self, name: str) -> "Shape | None":
        """The shape of a field; None when nothing is known about it."""
        if name in self._found:
            return self._found[name]
        finder = self._fields.get(name, self._values)
        shape = self._found[name] = finder() if finder else None
        return shape

    def element(self) -> "Shape | None":
        """The shape of a list's elements."""
        return self._element() if self._element else None


class Schema(NamedTuple):
    """Shapes by resource type, and the scopes that are known."""

    shapes: Mapping[tuple[str, str], Finder]  # by apiVersion and kind
    namespaced: Mapping[tuple[str, str], bool] = MappingProxyType({})
    definitions: Mapping[str, Finder] = MappingProxyType({})  # by their OpenAPI names

    def shape(self, api_version: str, kind: str) -> Shape | None:
        """The shape of a resource type, None for an unknown one."""
        finder = self.shapes.get((api_version, kind))
        return finder() if finder else None

    def is_cluster_scoped(self, api_version: str, kind: str) -> bool:
        """Whether the type certainly lives outside namespaces; an unknown type does not."""
        return self.namespaced.get((api_version, kind)) is False
