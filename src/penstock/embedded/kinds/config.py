"""ConfigMaps and Secrets."""

from __future__ import annotations

import binascii
import json
from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.names import config_key
from penstock.embedded.kinds.problems import Problems, each_invalid, forbidden, invalid, required, same, too_long
from penstock.embedded.kinds.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

SIZE_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"


def _check_frozen(problems: Problems, new: Object, old: Object, fields: Sequence[str]) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        problems.append(forbidden("immutable", _FROZEN))
    problems += [forbidden(field, _FROZEN) for field in fields if new.get(field) != old.get(field)]


class ConfigMapRules(Rules):
    """Keys are file names; everything together stays below a megabyte."""

    def check(self, problems: Problems, obj: Object) -> None:
        size = 0
        binary = obj.get("binaryData", {})
        for key, value in obj.get("data", {}).items():
            problems += each_invalid(f"data[{key}]", key, config_key(key))
            if key in binary:
                problems.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
            size += len(value) if value.isascii() else len(value.encode())
        for key, value in binary.items():
            problems += each_invalid(f"binaryData[{key}]", key, config_key(key))
            size += _decoded_size(value)
        if size > SIZE_LIMIT:
            problems.append(too_long("", SIZE_LIMIT))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        _check_frozen(problems, self.sent(new), old, ("data", "binaryData"))
        self.check_create(problems, new)


@defaults("core/v1.Secret")
def _secret_defaults(secret: Object) -> None:
    """`stringData` is written into `data` as the object is read, and never seen again."""
    secret.setdefault("type", "Opaque")
    for key, text in secret.pop("stringData", {}).items():
        secret.setdefault("data", {})[key] = binascii.b2a_base64(text.encode(), newline=False).decode()


class SecretRules(Rules):
    """Keys are file names; well-known types want well-known keys."""

    _WANTED: ClassVar[dict[str, Sequence[str]]] = {
        "kubernetes.io/dockercfg": (".dockercfg",),
        "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
        "kubernetes.io/tls": ("tls.crt", "tls.key"),
    }

    def check(self, problems: Problems, obj: Object) -> None:
        data = obj.get("data", {})
        size = 0
        for key, value in data.items():
            problems += each_invalid(f"data[{key}]", key, config_key(key))
            size += _decoded_size(value)
        if size > SIZE_LIMIT:
            problems.append(too_long("data", SIZE_LIMIT))
        self._check_type(problems, obj, data)

    def _check_type(self, problems: Problems, obj: Object, data: Object) -> None:
        kind = obj["type"]
        problems += [required(f"data[{key}]") for key in self._WANTED.get(kind, ()) if key not in data]
        if kind == "kubernetes.io/service-account-token":
            key = "kubernetes.io/service-account.name"
            if not obj["metadata"].get("annotations", {}).get(key):
                problems.append(required(f"metadata.annotations[{key}]"))
        elif kind == "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                problems += [required("data[username]"), required("data[password]")]
        elif kind == "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                problems.append(required("data[ssh-privatekey]"))
        elif kind.startswith("kubernetes.io/dockerc"):
            for key in self._WANTED.get(kind, ()):
                if key in data and (words := _json_object_words(data[key])):
                    problems.append(invalid(f"data[{key}]", _REDACTED, words))

    def prepare_change(self, new: Object, old: Object) -> None:
        if not new.get("type"):
            new["type"] = old["type"]

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        same(problems, new["type"], old["type"], "type")
        _check_frozen(problems, self.sent(new), old, ("data",))
        self.check_create(problems, new)


def _decoded_size(encoded: str) -> int:
    return len(encoded) * 3 // 4 - encoded.count("=", -2)


def _json_object_words(encoded: str) -> str:
    """What Go's decoder says about content that should be a JSON object; empty when it is one."""
    text = binascii.a2b_base64(encoded).decode(errors="replace")
    if not text.strip():
        return "unexpected end of JSON input"
    try:
        value = json.loads(text)
    except ValueError:
        return _syntax_words(text)
    if isinstance(value, dict) or value is None:
        return ""
    found = {bool: "bool", str: "string", list: "array"}.get(type(value), "number")
    return f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"


def _syntax_words(text: str) -> str:
    start = text.lstrip()
    if start[0] not in '{["-0123456789tfn':
        return f"invalid character '{start[0]}' looking for beginning of value"
    return "unexpected end of JSON input"
