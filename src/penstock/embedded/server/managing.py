"""Managed fields of writes: who manages what afterwards, and what an apply makes of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from penstock.embedded.fields import ApplyError, FieldConflict, TypedError, custom_reset_fields
from penstock.embedded.fields import apply as apply_fields
from penstock.embedded.fields import update as update_fields
from penstock.embedded.fields.tracking import bare
from penstock.embedded.kinds.empties import compared
from penstock.embedded.server import conversion, objects
from penstock.embedded.status import StatusCause, StatusError, bad_request, plain_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.fields.tracking import Convert
    from penstock.embedded.kinds.empties import Empties
    from penstock.embedded.schema import Schema
    from penstock.embedded.server.ports import Catalog, ServedResource
    from penstock.embedded.server.targets import Target
    from penstock.kube.resources import Object


class FieldManagement:
    """Knows the schema and the other versions of what is written."""

    def __init__(self, catalog: Catalog, clock: Callable[[], float]) -> None:
        self._catalog = catalog
        self._clock = clock

    def updated(self, target: Target, old: Object | None, obj: Object, empties: Empties = ()) -> Object:
        """The object of a create, update or patch, with its managed fields brought up to date.

        `empties` is what the request spelt out as empty.
        """
        resource = target.resource
        schema = resource.schema()
        if schema is None:
            return obj
        if (obj.get("apiVersion"), obj.get("kind")) != (resource.api_version, resource.kind):
            return bare(obj)  # a custom object that calls itself something else: nobody can tell its fields
        return update_fields(
            old,
            obj,
            compared=compared(obj, empties, schema) if empties and old is not None else None,
            schema=schema,
            manager=target.options.manager,
            subresource=target.subresource,
            now=objects.timestamp(self._clock()),
            resets=_resets(target),
            convert=self._convert(target.resource),
        )

    def applied(self, target: Target, old: Object | None, wanted: Object) -> Object:
        """What an apply makes of the stored object, without defaults; StatusError when it may not."""
        resource = target.resource
        told = (wanted.get("apiVersion") or "", wanted.get("kind") or "")
        if told != (resource.api_version, resource.kind):
            group, _, version = str(told[0]).rpartition("/")
            raise bad_request(f"invalid object type: {group}/{version}, Kind={told[1]}")
        if wanted.get("metadata") is None:
            wanted["metadata"] = {}
        try:
            return apply_fields(
                old,
                wanted,
                schema=cast("Schema", resource.schema()),
                manager=target.options.manager,
                force=target.options.force,
                subresource=target.subresource,
                now=objects.timestamp(self._clock()),
                resets=_resets(target),
                convert=self._convert(resource),
            )
        except (FieldConflict, ApplyError, TypedError) as error:
            raise apply_refused(error) from error

    def _convert(self, resource: ServedResource) -> Convert:
        """How managers of other versions of the same resource see an object."""

        def convert(obj: Object, api_version: str) -> tuple[Object, Schema] | None:
            if resource.custom:
                return _custom(resource, obj, api_version)
            group, _, version = api_version.rpartition("/")
            if group != resource.group:
                return None  # Events of the other group: the server finds no way from one to the other
            other = self._catalog.find(group, version, resource.plural)
            if other is None or other.stored_in != resource.stored_in:
                return None
            schema = other.schema()
            return None if schema is None else (conversion.part_in_api_version(other, obj, api_version), schema)

        return convert


def _custom(resource: ServedResource, obj: Object, api_version: str) -> tuple[Object, Schema]:
    """A custom object in another version of its definition."""
    schema = resource.schemas.get(api_version)
    if schema is None:
        raise TypedError(f"request to convert CR to an invalid group/version: {api_version}")
    return conversion.part_in_api_version(resource, obj, api_version), schema()


def _resets(target: Target) -> FieldSet | None:
    resource = target.resource
    if not resource.custom:
        return None  # those of built-in kinds are known
    return custom_reset_fields(target.subresource, has_status="status" in resource.subresources)


def apply_refused(error: Exception) -> StatusError:
    """What the server answers to an apply that cannot be done."""
    if isinstance(error, FieldConflict):
        causes = [StatusCause("FieldManagerConflict", message, path) for message, path in error.causes]
        return StatusError(409, "Conflict", error.message, causes=causes)
    return bad_request(str(error)) if isinstance(error, ApplyError) else plain_error(str(error))
