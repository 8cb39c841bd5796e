"""An object on its way through the build, and what the build has to remember about it.

An object may be asleep: then only its summary is known, and the work that it still has to go through. Whoever touches
its content wakes it up. When everything that would have been done to it is remembered from an earlier build, nobody
does, and the object costs next to nothing.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from penstock.kustomize.ids import CLUSTER, DEFAULT_NAMESPACE, Gvk, Id, Previous, gvk
from penstock.kustomize.origin import Origin
from penstock.schema import Schema
from penstock.yaml import text_of
from penstock.yaml.scalars import written_key

if TYPE_CHECKING:
    from penstock.kustomize.shared import Shared

Object = dict[str, Any]
Behavior = Literal["unspecified", "create", "replace", "merge"]
Nulls = Mapping[tuple[str, ...], str]
_NONE: Nulls = MappingProxyType({})
Schemas = Mapping[tuple[str, ...], Any]


class Summary(NamedTuple):
    """What others see of an object: all that names, references and selectors by name depend on."""

    id: Id
    namespace: str
    previous: tuple[Previous, ...]
    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    hashed: bool
    is_empty: bool


class Seed:
    """The state in which an object was read, and how to get it in that state again."""

    __slots__ = ("key", "read", "summary", "weight")

    def __init__(self, key: int, summary: Summary, read: "Callable[[], Resource]", weight: int) -> None:
        self.key = key
        self.summary = summary
        self.read = read
        self.weight = weight  # bytes


Work = Callable[["Resource"], None]


class Resource:
    """One object. `object` is plain data; the rest is the build's own memory and never printed."""

    __slots__ = (
        "_id",
        "_pending",
        "_seed",
        "behavior",
        "hashed",
        "key",
        "nulls",
        "object",
        "origin",
        "prefixes",
        "previous",
        "schema",
        "schemas",
        "shared",
        "sources",
        "suffixes",
        "summary",
        "touched",
        "variables",
        "written",
    )

    def __init__(
        self,
        value: Object,
        schema: Schema,
        *,
        origin: Origin | None = None,
        nulls: Nulls | None = _NONE,
    ) -> None:
        self.object = value
        self._id: Id | None = None
        self._seed: Seed | None = None
        self._pending: list[Work] | None = None  # what an object that is asleep still has to go through; None: awake
        self.key: int | None = None  # the number of its state; None: what becomes of it is not remembered
        self.summary: Summary | None = None  # in the state that has this number
        self.schema = schema  # knows which kinds live outside namespaces
        self.origin = origin
        self.nulls = nulls  # how they were written, by path; None: all were left blank
        self.schemas: Schemas = {}  # OpenAPI schemas of fields, from comments
        self.written = False  # whether some value remembers its text
        self.previous: tuple[Previous, ...] = ()
        self.prefixes: tuple[str, ...] = ()
        self.suffixes: tuple[str, ...] = ()
        self.sources: tuple[bytes, ...] = ()  # the texts that strings come from, as they may have stood in quotes
        self.touched: tuple[Origin, ...] = ()
        self.shared: list[Shared] = []
        self.variables: tuple[str, ...] = ()
        self.behavior: Behavior = "unspecified"
        self.hashed = False  # whether the name gets a suffix made from the content

    @classmethod
    def asleep(cls, seed: Seed, schema: Schema, *, origin: Origin | None) -> "Resource":
        """An object that was read before."""
        self = cls.__new__(cls)
        self._seed, self._pending = seed, []
        self.schema, self.origin = schema, origin
        self.touched, self.variables = (), ()
        self._show(seed.key, seed.summary)
        return self

    def _show(self, key: int, summary: Summary) -> None:
        self.key, self.summary = key, summary
        self._id, _, self.previous, self.prefixes, self.suffixes, self.hashed, _ = summary

    if not TYPE_CHECKING:  # for a type checker, an object is always awake

        def __getattr__(self, name: str) -> Any:
            """Wake up, because somebody asks for what is not there in an object that is asleep."""
            if name not in _STATE or self._pending is None:
                raise AttributeError(name)
            self.wake()
            return getattr(self, name)

    def wake(self) -> None:
        """Read the object again, and do all the work that was put off."""
        if self._pending is None or self._seed is None:
            return
        pending, self._pending = self._pending, None
        fresh = self._seed.read()
        for name in _STATE:
            setattr(self, name, getattr(fresh, name))
        self._id = fresh.id
        for work in pending:
            work(self)
            self._id = self.id

    def advance(self, key: int, summary: Summary, work: Work) -> None:
        """Go to a state that is known, by work that need not be done as long as nobody looks."""
        if self._pending is None:
            work(self)
        else:
            self._pending.append(work)
        self._show(key, summary)

    def settle(self, key: int) -> Summary:
        """Give the state that work has led to a number."""
        before, after = self.summary, self.summarized()
        self.key = key
        if before is None or after != before:
            self.summary = before = after
        return before

    def summarized(self) -> Summary:
        """The summary of the current state, whether it has a number or not."""
        if self._pending is not None and self.summary is not None:
            return self.summary
        is_empty = not self.object
        return Summary(self.id, self.namespace, self.previous, self.prefixes, self.suffixes, self.hashed, is_empty)

    def release(self) -> None:
        """Be awake and without a number, because something changes that no cache knows of."""
        self.wake()
        self.key = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left, because a patch deleted it."""
        if self._pending is not None and self.summary is not None:
            return self.summary.is_empty
        return not self.object

    @property
    def gvk(self) -> Gvk:
        group, version, kind, _, _ = self.id
        return Gvk(group, version, kind)

    @property
    def kind(self) -> str:
        return self.id.kind

    @property
    def name(self) -> str:
        return self.id.name

    @property
    def namespace(self) -> str:
        if self._pending is not None and self.summary is not None:
            return self.summary.namespace
        metadata = self.object.get("metadata")
        return text_of(metadata.get("namespace")) if isinstance(metadata, dict) else ""

    @property
    def id(self) -> Id:
        known = self._id
        if known is None:
            known = self._id = self._identify()
        return known

    def forget(self) -> None:
        """Say that name, namespace or type may have changed: the identity is worked out anew."""
        self._id = None

    def _identify(self) -> Id:
        value = self.object
        api_version, kind = text_of(value.get("apiVersion")), text_of(value.get("kind"))
        metadata = value.get("metadata")
        if not isinstance(metadata, dict):
            metadata = {}
        group, version, _ = gvk(api_version, kind)
        if self.schema.is_cluster_scoped(api_version, kind):
            namespace = CLUSTER
        else:
            namespace = text_of(metadata.get("namespace")) or DEFAULT_NAMESPACE
        return Id(group, version, kind, text_of(metadata.get("name")), namespace)

    @property
    def original(self) -> Id:
        """The identity the object was read with, but for its API version."""
        current = self.id
        if not self.previous:
            return current
        namespace, name, kind = self.previous[0]
        return Id(current.group, current.version, kind, name, namespace)

    @property
    def ids(self) -> list[Id]:
        """Every identity the object had, the current one last."""
        current = self.id
        group, version = current.group, current.version
        return [*(Id(group, version, p.kind, p.name, p.namespace) for p in self.previous), current]

    @property
    def is_cluster_scoped(self) -> bool:
        return self.id.namespace == CLUSTER

    @property
    def labels(self) -> dict[str, str]:
        return self._texts("labels")

    @property
    def annotations(self) -> dict[str, str]:
        return self._texts("annotations")

    def remember(self) -> None:
        """Keep the current identity, because something is about to change it."""
        self.wake()
        current = self.id
        self.previous = (*self.previous, Previous(current.namespace, current.name, current.kind))

    def set_name(self, name: str) -> None:
        self._id = None
        self.metadata()["name"] = name

    def set_namespace(self, namespace: str) -> None:
        self._id = None
        metadata = self.metadata()
        if namespace:
            metadata["namespace"] = namespace
        else:
            metadata.pop("namespace", None)

    def metadata(self) -> dict[str, Any]:
        """The metadata, made if it is missing."""
        metadata = self.object.get("metadata")
        if not isinstance(metadata, dict):
            metadata = self.object["metadata"] = {}
        return metadata

    def set_texts(self, field: str, texts: dict[str, str]) -> None:
        """Write labels or annotations anew; an empty mapping removes the field."""
        metadata = self.metadata()
        if texts:
            metadata[field] = self.keyed(texts)
        else:
            metadata.pop(field, None)

    def spread(self) -> None:
        """Let labels that share a node follow the one that was changed."""
        for shared in self.shared:
            shared.spread()

    def keyed(self, texts: dict[str, str]) -> dict[str, str]:
        """A mapping as kustomize writes a new one; a key like a number makes the object unprintable."""
        doubtful = [key for key in texts if key[:1] in "+-.0123456789~nNtTfF" and written_key(key) is not key]
        if not doubtful:
            return texts
        self.written = True
        return {written_key(key): text for key, text in texts.items()}

    def _texts(self, field: str) -> dict[str, str]:
        metadata = self.object.get("metadata")
        values = metadata.get(field) if isinstance(metadata, dict) else None
        if not isinstance(values, dict):
            return {}
        return {key: text_of(value) if value is not None else self._null(field, key) for key, value in values.items()}

    def _null(self, field: str, key: str) -> str:
        """The text of a null: nothing if it was left blank."""
        return "" if self.nulls is None else self.nulls.get(("metadata", field, key), "null")


_STATE = (
    "object",
    "nulls",
    "schemas",
    "sources",
    "written",
    "shared",
    "behavior",
    "previous",
    "prefixes",
    "suffixes",
    "hashed",
)
