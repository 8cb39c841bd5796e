"""Commits and tags as they lie in the repository: who signed what, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

_SIGNATURES = (b"gpgsig", b"gpgsig-sha256")
_ARMORS = (b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN SSH SIGNATURE-----", b"-----BEGIN SIGNED MESSAGE-----")
_SHORT = 50


@dataclass(frozen=True, slots=True)
class Signed:
    """An object, its signature, and the bytes that the signature is about."""

    hash: str
    payload: bytes
    signature: bytes
    message: str
    name: str = ""
    """What a tag calls itself."""

    @property
    def subject(self) -> str:
        """The first line, cut to a length for events."""
        line = self.message.partition("\n")[0]
        return line if len(line) <= _SHORT else f"{line[:_SHORT]}..."


def commit(name: str, raw: bytes) -> Signed:
    """A commit; its signature stands among the headers and is not part of what was signed."""
    head, _, body = raw.partition(b"\n\n")
    found: dict[bytes, list[bytes]] = {header: [] for header in _SIGNATURES}
    kept: list[bytes] = []
    key = b""
    for line in head.split(b"\n"):
        if not line.startswith(b" "):
            key = line.partition(b" ")[0]
        if key in found:
            found[key].append(line.removeprefix(key)[1:] if line.startswith(key) else line[1:])
        else:
            kept.append(line)
    # A commit may be signed for both hashes; the signature for the other one is about other bytes.
    signature = found[b"gpgsig" if len(name) == 40 else b"gpgsig-sha256"]
    return Signed(name, b"\n".join(kept) + b"\n\n" + body, b"\n".join(signature), body.decode("utf-8", "replace"))


def tag(name: str, raw: bytes) -> Signed:
    """An annotated tag; its signature is the end of its message."""
    head, _, body = raw.partition(b"\n\n")
    start = _signature_start(raw, len(head) + 2)
    own = next((line[4:] for line in head.split(b"\n") if line.startswith(b"tag ")), b"")
    message = raw[len(head) + 2 : start].decode("utf-8", "replace") if body else ""
    return Signed(name, raw[:start], raw[start:], message, own.decode("utf-8", "replace"))


def target(raw: bytes) -> tuple[str, str]:
    """What a tag points to: the hash and the type."""
    fields = dict(line.split(b" ", 1) for line in raw.partition(b"\n\n")[0].split(b"\n") if b" " in line)
    return fields.get(b"object", b"").decode("latin-1"), fields.get(b"type", b"").decode("latin-1")


def committed_at(raw: bytes) -> int:
    """When a commit was made, in seconds since 1970; 0 when it does not say."""
    for line in raw.partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(b"committer "):
            words = line.rsplit(b" ", 2)
            return int(words[1]) if len(words) == 3 and words[1].isdigit() else 0
    return 0


def _signature_start(raw: bytes, begin: int) -> int:
    """The last line that opens an armor, as Git itself looks for it."""
    starts = [raw.rfind(b"\n" + armor, begin - 1) + 1 for armor in _ARMORS]
    return max(starts) or len(raw)
