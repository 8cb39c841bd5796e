"""Rules for names, label keys and values, port names and the like; each returns what is wrong, mostly nothing.

Results are remembered: the same few keys and names come again with every request.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

# The rules of labels serve more than this server; whoever checks fields finds all rules here.
from penstock.labels.names import LABEL, SUBDOMAIN, at_most
from penstock.labels.names import Words as Words
from penstock.labels.names import dns_subdomain as dns_subdomain
from penstock.labels.names import label_value as label_value
from penstock.labels.names import qualified_name as qualified_name

Rule = Callable[[str], Words]

_MEMORY = 4096

_LABEL = re.compile(LABEL)
_SUBDOMAIN = re.compile(SUBDOMAIN)
_LABEL_1035 = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_CONFIG_KEY = re.compile("[-._a-zA-Z0-9]+")
_HTTP_HEADER = re.compile("[-A-Za-z0-9]+")
_C_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_WILDCARD = re.compile(r"\*\." + SUBDOMAIN)
_UNDERSCORED = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN = re.compile(_UNDERSCORED + r"(\." + _UNDERSCORED + ")*")
_PERCENT = re.compile("[0-9]+%")
_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")

LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
)
LABEL_1035_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_UNDERSCORED_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_UNDERSCORED_SUBDOMAIN.pattern}')"
)
_WILDCARD_WORDS = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    f"regex used for validation is '{_WILDCARD.pattern}')"
)
_CONFIG_KEY_WORDS = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_C_IDENTIFIER_WORDS = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_HTTP_HEADER_WORDS = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_PERCENT_WORDS = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_ENV_NAME_WORDS = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def between(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


@lru_cache(_MEMORY)
def dns_label(value: str) -> Words:
    words: Words = (at_most(63),) if len(value) > 63 else ()
    if _LABEL.fullmatch(value):
        return words
    return (*words, "must not contain dots" if _SUBDOMAIN.fullmatch(value) else LABEL_WORDS)


@lru_cache(_MEMORY)
def dns_1035_label(value: str) -> Words:
    words: Words = (at_most(63),) if len(value) > 63 else ()
    return words if _LABEL_1035.fullmatch(value) else (*words, LABEL_1035_WORDS)


def underscored_subdomain(value: str) -> Words:
    words: Words = (at_most(253),) if len(value) > 253 else ()
    return words if _UNDERSCORED_SUBDOMAIN.fullmatch(value) else (*words, _UNDERSCORED_WORDS)


def wildcard_subdomain(value: str) -> Words:
    words: Words = (at_most(253),) if len(value) > 253 else ()
    return words if _WILDCARD.fullmatch(value) else (*words, _WILDCARD_WORDS)


@lru_cache(_MEMORY)
def config_key(value: str) -> Words:
    """A key of a ConfigMap or Secret, which becomes a file name."""
    words: Words = (at_most(253),) if len(value) > 253 else ()
    if not _CONFIG_KEY.fullmatch(value):
        words = (*words, _CONFIG_KEY_WORDS)
    return words + _folder_prefix(value)


def _folder_prefix(value: str) -> Words:
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else ()


@lru_cache(_MEMORY)
def env_name(value: str) -> Words:
    if not value:
        return ("environment variable name must be non-empty",)
    if not value.isascii() or not value.isprintable() or "=" in value:
        return (_ENV_NAME_WORDS,)
    return ()


def c_identifier(value: str) -> Words:
    return () if _C_IDENTIFIER.fullmatch(value) else (_C_IDENTIFIER_WORDS,)


def http_header(value: str) -> Words:
    return () if _HTTP_HEADER.fullmatch(value) else (_HTTP_HEADER_WORDS,)


def percent(value: str) -> Words:
    return () if _PERCENT.fullmatch(value) else (_PERCENT_WORDS,)


def http_path(value: str) -> Words:
    if _HTTP_PATH.fullmatch(value):
        return ()
    return (f"Invalid path (regex used for validation is '{_HTTP_PATH.pattern}')",)


def port_number(value: int) -> Words:
    return () if 1 <= value <= 65535 else (between(1, 65535),)


@lru_cache(_MEMORY)
def port_name(value: str) -> Words:
    words: list[str] = []
    if len(value) > 15:
        words.append(at_most(15))
    if not re.fullmatch("[-a-z0-9]+", value):
        words.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        words.append("must contain at least one letter (a-z)")
    if "--" in value:
        words.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        words.append("must not begin or end with a hyphen")
    return tuple(words)


@lru_cache(_MEMORY)
def path_segment(value: str) -> Words:
    """A name that only has to fit into a URL path, as RBAC objects have."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> Words:
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


def is_dns_1123_label(value: str) -> bool:
    return not dns_label(value)


def masked(prefix: str) -> str:
    """A generateName as the rules see it: a dash at its end is fine, as more will follow."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
