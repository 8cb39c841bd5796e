"""Field specs: which field of which kinds a transformer changes, and how such a field is found.

A path is written with slashes (`\\/` for a slash inside a name). Lists on the way are entered without being
named; a name that ends in `[]` says that the field is one.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.kustomize.errors import FieldError, KustomizationError
from penstock.kustomize.ids import Gvk

Setter = Callable[[Any, Any], None]  # gets the container and the key or index of the field


class FieldSpec(NamedTuple):
    """One field; empty parts of the type match anything."""

    path: str
    group: str = ""
    version: str = ""
    kind: str = ""
    create: bool = False

    @property
    def gvk(self) -> Gvk:
        return Gvk(self.group, self.version, self.kind)

    def matches(self, gvk: Gvk) -> bool:
        return (
            (not self.kind or self.kind == gvk.kind)
            and (not self.group or self.group == gvk.group)
            and (not self.version or self.version == gvk.version)
        )


FieldSpecs = tuple[FieldSpec, ...]
_HARMLESS = ("spec/", "metadata/labels", "metadata/annotations")


@lru_cache(maxsize=4096)
def split(path: str) -> tuple[str, ...]:
    """The names of a path."""
    return tuple(split_on(path, "/"))


def split_on(path: str, delimiter: str) -> list[str]:
    """The parts of a path; a backslash before the delimiter keeps it in the part."""
    pieces = path.split(delimiter)
    if len(pieces) > 1 and not pieces[0]:
        pieces = pieces[1:]
    parts = [pieces[0]]
    for piece in pieces[1:]:
        if parts[-1].endswith("\\"):
            parts[-1] = parts[-1][:-1] + delimiter + piece
        else:
            parts.append(piece)
    return parts


def by_type(specs: FieldSpecs) -> Callable[[Gvk], FieldSpecs]:
    """A function that knows the specs for each type; it works them out once a type."""
    known: dict[Gvk, FieldSpecs] = {}

    def find(gvk: Gvk) -> FieldSpecs:
        found = known.get(gvk)
        if found is None:
            found = known[gvk] = tuple(spec for spec in specs if spec.matches(gvk))
        return found

    return find


def may_rename(specs: FieldSpecs) -> bool:
    """Whether a field may be among those that make up the identity of an object."""
    return any(not spec.path.startswith(_HARMLESS) for spec in specs)


def visit(value: Any, spec: FieldSpec, setter: Setter, make: Callable[[], Any] | None = None) -> None:
    """Call `setter` for every place that the path leads to.

    With `make`, a spec that says `create` fills in what is missing, and the last field with what `make`
    returns.
    """
    try:
        _visit(value, split(spec.path), 0, setter, make if spec.create else None)
    except FieldError as error:
        raise FieldError(f"field '{spec.path}': {error}") from error


def _visit(value: Any, parts: tuple[str, ...], at: int, setter: Setter, make: Callable[[], Any] | None) -> None:
    if value is None:
        return
    if type(value) is list:
        for item in value:
            _visit(item, parts, at, setter, make)
        return
    if type(value) is not dict:
        raise FieldError(f"expected a mapping or a list before '{parts[at]}', found {value!r}")
    name = parts[at]
    last = at + 1 == len(parts)
    is_list = name.endswith("[]")
    if is_list:
        name = name[:-2]
    if not name:
        raise FieldError("a field without a name")
    child = value.get(name, value)  # the mapping itself stands for nothing: it cannot contain itself
    if child is value:
        if make is None or is_list:
            return
        child = value[name] = make() if last else {}
    elif child is None:
        if is_list:
            child = value[name] = []
        elif make is not None:
            child = value[name] = make() if last else {}
    if last:
        setter(value, name)
    else:
        _visit(child, parts, at + 1, setter, make)


def merge(specs: FieldSpecs, more: Iterable[FieldSpec]) -> FieldSpecs:
    """Both, without those that are there already; they must agree on whether to create."""
    result = list(specs)
    for spec in more:
        known = next((one for one in result if one.path == spec.path and one.gvk.selected_by(spec.gvk)), None)
        if known is None:
            result.append(spec)
        elif known.create != spec.create:
            raise KustomizationError(f"two field specs for '{spec.path}' disagree about `create`")
    return tuple(result)
