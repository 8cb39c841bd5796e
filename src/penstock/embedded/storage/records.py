"""Stored objects, and what happened to them. Both are shared by everybody who reads, and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from penstock.kube.resources import Object

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_NO_LABELS: dict[str, str] = {}


class Record:
    """One object as it was at one revision, encoded once."""

    __slots__ = ("_labels", "collection", "data", "name", "namespace", "revision")

    def __init__(
        self,
        collection: str,
        namespace: str,
        name: str,
        revision: int,
        data: bytes,
        labels: dict[str, str] | None = None,
    ) -> None:
        self.collection = collection
        self.namespace = namespace
        self.name = name
        self.revision = revision
        self.data = data
        self._labels = labels

    @property
    def key(self) -> str:
        """Its place in the collection; lists are in the order of these."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def labels(self) -> dict[str, str]:
        """The labels, decoded at most once; not to be changed."""
        if self._labels is None:
            self._labels = labels_of(self.object())
        return self._labels

    def object(self) -> Object:
        """A fresh copy that the caller may change."""
        decoded: Object = orjson.loads(self.data)
        return decoded

    def __repr__(self) -> str:
        return f"<{self.collection} {self.key} @{self.revision}>"


def labels_of(obj: Object) -> dict[str, str]:
    metadata: dict[str, Any] = obj.get("metadata") or {}
    return metadata.get("labels") or _NO_LABELS


class Change:
    """One step of the store: what an object was and what it became."""

    __slots__ = ("_lines", "old", "record", "type")

    def __init__(self, kind: ChangeType, record: Record, old: Record | None) -> None:
        self.type: ChangeType = kind
        self.record = record
        """The object after the change; for DELETED its last state, at the revision of the deletion."""
        self.old = old
        self._lines: dict[str, bytes] | None = None

    @property
    def revision(self) -> int:
        return self.record.revision

    def object(self) -> Object:
        """A fresh copy of the object after the change."""
        return self.record.object()

    def line(self, kind: ChangeType) -> bytes:
        """The change as a watch sends it, encoded once for all watchers.

        The type is the watcher's: what leaves a selection is a deletion to the one who selects.
        """
        if self._lines is None:
            self._lines = {}
        known = self._lines.get(kind)
        if known is None:
            known = b'{"type":"' + kind.encode() + b'","object":' + self._body(kind) + b"}\n"
            self._lines[kind] = known
        return known

    def seen_as(self, kind: ChangeType) -> Record:
        """What a watcher is shown: one who loses an object sees its last state, at the revision of the loss."""
        if kind != "DELETED" or self.type == "DELETED" or self.old is None:
            return self.record
        last = self.old.object()
        last["metadata"]["resourceVersion"] = str(self.revision)
        old = self.old
        return Record(old.collection, old.namespace, old.name, self.revision, orjson.dumps(last))

    def _body(self, kind: ChangeType) -> bytes:
        return self.seen_as(kind).data

    def __repr__(self) -> str:
        return f"<{self.type} {self.record!r}>"
