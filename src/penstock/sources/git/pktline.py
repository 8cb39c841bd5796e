"""Git's way to frame lines: four hexadecimal digits of length, then the bytes.

What a server answers to "which refs are there?" comes in two dialects. Both are read here, from bytes to a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.sources.git.errors import RemoteTrouble
from penstock.sources.git.references import PEELED, is_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FLUSH, DELIMITER = b"0000", b"0001"
_AGENT = b"agent=penstock"


@dataclass(frozen=True, slots=True)
class Refs:
    """The refs of a repository by name: the object each points to, and the commit behind an annotated tag."""

    objects: dict[str, str]
    peeled: dict[str, str]

    def commit(self, name: str) -> str:
        """The commit of a ref, as far as the list tells; empty when there is no such ref."""
        return self.peeled.get(name) or self.objects.get(name, "")


@dataclass(frozen=True, slots=True)
class Advertisement:
    """The first answer of a server: its refs, or (version 2) what it can do."""

    refs: Refs | None
    sha256: bool = False


def line(content: bytes) -> bytes:
    """One framed line."""
    return b"%04x%s" % (len(content) + 4, content)


def question(prefixes: Iterable[str], *, sha256: bool) -> bytes:
    """The request for refs with these prefixes, in version 2."""
    head = line(b"command=ls-refs\n") + line(_AGENT) + line(b"object-format=" + (b"sha256" if sha256 else b"sha1"))
    wanted = b"".join(line(b"ref-prefix " + prefix.encode() + b"\n") for prefix in prefixes)
    return head + DELIMITER + line(b"peel\n") + wanted + FLUSH


def advertised(body: bytes) -> Advertisement:
    """The answer to `info/refs`, in whatever version the server speaks."""
    lines = [entry for entry in _lines(body) if entry is not None]
    if lines[:1] != [b"# service=git-upload-pack"] and lines[:1] != [b"version 2"]:
        raise RemoteTrouble("the server answers like no Git server")
    if b"version 2" in lines[:2]:
        return Advertisement(None, b"object-format=sha256" in lines)
    lines = lines[2:] if lines[1:2] == [b"version 1"] else lines[1:]
    capabilities = lines[0].partition(b"\0")[2] if lines else b""
    refs = _collected(_pair(entry.partition(b"\0")[0]) for entry in lines)
    return Advertisement(refs, b"object-format=sha256" in capabilities.split(b" "))


def listed(body: bytes) -> Refs:
    """The answer to `question`."""
    return _collected(pair for entry in _lines(body) if entry is not None for pair in _pairs(entry))


def of_text(text: bytes) -> Refs:
    """What `git ls-remote` prints."""
    return _collected(_pair(entry.replace(b"\t", b" ", 1)) for entry in text.splitlines())


def _pairs(entry: bytes) -> Iterator[tuple[str, str]]:
    words = entry.split(b" ")
    name = words[1].decode("utf-8", "surrogateescape") if len(words) > 1 else ""
    yield words[0].decode("latin-1"), name
    for attribute in words[2:]:
        if attribute.startswith(b"peeled:"):
            yield attribute[7:].decode("latin-1"), name + PEELED


def _pair(entry: bytes) -> tuple[str, str]:
    value, _, name = entry.partition(b" ")
    return value.decode("latin-1"), name.decode("utf-8", "surrogateescape")


def _collected(pairs: Iterable[tuple[str, str]]) -> Refs:
    refs = Refs({}, {})
    for value, name in pairs:
        if value.startswith(("shallow", "unborn")):
            continue
        if not is_hash(value):
            raise RemoteTrouble("the server answers like no Git server")
        if name.endswith(PEELED):
            refs.peeled[name.removesuffix(PEELED)] = value
        elif name:
            refs.objects[name] = value
    # An empty repository has one line that says what it could do.
    refs.peeled.pop("capabilities", None)
    return refs


def _lines(body: bytes) -> Iterator[bytes | None]:
    """The lines without their line ends; None for a flush and the like."""
    at = 0
    while at < len(body):
        try:
            length = int(body[at : at + 4], 16)
        except ValueError:
            raise RemoteTrouble("the server answers like no Git server") from None
        if length <= 4:
            at += 4
            yield None
            continue
        if at + length > len(body):
            raise RemoteTrouble("the server's answer is cut off")
        content = body[at + 4 : at + length]
        if content.startswith(b"ERR "):
            raise RemoteTrouble(_words(content[4:]), is_missing=b"not found" in content.lower())
        yield content.removesuffix(b"\n")
        at += length


def _words(raw: bytes) -> str:
    """A server's own words, cut and made printable."""
    text = raw[:300].decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()
