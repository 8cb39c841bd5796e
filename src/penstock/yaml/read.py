"""Texts in: choose the way, keep the limits."""

import re
from typing import Any

from penstock.yaml import quick
from penstock.yaml.document import Document, Limits
from penstock.yaml.errors import LimitError, YAMLError
from penstock.yaml.scalars import Dialect

DEFAULT = Limits()
_SEPARATOR = re.compile(rb"\n---(.*)\n")


def documents(text: str | bytes, limits: Limits = DEFAULT) -> list[Document]:
    """The documents of a file of manifests, in the dialect of resources; empty documents are left out.

    A `---` at the start of a line separates, wherever it stands, as it does for kustomize.
    """
    data = _encoded(text, limits).replace(b"\r\n", b"\n")
    parts = _split(data) if b"\n---" in data else [data]
    return [document for part in parts if (document := _one(part, limits)) is not None]


def config(text: str | bytes, limits: Limits = DEFAULT) -> Any:
    """The first document of a configuration file, in the dialect of kustomization files."""
    data = _encoded(text, limits)
    try:
        return quick.parse(data, old=True)
    except LookupError:
        document = _carefully(data, "kustomization", limits)
        return document.value if document else None


def _encoded(text: str | bytes, limits: Limits) -> bytes:
    if len(text) > limits.size:
        raise LimitError(f"the file is larger than {limits.size} bytes")
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeError as error:
        raise YAMLError("the text holds half of a surrogate pair") from error


def _split(text: bytes) -> list[bytes]:
    parts: list[bytes] = []
    start = 0
    for match in _SEPARATOR.finditer(text):
        rest = match[1].strip()
        if rest and not rest.startswith(b"#"):
            line = f"---{match[1].decode(errors='replace')}"
            raise YAMLError(f"'{line}' is not a document separator; move the text to its own line")
        parts.append(text[start : match.start()] + b"\n")
        start = match.end()
    parts.append(text[start:])
    return parts


def _one(text: bytes, limits: Limits) -> Document | None:
    try:
        value = quick.parse(text)
    except LookupError:
        document = _carefully(text, "resource", limits)
        return document if document and document.value is not None else None
    return None if value is None else Document(value, nulls=None, written=False)


def _carefully(text: bytes, dialect: Dialect, limits: Limits) -> Document | None:
    from penstock.yaml import careful  # libyaml's loader takes a while to import, and most builds never need it

    return next(careful.parse(text, dialect, limits), None)
