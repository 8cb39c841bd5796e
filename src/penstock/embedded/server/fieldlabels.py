"""Which fields of which kinds a field selector can name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.status import bad_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.embedded.server.ports import ServedResource
    from penstock.embedded.server.selectors import FieldTerm
    from penstock.embedded.storage import Record

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

LABELS: dict[str, tuple[str, ...]] = {
    "/pods": (
        "metadata.name",
        "metadata.namespace",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "/nodes": ("metadata.name", "spec.unschedulable"),
    "/replicationcontrollers": ("metadata.name", "metadata.namespace", "status.replicas"),
    "/events": (
        *(f"involvedObject.{name}" for name in _INVOLVED),
        "reason",
        "reportingComponent",
        "source",
        "type",
        "metadata.namespace",
        "metadata.name",
    ),
    "events.k8s.io/events": (
        "metadata.namespace",
        "metadata.name",
        *(f"regarding.{name}" for name in _INVOLVED),
        "reason",
        "reportingController",
        "type",
    ),
    "/namespaces": ("status.phase", "metadata.name"),
    "/secrets": ("type", "metadata.namespace", "metadata.name"),
    "/serviceaccounts": ("metadata.name", "metadata.namespace"),
    "/endpoints": ("metadata.namespace", "metadata.name"),
    "/services": ("metadata.namespace", "metadata.name", "spec.clusterIP", "spec.type"),
    "batch/jobs": ("metadata.name", "metadata.namespace", "status.successful"),
    "certificates.k8s.io/certificatesigningrequests": ("metadata.name", "spec.signerName"),
    "resource.k8s.io/resourceslices": ("metadata.name", "spec.nodeName", "spec.driver"),
}
_DEFAULTS = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.replicas": "0"}
_ALIASES = {
    "status.successful": "status.succeeded",
    "source": "source.component",
    # Events are stored in the form of the core group.
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _INVOLVED},
    "reportingController": "reportingComponent",
}
_KNOWN_WORDS = {
    "/pods": "field label not supported: {0}",
    "/nodes": "field label not supported: {0}",
    "/replicationcontrollers": "field label not supported: {0}",
    "/events": "field label not supported: {0}",
    "events.k8s.io/events": "field label not supported: {0}",
    "/namespaces": "field label not supported: {0}",
    "/secrets": "field label not supported: {0}",
    "/services": "field label not supported: {0}",
    "batch/jobs": 'field label "{0}" not supported for Job',
    "certificates.k8s.io/certificatesigningrequests": "field label not supported: {0}",
    "resource.k8s.io/resourceslices": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {0}",
}


def check_fields(resource: ServedResource, terms: Sequence[FieldTerm]) -> None:
    """400 when a term names a field that the kind cannot be selected by."""
    key = f"{resource.group}/{resource.plural}"
    known = LABELS.get(key) or ("metadata.name", "metadata.namespace")
    for term in terms:
        if term.field in known:
            continue
        if resource.custom:
            raise bad_request(f"field label not supported: {term.field}")
        words = _KNOWN_WORDS.get(key, '"{0}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        raise bad_request(words.format(term.field))


def matches_fields(record: Record, terms: Sequence[FieldTerm]) -> bool:
    """Whether an object fulfils all terms; decodes it only for more than its name and namespace."""
    decoded: Any = None
    for term in terms:
        if term.field == "metadata.name":
            value = record.name
        elif term.field == "metadata.namespace":
            value = record.namespace
        else:
            if decoded is None:
                decoded = record.object()
            value = read_field(decoded, term.field)
        if (value == term.value) == term.negated:
            return False
    return True


def read_field(obj: Any, field: str) -> str:
    """The value of a field as selectors compare it."""
    value: Any = obj
    for part in _ALIASES.get(field, field).split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return _DEFAULTS.get(field, "")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item.get("ip", item)) if isinstance(item, dict) else str(item) for item in value)
    return str(value)
