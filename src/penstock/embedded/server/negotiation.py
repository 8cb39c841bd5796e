"""Which form an answer takes, and which form a body has: `Accept` and `Content-Type`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from penstock.embedded.status import StatusError, not_acceptable, unsupported_media_type

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

Form = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
BODY_TYPES = (JSON, YAML, PROTOBUF)
CUSTOM_BODY_TYPES = (JSON, YAML)

_STREAM_TYPES = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_META_VERSIONS = frozenset(("v1", "v1beta1"))


@dataclass(frozen=True, slots=True)
class Accepted:
    """The form in which the client wants the answer."""

    media_type: str = JSON
    form: Form = ""
    version: str = "v1"
    """Of meta.k8s.io, when `form` is one of its kinds."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One entry of an `Accept` header."""

    media_type: str
    quality: float
    parameters: tuple[tuple[str, str], ...]

    def parameter(self, name: str) -> str:
        return dict(self.parameters).get(name, "")


@lru_cache(maxsize=256)
def clauses(header: str) -> tuple[Clause, ...]:
    """The entries of an `Accept` header, best first."""
    found: list[Clause] = []
    for entry in header.split(","):
        media_type, *parameters = (part.strip() for part in entry.split(";"))
        if not media_type:
            continue
        pairs = [(name.strip(), value.strip()) for name, _, value in (part.partition("=") for part in parameters)]
        quality = next((value for name, value in pairs if name == "q"), "1")
        others = tuple(pair for pair in pairs if pair[0] != "q")
        found.append(Clause(media_type.lower(), _quality(quality), others))
    return tuple(sorted(found, key=lambda clause: -clause.quality))


@lru_cache(maxsize=256)
def accepted(header: str, *, stream: bool = False) -> Accepted:
    """What to answer with; 406 when nothing that the client takes can be given. Protobuf never is.

    `stream` tells whether the answer could be a watch, which only the words of the refusal depend on.
    """
    if not header.strip():
        return Accepted()
    known = False
    for clause in clauses(header):
        media_type = _media_type(clause.media_type)
        if not media_type:
            continue
        known = True
        form = clause.parameter("as")
        if not form:
            return Accepted(media_type)
        version = clause.parameter("v")
        if clause.parameter("g") == "meta.k8s.io" and version in _META_VERSIONS:
            if form == "Table":
                return Accepted(media_type, "Table", version)
            if form == "PartialObjectMetadata":
                return Accepted(media_type, "PartialObjectMetadata", version)
            if form == "PartialObjectMetadataList":
                return Accepted(media_type, "PartialObjectMetadataList", version)
    if known:
        raise not_acceptable(BODY_TYPES)
    types = ", ".join((*BODY_TYPES, *_STREAM_TYPES) if stream else BODY_TYPES)
    raise StatusError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {types}")


@lru_cache(maxsize=256)
def body_type(header: str | None, *, custom: bool) -> str:
    """The type of a body, JSON when nothing is said; 415 when it cannot be read."""
    media_type = (header or "").partition(";")[0].strip().lower()
    if not media_type:
        return JSON
    if media_type in (JSON, YAML):
        return media_type
    raise unsupported_media_type(CUSTOM_BODY_TYPES if custom else BODY_TYPES)


def _media_type(asked: str) -> str:
    if asked in (JSON, "*/*", "application/*"):
        return JSON
    return YAML if asked == YAML else ""


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
