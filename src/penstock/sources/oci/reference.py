"""Names of images: a registry, a repository in it, and a tag or a digest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import PenstockError

PREFIX = "oci://"
DEFAULT_TAG = "latest"

_HUB = "index.docker.io"
_HUB_NAMES = frozenset(("docker.io", "registry-1.docker.io", _HUB))
_REGISTRY = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9a-fA-F:.]{2,45}\])(?::[0-9]{1,5})?")
_COMPONENT = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_NAME = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_LONGEST_NAME = 255


class InvalidReference(PenstockError):
    """The text does not name an image."""


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository of a registry."""

    registry: str
    """Host and port, as they stand in credentials: Docker's own is `index.docker.io`."""
    name: str

    def __str__(self) -> str:
        return f"{self.registry}/{self.name}"

    @property
    def host(self) -> str:
        """Where the registry answers; Docker's has another name there."""
        return "registry-1.docker.io" if self.registry == _HUB else self.registry

    def at(self, reference: str) -> str:
        """The full name of an image of this repository."""
        return f"{self}@{reference}" if is_digest(reference) else f"{self}:{reference}"


@dataclass(frozen=True, slots=True)
class Image:
    """One image, by tag or by digest."""

    repository: Repository
    reference: str

    def __str__(self) -> str:
        return self.repository.at(self.reference)


def parse_repository(url: str) -> Repository:
    """The repository that an `oci://` address names; a tag or digest in it is refused."""
    text = _without_scheme(url)
    if "@" in text:
        raise InvalidReference(f"URL must not contain a digest or credentials; remove '@{text.partition('@')[2]}'")
    tag = text.partition("/")[2].partition(":")[2]
    if tag:
        raise InvalidReference(f"URL must not contain a tag; remove ':{tag}'")
    return _repository(text)


def parse_image(url: str) -> Image:
    """The image that an `oci://` address names, by default its tag `latest`."""
    text, at, digest = _without_scheme(url).partition("@")
    head, slash, tail = text.rpartition("/")
    name, colon, tag = tail.partition(":")
    repository = _repository(f"{head}{slash}{name}")
    if at:
        return Image(repository, check_digest(digest))
    return Image(repository, check_tag(tag) if colon else DEFAULT_TAG)


def is_digest(reference: str) -> bool:
    return ":" in reference  # which no tag can have


def check_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise InvalidReference(f"{tag!r} is not a tag: letters, digits, '_', '-' and '.', at most 128 of them")
    return tag


def check_digest(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise InvalidReference(f"{digest!r} is not a digest such as 'sha256:<64 hexadecimal digits>'")
    return digest


def registry_name(host: str) -> str:
    """The one name of a registry that has several."""
    return _HUB if host in _HUB_NAMES else host


def _without_scheme(url: str) -> str:
    if not url.startswith(PREFIX):
        raise InvalidReference("URL must be in format 'oci://<domain>/<org>/<repo>'")
    return url.removeprefix(PREFIX)


def _repository(text: str) -> Repository:
    first, slash, rest = text.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        registry, name = registry_name(first), rest
    else:
        registry, name = _HUB, text
    if registry == _HUB and name and "/" not in name:
        name = f"library/{name}"
    if not _REGISTRY.fullmatch(registry):
        raise InvalidReference(f"{registry!r} is not the name of a registry")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InvalidReference(f"{name!r} is not the name of a repository: lower-case letters, digits and '._-/'")
    return Repository(registry, name)
