"""Our answer to a write, and the real one, in one form that can be compared."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.kinds import DecodeError, rules
from penstock.embedded.kinds.addresses import ServiceAddresses
from penstock.embedded.kinds.admission import KindAdmission
from penstock.embedded.server.owners import once_each
from penstock.embedded.server.ports import SYSTEM, Attempt, Operation, ServedResource
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.embedded.kinds import Rules
    from penstock.kube.resources import Object

UID = "11111111-2222-3333-4444-555555555555"
NOW = "2024-05-06T07:08:09Z"
_ANY_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RANDOM = (
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access-any"),
    (re.compile(r'("last(?:Phase)?TransitionTime"):"[^"]*"'), r'\1:"any"'),
    (_ANY_UID, "any-uid"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status code with an object, a message, or the causes of a 422."""

    code: int
    told: Any

    def differs(self, other: Answer) -> str:
        """What is not the same in another answer; empty when all is."""
        if self.code != other.code:
            return f"{self.code} {self.told!r:.300} against {other.code} {other.told!r:.300}"
        if self.told == other.told:
            return ""
        if isinstance(self.told, list) and isinstance(other.told, list):
            only = [cause for cause in self.told if cause not in other.told]
            others = [cause for cause in other.told if cause not in self.told]
            return f"{only} against {others}" if only or others else "the same causes, but not as often"
        return f"{self.told!r:.1000} against {other.told!r:.1000}"


class Known:
    """The other objects of a cluster with nothing in it but what every cluster has."""

    def get(self, group: str, kind: str, name: str, namespace: str = "") -> Object | None:
        if (kind, name) == ("ServiceAccount", "default"):
            return {"metadata": {"name": name, "namespace": namespace}}
        if (group, name) == ("scheduling.k8s.io", "system-node-critical"):
            return {"metadata": {"name": name}, "value": 2000001000, "preemptionPolicy": "PreemptLowerPriority"}
        return None

    def list(self, group: str, kind: str) -> Iterable[Object]:
        del group, kind
        return ()


def created(sent: Object) -> Answer:
    """What our rules answer to a dry-run create in the namespace `default`."""
    obj = copy.deepcopy(sent)
    found = _rules(obj).reading(obj)
    if refusal := _read(found, obj):
        return refusal
    metadata = obj["metadata"]
    metadata.update(uid=UID, creationTimestamp=NOW)
    metadata.pop("resourceVersion", None)
    admission, attempt = _attempt("CREATE", obj, None)
    try:
        admission.admit(attempt)
        found.prepare_create(obj)
        problems = found.validate_create(obj)
        if problems:
            return Answer(422, _causes((one.field, one.reason, one.message) for one in problems))
        admission.validate(attempt)
    except StatusError as error:
        return _refused(error)
    return Answer(201, settled(obj))


def updated(sent: Object, old: Object, subresource: str) -> Answer:
    """What our rules answer to a dry-run PUT of an object over another."""
    new, before = copy.deepcopy(sent), copy.deepcopy(old)
    found = _rules(new).reading(new)
    if refusal := _read(found, new):
        return refusal
    if not new["metadata"].get("resourceVersion"):
        new["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
    admission, attempt = _attempt("UPDATE", new, before, subresource)
    try:
        admission.admit(attempt)
        found.prepare_update(new, before, subresource)
        problems = found.validate_update(new, before, subresource)
        if problems:
            return Answer(422, _causes((one.field, one.reason, one.message) for one in problems))
        admission.validate(attempt)
    except StatusError as error:
        return _refused(error)
    return Answer(200, settled(new))


def real(code: int, body: Object) -> Answer:
    """The answer of an API server in the same form."""
    if code < 300:
        return Answer(code, settled(body))
    if code == 422:
        causes = body["details"].get("causes", ())
        return Answer(422, _causes((one.get("field", ""), one["reason"], one["message"]) for one in causes))
    return Answer(code, body["message"])


def settled(obj: Object) -> Object:
    """An object without what differs between any two writes."""
    kept = copy.deepcopy(obj)
    for field in ("managedFields", "uid", "creationTimestamp", "resourceVersion"):
        kept["metadata"].pop(field, None)
    settled_: Object = orjson.loads(_plain(orjson.dumps(kept).decode()))
    return settled_


def _causes(causes: Iterable[tuple[str, str, str]]) -> list[list[str]]:
    """In order of fields, without the structural differences that Go prints in no fixed form."""
    return sorted([field, reason, _plain(message.partition("\n")[0])] for field, reason, message in causes)


def _plain(text: str) -> str:
    for pattern, replacement in _RANDOM:
        text = pattern.sub(replacement, text)
    return text


def _rules(obj: Object) -> Rules:
    return rules(obj["apiVersion"].rpartition("/")[0], obj["kind"])


def _read(found: Rules, obj: Object) -> Answer | None:
    kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
    try:
        found.default(obj)
        once_each(obj, [])
    except DecodeError as error:
        return Answer(400, f'{kind} in version "{version}" cannot be handled as a {kind}: {error}')
    if found.namespaced:
        obj["metadata"].setdefault("namespace", "default")
    else:
        obj["metadata"].pop("namespace", None)
    return None


def _refused(error: StatusError) -> Answer:
    if error.code == 422:
        return Answer(422, _causes((cause.field, cause.reason, cause.message) for cause in error.causes))
    return Answer(error.code, error.message)


def _attempt(
    operation: Operation, obj: Object, old: Object | None, subresource: str = ""
) -> tuple[KindAdmission, Attempt]:
    """A write, and the admission plugins that look at it."""
    metadata = obj["metadata"]
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = ServedResource(group, version, "", "", obj["kind"], namespaced="namespace" in metadata, verbs=())
    taken = [] if old is None or obj["kind"] != "Service" else [old]
    admission = KindAdmission(Known(), ServiceAddresses(taken))
    namespace, name = metadata.get("namespace", ""), metadata.get("name") or ""
    return admission, Attempt(operation, SYSTEM, resource, subresource, namespace, name, obj, old, dry_run=True)
