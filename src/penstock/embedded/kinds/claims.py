"""Persistent volume claims, alone and as templates in stateful sets and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import decode_as
from penstock.embedded.kinds.difference import difference
from penstock.embedded.kinds.metadata import check_annotations, check_labels
from penstock.embedded.kinds.names import dns_label, dns_subdomain
from penstock.embedded.kinds.problems import (
    Problems,
    each_invalid,
    forbidden,
    invalid,
    required,
    same,
    unsupported,
)
from penstock.embedded.kinds.resources import check_amount
from penstock.embedded.kinds.rules import Rules
from penstock.embedded.kinds.selectors import check_selector
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from penstock.kube.resources import Object

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
NOT_POSITIVE = "must be greater than zero"
_TEMPLATE_METADATA = {"annotations", "labels"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_SPEC = "core/v1.PersistentVolumeClaimSpec"
_IMMUTABLE_SPEC = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def check_access_modes(problems: Problems, modes: list[str], field: str) -> None:
    for mode in modes:
        if mode not in ACCESS_MODES:
            problems.append(unsupported(field, mode, ACCESS_MODES))
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        problems.append(forbidden(field, "may not use ReadWriteOncePod with other access modes"))


def check_claim_spec(problems: Problems, spec: Object, field: str, *, any_group: bool = False) -> None:
    """The spec of a claim; with `any_group` the groups of data sources are not looked at."""
    modes = spec.get("accessModes", [])
    if not modes:
        problems.append(required(f"{field}.accessModes", "at least 1 access mode is required"))
    check_selector(problems, spec.get("selector"), f"{field}.selector")
    check_access_modes(problems, modes, f"{field}.accessModes")
    size, at = spec["resources"].get("requests", {}).get("storage"), f"{field}.resources[storage]"
    if size is None:
        problems.append(required(at))
    elif parse(size).nano <= 0:
        problems.append(invalid(at, size, NOT_POSITIVE))
    else:
        check_amount(problems, "storage", size, at)
    if name := spec.get("storageClassName"):
        problems += each_invalid(f"{field}.storageClassName", name, dns_subdomain(name))
    if spec["volumeMode"] not in VOLUME_MODES:
        problems.append(unsupported(f"{field}.volumeMode", spec["volumeMode"], VOLUME_MODES))
    for kind in ("dataSource", "dataSourceRef"):
        if kind in spec:
            _check_source(problems, spec[kind], f"{field}.{kind}", any_group=any_group)
    _check_sources(problems, spec, field)
    if name := spec.get("volumeAttributesClassName"):
        problems += each_invalid(f"{field}.volumeAttributesClassName", name, dns_subdomain(name))


def _check_source(problems: Problems, source: Object, field: str, *, any_group: bool) -> None:
    problems += [required(f"{field}.{name}") for name in ("name", "kind") if not source[name]]
    group = source.get("apiGroup") or ""
    if not group and source["kind"] != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        problems.append(invalid(field, source["kind"], detail))
    if group and not any_group:
        problems += each_invalid(f"{field}.apiGroup", group, dns_subdomain(group))
    if namespace := source.get("namespace"):
        problems += each_invalid(f"{field}.namespace", namespace, dns_label(namespace))


def _check_sources(problems: Problems, spec: Object, field: str) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
        problems.append(invalid(field, {}, detail))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        problems.append(invalid(field, {}, "must match dataSourceRef"))


def check_claim_template(problems: Problems, template: Object, field: str) -> None:
    """A claim inside a pod's volume: of its metadata only labels and annotations may be set."""
    metadata = template["metadata"]
    check_annotations(problems, metadata.get("annotations", {}), f"{field}.metadata.annotations")
    check_labels(problems, metadata.get("labels", {}), f"{field}.metadata.labels")
    problems += [
        forbidden(f"{field}.metadata.{name}", "cannot be set") for name in sorted({*metadata} - _TEMPLATE_METADATA)
    ]
    check_claim_spec(problems, template["spec"], f"{field}.spec")


class PersistentVolumeClaimRules(Rules):
    """Once created, only the size of a bound claim can change, and only to more."""

    status: ClassVar[bool] = True

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _drop_foreign_source(obj["spec"], {})
        _unify_sources(obj["spec"])

    def prepare_change(self, new: Object, old: Object) -> None:
        super().prepare_change(new, old)
        _drop_foreign_source(new["spec"], old["spec"])
        _unify_sources(new["spec"])

    def check(self, problems: Problems, obj: Object) -> None:
        check_claim_spec(problems, obj["spec"], "spec")

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check_metadata(problems, new)
        check_claim_spec(problems, new["spec"], "spec", any_group="dataSourceRef" in old["spec"])
        told, known = (one["metadata"].get("annotations", {}).get(_CLASS_ANNOTATION, "") for one in (new, old))
        same(problems, told, known, f"metadata.annotations[{_CLASS_ANNOTATION}]")
        before, spec = _frozen(self.sent(new), old)
        if decode_as(_SPEC, spec) != decode_as(_SPEC, before):
            changes = difference("core.PersistentVolumeClaimSpec", before, spec)
            problems.append(forbidden("spec", _IMMUTABLE_SPEC + changes))
        size = new["spec"]["resources"].get("requests", {}).get("storage", "0")
        old_size = old["spec"]["resources"].get("requests", {}).get("storage", "0")
        capacity = old["status"].get("capacity", {}).get("storage", "0")
        if parse(size).nano < parse(old_size).nano and parse(size).nano <= parse(capacity).nano:
            detail = "field can not be less than status.capacity"
            problems.append(forbidden("spec.resources.requests.storage", detail))
        same(problems, new["spec"]["volumeMode"], old["spec"]["volumeMode"], "volumeMode")


def _drop_foreign_source(spec: Object, before: Object) -> None:
    """The old way to name a data source knows claims and snapshots; anything else in it is ignored."""
    source = spec.get("dataSource")
    if source is None or "dataSource" in before or "dataSourceRef" in spec:
        return
    of = (source.get("apiGroup") or "", source["kind"])
    if of not in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")):
        del spec["dataSource"]


def _unify_sources(spec: Object) -> None:
    """The two ways to name a data source follow each other."""
    if "dataSource" in spec and "dataSourceRef" not in spec:
        spec["dataSourceRef"] = dict(spec["dataSource"])
    elif "dataSourceRef" in spec and "dataSource" not in spec and not spec["dataSourceRef"].get("namespace"):
        spec["dataSource"] = dict(spec["dataSourceRef"])


def _frozen(new: Object, old: Object) -> tuple[Object, Object]:
    """The specs of a claim before and after, without what may change: they should be equal.

    A volume and a class may be filled in once; of a bound claim size and attributes may change.
    """
    before, spec = dict(old["spec"]), dict(new["spec"])
    if not before.get("volumeName") and "volumeName" in spec:
        before["volumeName"] = spec["volumeName"]
    if "storageClassName" not in before:
        spec.pop("storageClassName", None)
    if new["status"].get("phase") == "Bound":
        _copy(before, spec, "volumeAttributesClassName")
        if spec["resources"].get("requests") is not None:
            requests = dict(spec["resources"]["requests"])
            _copy(before["resources"].get("requests", {}), requests, "storage")
            spec["resources"] = {**spec["resources"], "requests": requests}
    return before, spec


def _copy(source: Object, target: Object, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)
