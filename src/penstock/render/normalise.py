"""Objects as a Go client would send them: what the type does not know is dropped, and a few fields are put right."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from penstock.schema.typed import DecodeError, typed

Object = dict[str, Any]

# Rules of roles are left alone: the type would turn rules that aggregate into none at all.
_LEFT_ALONE = frozenset({("rbac.authorization.k8s.io/v1", "Role"), ("rbac.authorization.k8s.io/v1", "ClusterRole")})
# Kinds of the API server that are not in the client's scheme.
_NOT_CLIENT = frozenset({"apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1"})
_CRD = "CustomResourceDefinition"
_TEMPLATES: dict[tuple[str, str], tuple[str, ...]] = {
    ("v1", "Pod"): ("spec",),
    ("apps/v1", "Deployment"): ("spec", "template", "spec"),
    ("apps/v1", "StatefulSet"): ("spec", "template", "spec"),
    ("apps/v1", "DaemonSet"): ("spec", "template", "spec"),
    ("apps/v1", "ReplicaSet"): ("spec", "template", "spec"),
    ("batch/v1", "Job"): ("spec", "template", "spec"),
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
_PEM_START, _PEM_END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"


def normalise(obj: Object) -> Object:
    """The object to send; a new one where the kind is built in, else the same one with its metadata put right.

    A value that does not fit the type leaves the object as it is: the API server has the better words for it.
    """
    if (obj.get("apiVersion"), obj.get("kind")) in _LEFT_ALONE:
        return obj
    obj = _converted(obj)
    metadata = obj.get("metadata")
    obj = obj | {"metadata": (metadata if isinstance(metadata, dict) else {}) | {"creationTimestamp": None}}
    if not is_definition(obj):
        obj.pop("status", None)
    return obj


def is_definition(obj: Object) -> bool:
    """True for a CustomResourceDefinition."""
    return obj.get("kind") == _CRD and str(obj.get("apiVersion", "")).startswith("apiextensions.k8s.io/")


def without_bad_bundle(obj: Object) -> Object:
    """A definition without the CA bundle of its conversion webhook when that is no PEM; an empty one is left."""
    try:
        client = obj["spec"]["conversion"]["webhook"]["clientConfig"]
        bundle = client.get("caBundle")
    except (KeyError, TypeError, AttributeError):
        return obj
    if not isinstance(bundle, str) or not bundle or _is_pem(bundle):
        return obj
    spec = obj["spec"]
    webhook = spec["conversion"]["webhook"]
    kept = {key: value for key, value in client.items() if key != "caBundle"}
    conversion = spec["conversion"] | {"webhook": webhook | {"clientConfig": kept}}
    return obj | {"spec": spec | {"conversion": conversion}}


def _is_pem(bundle: str) -> bool:
    try:
        data = base64.b64decode(bundle, validate=True)
    except (binascii.Error, ValueError):
        return False
    start = data.find(_PEM_START)
    return start >= 0 and data.find(_PEM_END, start) >= 0 and _certificates(data)


def _certificates(data: bytes) -> bool:
    from cryptography import x509  # few sets have such a definition, and the import takes a while

    try:
        return bool(x509.load_pem_x509_certificates(data))
    except ValueError:
        return False


def _converted(obj: Object) -> Object:
    if obj.get("apiVersion") in _NOT_CLIENT:
        return obj
    try:
        made = typed(obj)
    except DecodeError:
        return obj
    if made is None:
        return obj
    place = _TEMPLATES.get((obj["apiVersion"], obj["kind"]))
    if place is not None:
        _fill_container_ports(_at(made, place))
    elif (obj["apiVersion"], obj["kind"]) == ("v1", "Service"):
        _fill_protocols(_at(made, ("spec",)).get("ports"))
    elif (obj["apiVersion"], obj["kind"]) == ("v1", "Secret"):
        _encode(made)
    return made


def _at(obj: Object, place: tuple[str, ...]) -> Object:
    for name in place:
        obj = obj[name]
    return obj


def _fill_container_ports(pod: Object) -> None:
    for container in pod.get("containers") or ():
        _fill_protocols(container.get("ports"))


def _fill_protocols(ports: list[Object] | None) -> None:
    for port in ports or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"


def _encode(secret: Object) -> None:
    texts: dict[str, str] | None = secret.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = {**secret.get("data", {}), **encoded}
