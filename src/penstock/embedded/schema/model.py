"""The model of a type: what a value may look like, and how two values of it merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind = Literal["scalar", "struct", "map", "list", "any"]
Scalar = Literal[
    "string",
    "integer",
    "number",
    "boolean",
    "bytes",
    "date-time",
    "micro-time",
    "duration",
    "quantity",
    "int-or-string",
    "untyped",
]
ListType = Literal["atomic", "set", "map"]

_NOTHING: Mapping[str, Any] = {}
_LAZY = frozenset({"fields", "element", "key_defaults"})


class Schema:
    """One type. Values are shared between all objects of the type, so nobody changes one after it was made.

    - scalar: `scalar` says which; `format` is `int32` or `int64` for integers.
    - struct: `fields`; when `element` is set too, other keys are welcome and have that type.
    - map: `element`.
    - list: `element`, `list_type`, and for maps `map_keys` with `key_defaults` for those that may be left out.
    - any: whatever JSON can say. Maps merge key by key and lists are atomic; with `atomic` all of it is one leaf.

    `atomic` marks structs and maps that have one owner as a whole. `name` is the Go name of a struct, which
    the server puts into its messages. `fields`, `element` and `key_defaults` of built-in types are made when
    they are first asked for: types refer to themselves, and a process needs few of them.
    """

    __slots__ = (
        "_resolve",
        "atomic",
        "default",
        "element",
        "enum",
        "fields",
        "format",
        "key_defaults",
        "kind",
        "limits",
        "list_type",
        "map_keys",
        "memo",
        "merge_key",
        "merge_strategy",
        "name",
        "nullable",
        "required",
        "scalar",
        "written",
    )

    kind: Kind
    scalar: Scalar
    format: str
    fields: Mapping[str, Schema]
    element: Schema | None
    list_type: ListType
    map_keys: tuple[str, ...]
    key_defaults: Mapping[str, Any]
    atomic: bool
    merge_key: str | None
    merge_strategy: frozenset[str]
    name: str
    required: tuple[str, ...]
    enum: tuple[Any, ...]
    default: Any
    nullable: bool
    limits: Mapping[str, Any]
    written: Mapping[str, Any]
    """Fields that Go writes even when they are zero, with that zero; `{}` stands for the zero of a struct."""
    memo: dict[str, Any]
    """Room for what a walker derives from the type once and needs often."""

    def __init__(
        self,
        kind: Kind,
        *,
        scalar: Scalar = "untyped",
        format: str = "",  # noqa: A002 - the word OpenAPI has for it
        fields: Mapping[str, Schema] | None = None,
        element: Schema | None = None,
        list_type: ListType = "atomic",
        map_keys: tuple[str, ...] = (),
        key_defaults: Mapping[str, Any] | None = None,
        atomic: bool = False,
        merge_key: str | None = None,
        merge_strategy: frozenset[str] = frozenset(),
        name: str = "",
        required: tuple[str, ...] = (),
        enum: tuple[Any, ...] = (),
        default: Any = None,
        nullable: bool = False,
        limits: Mapping[str, Any] = _NOTHING,
        written: Mapping[str, Any] = _NOTHING,
        resolve: Callable[[Schema], None] | None = None,
    ) -> None:
        self.kind = kind
        self.scalar = scalar
        self.format = format
        self.list_type = list_type
        self.map_keys = map_keys
        self.atomic = atomic
        self.merge_key = merge_key
        self.merge_strategy = merge_strategy
        self.name = name
        self.required = required
        self.enum = enum
        self.default = default
        self.nullable = nullable
        self.limits = limits
        self.written = written
        self.memo = {}
        self._resolve = resolve
        if resolve is None:
            self.fields = fields or {}
            self.element = element
            self.key_defaults = key_defaults or {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Called only while a slot is empty: fills it, and is out of the way from then on."""
            if name not in _LAZY or self._resolve is None:
                raise AttributeError(name)
            resolve, self._resolve = self._resolve, None
            self.fields, self.element, self.key_defaults = {}, None, {}
            resolve(self)
            return getattr(self, name)

    def __repr__(self) -> str:
        said = [self.kind, self.name or (self.scalar if self.kind == "scalar" else "")]
        if self.kind == "list":
            said += [self.list_type, ",".join(self.map_keys)]
        return f"<Schema {' '.join(word for word in [*said, 'atomic' if self.atomic else ''] if word)}>"


def _atomic() -> Schema:
    schema = Schema("any", atomic=True)
    schema.element = schema
    return schema


def _deduced() -> Schema:
    schema = Schema("any")
    schema.element = schema
    return schema


ATOMIC = _atomic()
"""Any JSON, owned as a whole."""

DEDUCED = _deduced()
"""Any JSON; maps are merged key by key and lists are replaced."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object, such as `status` or `scale`; an empty group and version mean the resource's own."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource as the API serves it: everything that discovery says about it."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    verbs: tuple[str, ...]
    subresource_types: tuple[Subresource, ...] = ()
    storage_version_hash: str = ""
    custom_schema: Schema | None = None
    """Set for custom resources; the schema of a built-in one comes from the table."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def subresources(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.subresource_types)

    @property
    def schema(self) -> Schema:
        """The type of the objects; anything goes when nobody declared one."""
        if self.custom_schema is not None:
            return self.custom_schema
        # Imported here because the table makes values of this class.
        from penstock.embedded.schema.table import builtin_schema

        return builtin_schema(self.api_version, self.kind) or DEDUCED
