"""An object on its way through the build, and what the build has to remember about it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from penstock.kustomize.ids import CLUSTER, DEFAULT_NAMESPACE, Gvk, Id, Previous, gvk
from penstock.kustomize.origin import Origin
from penstock.schema import Schema
from penstock.yaml import text_of
from penstock.yaml.scalars import written_key

Object = dict[str, Any]
Behavior = Literal["unspecified", "create", "replace", "merge"]
Nulls = Mapping[tuple[str, ...], str]
_NONE: Nulls = MappingProxyType({})
Schemas = Mapping[tuple[str, ...], Any]


class Shared:
    """A label or annotation that one transformer put into several places.

    kustomize puts the same node there, so that whatever changes it later in one place changes it in all of them.
    """

    __slots__ = ("key", "places", "value")

    def __init__(self, key: str, value: str, places: list[dict[str, Any]]) -> None:
        self.key = key
        self.value: Any = value
        self.places = places

    def spread(self) -> None:
        """Carry a change in one place over to the others."""
        found = [place[self.key] for place in self.places if self.key in place]
        changed = next((value for value in found if value != self.value), self.value)
        if changed != self.value:
            self.value = changed
            for place in self.places:
                if self.key in place:
                    place[self.key] = changed


class Resource:
    """One object. `object` is plain data; the rest is the build's own memory and never printed."""

    __slots__ = (
        "_id",
        "behavior",
        "hashed",
        "nulls",
        "object",
        "origin",
        "prefixes",
        "previous",
        "schema",
        "schemas",
        "shared",
        "suffixes",
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
        self.schema = schema  # knows which kinds live outside namespaces
        self.origin = origin
        self.nulls = nulls  # how they were written, by path; None: all were left blank
        self.schemas: Schemas = {}  # OpenAPI schemas of fields, from comments
        self.written = False  # whether some value remembers its text
        self.previous: list[Previous] = []
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.touched: list[Origin] = []
        self.shared: list[Shared] = []
        self.variables: list[str] = []
        self.behavior: Behavior = "unspecified"
        self.hashed = False  # whether the name gets a suffix made from the content

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
        current = self.id
        self.previous.append(Previous(current.namespace, current.name, current.kind))

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
