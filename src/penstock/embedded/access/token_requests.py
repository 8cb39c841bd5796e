"""The `token` subresource of service accounts: a fresh token, for an audience, for a time, bound to an object."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.embedded.kinds.problems import invalid as invalid_value
from penstock.embedded.status import bad_request, conflict, invalid, not_found

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.access.tokens import Signer
    from penstock.embedded.kinds.problems import FieldProblem
    from penstock.embedded.server.ports import Api, VirtualCall
    from penstock.kube.resources import Object

GROUP, KIND = "authentication.k8s.io", "TokenRequest"
_DEFAULT_SECONDS, _LEAST_SECONDS, _MOST_SECONDS = 3600, 600, 2**32
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class TokenRequests:
    """Answers a TokenRequest with a signed token."""

    def __init__(self, api: Api, signer: Signer, *, issuer: str, now: Callable[[], float]) -> None:
        self._api = api
        self._signer = signer
        self._issuer = issuer
        self._now = now

    def create(self, call: VirtualCall) -> Object:
        metadata: Object = call.obj.get("metadata") or {}
        if metadata.get("namespace") not in (None, "", call.namespace):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if metadata.get("name") not in (None, "", call.name):
            problem = invalid_value(
                "metadata.name", metadata["name"], "must match the service account name if specified"
            )
            raise invalid(KIND, call.name, [problem], group=GROUP)
        account = self._api.get(call.resource, call.name, call.namespace)
        if account is None:
            raise not_found("serviceaccounts", call.name)
        uid = account["metadata"]["uid"]
        if metadata.get("uid") not in (None, "", uid):
            told = metadata["uid"]
            why = f"the UID in the token request ({told}) does not match the UID of the service account ({uid})"
            raise conflict(KIND, call.name, why, group=GROUP)
        return self._answer(call, account, call.obj.get("spec") or {})

    def _answer(self, call: VirtualCall, account: Object, spec: Object) -> Object:
        seconds = spec.get("expirationSeconds")
        seconds = _DEFAULT_SECONDS if seconds is None else seconds
        if problems := _problems(seconds):
            raise invalid(KIND, "", problems, group=GROUP)
        reference: Object | None = spec.get("boundObjectRef")
        bound = {} if reference is None else self._bound(reference, call)
        audiences: list[str] = spec.get("audiences") or [self._issuer]
        now = int(self._now())
        metadata = account["metadata"]
        claims: Object = {
            "aud": audiences,
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "jti": str(uuid.uuid4()),
            "sub": f"system:serviceaccount:{call.namespace}:{call.name}",
            "kubernetes.io": {
                "namespace": call.namespace,
                "serviceaccount": {"name": call.name, "uid": metadata["uid"]},
                **bound,
            },
        }
        sent: Object = call.obj.get("metadata") or {}
        return {
            "kind": KIND,
            "apiVersion": f"{GROUP}/v1",
            "metadata": {
                **sent,
                "name": call.name,
                "namespace": call.namespace,
                "uid": metadata["uid"],
                "creationTimestamp": stamp(now),
            },
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
            "status": {"token": self._signer.sign(claims), "expirationTimestamp": stamp(now + seconds)},
        }

    def _bound(self, reference: Object, call: VirtualCall) -> Object:
        """The claims about the object that the token dies with."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        plural = _BINDABLE.get(kind)
        if plural is None or group:
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        found = self._find(plural, name, "" if kind == "Node" else call.namespace)
        if found is None:
            raise not_found(plural, name)
        if kind == "Pod" and found["spec"].get("serviceAccountName") != call.name:
            why = (
                f'cannot bind token for serviceaccount "{call.name}" to pod running with different serviceaccount name.'
            )
            raise bad_request(why)
        uid = found["metadata"]["uid"]
        if reference.get("uid") not in (None, "", uid):
            why = (
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise conflict(kind, name, why)
        claims: Object = {kind.lower(): {"name": name, "uid": uid}}
        if kind == "Pod" and (node := found["spec"].get("nodeName")):
            live = self._find("nodes", node, "")
            claims["node"] = {"name": node, **({"uid": live["metadata"]["uid"]} if live else {})}
        return claims

    def _find(self, plural: str, name: str, namespace: str) -> Object | None:
        resource = self._api.catalog.find("", "v1", plural)
        return None if resource is None else self._api.get(resource, name, namespace)


def _problems(seconds: int) -> list[FieldProblem]:
    field = "spec.expirationSeconds"
    if seconds < _LEAST_SECONDS:
        return [invalid_value(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MOST_SECONDS:
        return [invalid_value(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def stamp(seconds: float) -> str:
    """A moment as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
