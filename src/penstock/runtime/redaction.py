"""Keeps secrets out of logs: by the name of the field, and by what a text looks like.

This is the last net, not the first: code that holds a secret must not log it at all. Texts can come from anywhere, so
every pattern here is linear in their length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

HIDDEN = "***"
LONGEST = 32 * 1024
"""Characters of one text that a log shows; the rest is cut off."""
_DEEPEST = 8

_NAMES = (
    *("password", "passwd", "passphrase", "token", "secret", "secretkey", "authorization", "cookie", "signature"),
    *("apikey", "accesskey", "accesskeyid", "privatekey", "keydata", "sharedkey", "credential", "credentials"),
)
_REFERENCE = frozenset({"name", "namespace", "kind", "apiVersion", "group"})
_PUNCTUATION = str.maketrans("", "", "-_. ")

_USERINFO = re.compile(r"(?<=://)[^\s/?#\"'<>]{1,1024}@")
_PARAMETER = re.compile(
    r"(?i)([?&;](?:[a-z0-9_-]{0,20}(?:signature|credential|token|password|secret|key)|sig|code|auth)=)[^&;\s\"'#<>]{1,4096}"
)
_ASSIGNMENT = re.compile(r"(?i)\b(pass(?:word|wd|phrase)|token|secret|api_?key|access_?key)=[^\s&;,\"']{1,4096}")
_SHAPES = re.compile(
    r"""
    (?i:(?<=bearer\ ))[A-Za-z0-9._~+/=-]{8,}
    | (?i:(?<=basic\ ))[A-Za-z0-9+/]{16,}={0,2}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*                       # a JSON web token
    | \b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hv[sb]\.)[A-Za-z0-9_.-]{10,}     # tokens of well-known services
    | \bA(?:KIA|SIA)[0-9A-Z]{16}\b
    | \bAGE-(?:SECRET-KEY|PLUGIN)-[A-Z0-9-]{8,}
    | -----BEGIN[A-Z ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----(?:(?!-----END).)*(?:-----END[A-Z ]{0,60}-----)?
    """,
    re.VERBOSE | re.DOTALL,
)


def redact(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as plain JSON values, without anything that looks like a secret.

    A number or a truth value stays whatever its name, and so does a reference to an object: a Secret's name is
    no secret.
    """
    return {str(name): _field(str(name), value, 0) for name, value in fields.items()}


def redact_text(text: str) -> str:
    """The text, cut to a length for logs, without passwords of URLs, signatures, tokens and private keys."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + "..."
    if "://" in text:
        text = _USERINFO.sub(_hidden_user, text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\1{HIDDEN}", text)
        text = _ASSIGNMENT.sub(rf"\1={HIDDEN}", text)
    return _SHAPES.sub(HIDDEN, text)


def _field(name: str, value: Any, depth: int) -> Any:
    if _is_secret(name) and not _is_harmless(value):
        return HIDDEN
    return _plain(value, depth)


def _is_secret(name: str) -> bool:
    return name.lower().translate(_PUNCTUATION).endswith(_NAMES)


def _is_harmless(value: Any) -> bool:
    if isinstance(value, Mapping):
        return set(value) <= _REFERENCE
    return value is None or isinstance(value, bool | int | float)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact_text(value)
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(name): _field(str(name), inner, depth + 1) for name, inner in value.items()}
    if (
        isinstance(value, Sequence | AbstractSet)
        and not isinstance(value, bytes | bytearray)
        and not hasattr(value, "_fields")
    ):
        return [_plain(inner, depth + 1) for inner in value]
    return redact_text(str(value)) if not isinstance(value, bytes | bytearray) else HIDDEN


def _hidden_user(found: re.Match[str]) -> str:
    user = found[0]
    # `ssh://git@host` is how everybody writes it; only what has a password is worth hiding.
    if user == "git@":
        return user
    return f"{HIDDEN}@"
