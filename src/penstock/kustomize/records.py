"""Configuration as typed records, checked on the way in.

A record is a class with annotated fields and defaults: tuples for lists, `NOTHING` for mappings. Its fields are read
as kustomize reads them: names in camel case, in any case if need be, a null is as good as nothing, an unknown field is
an error, and so is a number where a string belongs. It is our own because `penstock build` has to start fast.

    class Image(Record):
        name: str = ""
        new_tag: str = ""
"""

import types
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar, dataclass_transform

from penstock.kustomize.errors import KustomizationError

T = TypeVar("T", bound="Record")
Reader = Callable[[Any, str, bool], Any]  # gets the value, its path, and whether unknown fields are overlooked
NOTHING: Mapping[str, Any] = types.MappingProxyType({})  # the default of mappings
_KINDS = {str: "a string", bool: "true or false", int: "a whole number", dict: "a mapping", list: "a list"}


class WrongValue(Exception):
    """A value does not fit; the message names its path."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """The base of all records. They compare by identity and are not meant to be changed."""

    _readers: dict[str, tuple[str, Reader]]  # by the name in the file: the attribute and how it is read
    _spellings: dict[str, str]

    def __init_subclass__(cls) -> None:
        own = {_camel(name): (name, _reader(kind)) for name, kind in cls.__annotations__.items()}
        cls._readers = {**getattr(cls, "_readers", {}), **own}
        cls._spellings = {name.lower(): name for name in cls._readers}

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    @classmethod
    def read(cls, value: Any, path: str, lenient: bool) -> Self:
        """A record from a mapping."""
        if not isinstance(value, dict):
            raise WrongValue(f"'{path}' should be a mapping" if path else "expected a mapping")
        given: dict[str, Any] = {}
        for key, item in value.items():
            name = key if key in cls._readers else cls._spellings.get(str(key).lower())
            where = f"{path}.{key}" if path else str(key)
            if name is None:
                if lenient:
                    continue
                raise WrongValue(f"unknown field '{where}'")
            if item is not None:
                attribute, reader = cls._readers[name]
                given[attribute] = reader(item, where, lenient)
        return cls(**given)

    def written(self) -> dict[str, Any]:
        """The mapping that reads as this record: what was given, with all names in camel case."""
        given = self.__dict__
        return {
            name: _written(given[attribute]) for name, (attribute, _) in self._readers.items() if attribute in given
        }


def _written(value: Any) -> Any:
    if isinstance(value, Record):
        return value.written()
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    return {key: _written(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def read(value: Any, kind: type[T], file: str, *, lenient: bool = False) -> T:
    """A configuration as the record that describes it; `lenient` overlooks unknown fields."""
    try:
        return kind.read(value, "", lenient)
    except WrongValue as error:
        raise KustomizationError(f"{file}: {error}") from error


def _camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def _reader(kind: Any) -> Reader:
    """How a value of an annotated type is read."""
    if isinstance(kind, types.UnionType):  # `X | None`: a null never gets this far
        kind = next(one for one in kind.__args__ if one is not type(None))
    if isinstance(kind, types.GenericAlias):
        if kind.__origin__ is tuple:
            return _list_reader(_reader(kind.__args__[0]))
        return _mapping_reader(_reader(kind.__args__[-1]))
    if kind is Any:
        return lambda value, _, __: value
    if issubclass(kind, Record):
        record: Reader = kind.read
        return record
    return _scalar_reader(kind)


def _scalar_reader(kind: type) -> Reader:
    def scalar(value: Any, path: str, _: bool) -> Any:
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise WrongValue(f"'{path}' should be {_KINDS[kind]}, not {_shown(value)}{_hint(kind, value)}")

    return scalar


def _list_reader(inner: Reader) -> Reader:
    def items(value: Any, path: str, lenient: bool) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise WrongValue(f"'{path}' should be a list, not {_shown(value)}")
        return tuple(inner(item, f"{path}[{index}]", lenient) for index, item in enumerate(value))

    return items


def _mapping_reader(inner: Reader) -> Reader:
    def mapping(value: Any, path: str, lenient: bool) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WrongValue(f"'{path}' should be a mapping, not {_shown(value)}")
        return {key: inner(item, f"{path}.{key}", lenient) for key, item in value.items() if item is not None}

    return mapping


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return _KINDS[type(value)]
    return repr(value)[:60] if value is not None else "nothing"


def _hint(kind: type, value: Any) -> str:
    return "; put quotes around it" if kind is str and not isinstance(value, (dict, list)) and value is not None else ""
