"""Rules for label keys and values, and for the DNS names in them; each returns what is wrong, mostly nothing.

Results are remembered: the same few keys and values come again and again.
"""

from __future__ import annotations

import re
from functools import lru_cache

Words = tuple[str, ...]
"""What is wrong with a value, in the API server's words; empty when nothing is."""

_MEMORY = 4096

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = LABEL + r"(\." + LABEL + ")*"
_SUBDOMAIN = re.compile(SUBDOMAIN)
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED_NAME = re.compile(_QUALIFIED)
_LABEL_VALUE = re.compile(f"({_QUALIFIED})?")

SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
)
_QUALIFIED_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_LABEL_KEY_WORDS = (
    f"a valid label key {_QUALIFIED_WORDS} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_LABEL_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_QUALIFIED})?')"
)


def at_most(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _at_most_bytes(limit: int) -> str:
    """The same for label keys and values, whose rules are worded by another part of the API server."""
    return f"must be no more than {limit} bytes"


@lru_cache(_MEMORY)
def dns_subdomain(value: str) -> Words:
    words: Words = (at_most(253),) if len(value) > 253 else ()
    return words if _SUBDOMAIN.fullmatch(value) else (*words, SUBDOMAIN_WORDS)


@lru_cache(_MEMORY)
def qualified_name(value: str) -> Words:
    """A label key: a name, optionally after a DNS subdomain and a slash."""
    words: list[str] = []
    prefix, slash, name = value.partition("/")
    if not slash:
        name = value
    elif "/" in name:
        return (_LABEL_KEY_WORDS,)
    elif not prefix:
        words.append("prefix part must be non-empty")
    else:
        words += [f"prefix part {word.replace(at_most(253), _at_most_bytes(253))}" for word in dns_subdomain(prefix)]
    if not name:
        words.append("name part must be non-empty")
    elif len(name) > 63:
        words.append(f"name part {_at_most_bytes(63)}")
    if not _QUALIFIED_NAME.fullmatch(name):
        words.append(f"name part {_QUALIFIED_WORDS}")
    return tuple(words)


@lru_cache(_MEMORY)
def label_value(value: str) -> Words:
    words: Words = (_at_most_bytes(63),) if len(value) > 63 else ()
    return words if _LABEL_VALUE.fullmatch(value) else (*words, _LABEL_VALUE_WORDS)
