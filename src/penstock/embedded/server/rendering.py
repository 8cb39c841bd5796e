"""How stored objects look in an answer: as they are, as their metadata, or as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.server.conversion import in_version
from penstock.embedded.server.objects import internal_package
from penstock.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.embedded.server.negotiation import Accepted
    from penstock.embedded.server.ports import ServedResource, Tables
    from penstock.embedded.storage import Record
    from penstock.kube.resources import Object

_METADATA = b'"metadata":'
_INCLUDE = ("Metadata", "Object", "None", "")


class Renderer:
    """Turns records of one resource into the form that one client asked for."""

    def __init__(self, resource: ServedResource, accepted: Accepted, tables: Tables | None, include: str = "") -> None:
        self.resource = resource
        self.accepted = accepted
        self.form = accepted.form
        self._tables = tables
        self._include = include or "Metadata"
        self._columns_sent = False
        if self.form == "Table" and include not in _INCLUDE:
            raise bad_request(
                "Unable to convert to Table as requested: includeObject: Invalid value: "
                f"\"{include}\": must be 'Metadata', 'Object', 'None', or empty"
            )
        self._head = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()

    def single(self, data: bytes) -> bytes:
        """One object as the answer to a request; `data` is it in the version of the resource."""
        if self.form == "":
            return data
        if self.form == "PartialObjectMetadata":
            return orjson.dumps(self._partial(orjson.loads(data)))
        if self.form == "PartialObjectMetadataList":
            raise self._not_a_list()
        obj = orjson.loads(data)
        return orjson.dumps(self._table([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")}))

    def check_watch(self) -> None:
        """Events hold single objects."""
        if self.form == "PartialObjectMetadataList":
            raise self._not_a_list()

    def watched(self, data: bytes) -> bytes:
        """One object inside a watch event; only the first table names its columns."""
        if self.form == "":
            return data
        shown = self.single(data)
        self._columns_sent = True
        return shown

    def full(self, record: Record) -> bytes:
        """The whole object in the version of the resource."""
        return in_version(self.resource, record, self._head)

    def listed(self, records: Sequence[Record], metadata: Object) -> list[bytes]:
        """A list as the pieces of a body, so that a long one needs no second copy."""
        if self.form == "PartialObjectMetadata":
            raise self._is_a_list()
        if self.form == "Table":
            return [orjson.dumps(self._table([self._object(record) for record in records], metadata))]
        if self.form == "PartialObjectMetadataList":
            kind, version = "PartialObjectMetadataList", f"meta.k8s.io/{self.accepted.version}"
            items: Iterable[bytes] = (orjson.dumps(self._partial(self._object(record))) for record in records)
        else:
            kind, version = self.resource.list_kind or f"{self.resource.kind}List", self.resource.api_version
            items = self._items(records)
            if self.resource.custom:
                metadata = {"continue": "", **metadata}
        head = f'{{"kind":"{kind}","apiVersion":"{version}","metadata":'.encode()
        return [head, orjson.dumps(metadata), b',"items":[', b",".join(items), b"]}"]

    def _items(self, records: Sequence[Record]) -> Iterable[bytes]:
        if self.resource.custom:
            return (self.full(record) for record in records)
        # Items of a built-in list do not repeat their kind.
        return (b"{" + data[data.index(_METADATA) :] for data in map(self.full, records))

    def _object(self, record: Record) -> Object:
        obj: Object = orjson.loads(self.full(record))
        return obj

    def _partial(self, obj: Object) -> Object:
        version = f"meta.k8s.io/{self.accepted.version}"
        return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}

    def _table(self, found: Sequence[Object], metadata: Object) -> Object:
        if self._tables is None:
            columns: Sequence[Object] = PLAIN_COLUMNS
        else:
            columns = self._tables.columns(self.resource)
        answer: Object = {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self.accepted.version}",
            "metadata": metadata,
            "columnDefinitions": None if self._columns_sent else list(columns),
            "rows": [self._row(obj) for obj in found],
        }
        return answer

    def _row(self, obj: Object) -> Object:
        tables = self._tables
        metadata = obj["metadata"]
        plain = [metadata.get("name"), metadata.get("creationTimestamp")]
        cells: Sequence[Any] = plain if tables is None else tables.cells(self.resource, obj)
        conditions: Sequence[Object] = () if tables is None else tables.conditions(self.resource, obj)
        row: Object = {"cells": list(cells)}
        if conditions:
            row["conditions"] = list(conditions)
        row["object"] = self._row_object(obj)
        return row

    def _row_object(self, obj: Object) -> Object | None:
        if self._include == "None":
            return None
        return obj if self._include == "Object" else self._partial(obj)

    def _go_kind(self) -> str:
        return (
            "unstructured.Unstructured"
            if self.resource.custom
            else f"{internal_package(self.resource.group)}.{self.resource.kind}"
        )

    def _not_a_list(self) -> StatusError:
        return _not_acceptable(
            f"you requested PartialObjectMetadataList, but the requested object is not a list (*{self._go_kind()})"
        )

    def _is_a_list(self) -> StatusError:
        return _not_acceptable(
            f"you requested PartialObjectMetadata, but the requested object is a list (*{self._go_kind()}List)"
        )


PLAIN_COLUMNS: Sequence[Object] = (
    {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
    {"name": "Created At", "type": "date", "format": "", "description": "", "priority": 0},
)


def _not_acceptable(message: str) -> StatusError:
    return StatusError(406, "NotAcceptable", message, details=False)
