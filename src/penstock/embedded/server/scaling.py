"""The scale subresource: replicas of an object written through a small object of another kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.fields import (
    ApplyError,
    FieldConflict,
    TypedError,
    apply,
    scale_managers,
    scaled_managers,
    update,
)
from penstock.embedded.fields.tracking import bare
from penstock.embedded.kinds.decode import DecodeError, decode
from penstock.embedded.schema import Schema, builtin_schema
from penstock.embedded.server import objects
from penstock.embedded.server.checks import check_uid
from penstock.embedded.server.managing import apply_refused
from penstock.embedded.server.ports import ServedResource
from penstock.embedded.server.shaping import rules_of
from penstock.embedded.status import bad_request, invalid, not_found, plain_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.server.targets import Outcome, Target
    from penstock.embedded.server.writing import Writer
    from penstock.kube.resources import Object

_KIND, _VERSION = "Scale", "autoscaling/v1"
SCALE = ServedResource(
    "autoscaling",
    "v1",
    "scales",
    "scale",
    _KIND,
    namespaced=True,
    verbs=(),
    schema=lambda: builtin_schema(_VERSION, _KIND),
)
_UNSET = -(2**31)
"""Replicas of a custom object that has none: whoever writes its scale has to set some."""
_NO_VERSION = "request to convert CR to an invalid group/version: autoscaling/v1"
_UNMANAGED = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to "
    f"proper version: {_NO_VERSION}"
)
"""What the server stumbles over where it applies the scale of a custom object."""


class Scaling:
    """Reads and writes the scale of one resource."""

    def __init__(self, writer: Writer, resource: ServedResource) -> None:
        self._writer = writer
        self._resource = resource
        self._rules: Any = rules_of(resource)

    def seen(self, obj: Object) -> Object:
        """The scale of an object."""
        scale: Object = self._rules.to_scale(obj)
        return scale

    def write(
        self, target: Target, make: Callable[[Object], Object], warnings: list[str], *, whole: bool = False
    ) -> Outcome:
        """PUT, or a patch that is no apply: `make` turns the present scale into the new one.

        With `whole` the new one was sent as it is: a PUT.
        """

        def change(obj: Object) -> Object:
            before = self._managed(obj)
            scale = self._read(make(self._managed(obj)), target)
            if whole:
                check_uid(target, scale["metadata"], obj)
            scale = update(
                before,
                scale,
                schema=self._schema(),
                manager=target.options.manager,
                subresource=target.subresource,
                now=objects.timestamp(self._writer.clock()),
            )
            return self._scaled(obj, scale)

        return self._writer.change(target, change, managed=False, warnings=warnings)

    def apply(self, target: Target, wanted: Object, warnings: list[str]) -> Outcome:
        """Server-side apply of a scale."""

        def change(obj: Object) -> Object:
            live = self._managed(obj)
            if self._resource.custom and not live["metadata"].get("managedFields"):
                raise plain_error(_UNMANAGED)
            try:
                scale = apply(
                    live,
                    wanted,
                    schema=self._schema(),
                    manager=target.options.manager,
                    force=target.options.force,
                    subresource=target.subresource,
                    now=objects.timestamp(self._writer.clock()),
                )
            except (FieldConflict, ApplyError, TypedError) as error:
                raise apply_refused(error) from error
            if self._resource.custom and bare(scale) != bare(live):
                told = wanted.get("metadata") or {}
                named = f"{told.get('namespace') or ''}/{told.get('name') or ''}; {_VERSION}, Kind={_KIND}"
                raise plain_error(f"failed to convert new object ({named}) to proper version: {_NO_VERSION}")
            return self._scaled(obj, self._read(scale, target))

        return self._writer.change(target, change, managed=False, warnings=warnings)

    def _managed(self, obj: Object) -> Object:
        """The scale with its own managed fields: those who manage the replicas."""
        scale = self._rules.to_scale(obj, unset=_UNSET) if self._resource.custom else self.seen(obj)
        entries = scale_managers(obj["metadata"].get("managedFields"), replicas=self._replicas())
        if entries:
            scale["metadata"]["managedFields"] = entries
        return scale

    def _read(self, scale: Object, target: Target) -> Object:
        scale.setdefault("kind", _KIND)
        scale.setdefault("apiVersion", _VERSION)
        try:
            scale = decode(scale)
        except DecodeError as error:
            raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}') from error
        objects.check_name(scale.setdefault("metadata", {}), target.name)
        problems = self._rules.validate_scale(scale) if hasattr(self._rules, "validate_scale") else ()
        if problems:
            raise invalid(_KIND, target.name, problems, group="autoscaling")
        return scale

    def _scaled(self, obj: Object, scale: Object) -> Object:
        if self._resource.custom and (scale.get("spec") or {}).get("replicas") == _UNSET:
            path = (self._resource.scale or {}).get("specReplicasPath", "")
            raise bad_request(f'the spec replicas field "{path}" cannot be empty')
        made: Object = self._rules.from_scale(obj, scale)
        entries = scaled_managers(
            obj["metadata"].get("managedFields"),
            scale["metadata"].get("managedFields"),
            api_version=self._resource.api_version,
            replicas=self._replicas(),
        )
        made["metadata"] = {key: value for key, value in made["metadata"].items() if key != "managedFields"}
        if entries:
            made["metadata"]["managedFields"] = entries
        if version := scale["metadata"].get("resourceVersion"):
            made["metadata"]["resourceVersion"] = version
        return made

    def _replicas(self) -> dict[str, tuple[str, ...]]:
        """Where the replicas of the object are in each of its versions, in the terms of field sets."""
        served = self._writer.catalog.resources() if self._resource.custom else ()
        versions = [each for each in served if each.stored_in == self._resource.stored_in and each.scale is not None]
        return {each.api_version: _path(each) for each in (*versions, self._resource)}

    def _schema(self) -> Schema:
        schema = builtin_schema(_VERSION, _KIND)
        if schema is None:
            raise not_found("scales", "")
        return schema


def _path(resource: ServedResource) -> tuple[str, ...]:
    path = (resource.scale or {}).get("specReplicasPath", ".spec.replicas")
    return tuple(f"f:{part}" for part in path.strip(".").split("."))
