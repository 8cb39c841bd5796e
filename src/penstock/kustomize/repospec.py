"""What a remote base says: host, repository, directory, ref. The spellings are those that kustomize reads."""

import posixpath
import re
from typing import NamedTuple
from urllib.parse import parse_qs

TIMEOUT = 27.0  # seconds, as in kustomize
_SCHEMES = ("ssh://", "https://", "http://", "file://")
_USER = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*@")
_SECONDS = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?\Z")


class RepoSpec(NamedTuple):
    """A directory of a Git repository at some ref."""

    url: str  # what is cloned
    path: str = ""  # the directory inside
    ref: str = ""  # empty: the default branch
    timeout: float = TIMEOUT
    submodules: bool = True
    is_certain: bool = True  # False: the address may as well be that of a file


def parse(text: str) -> RepoSpec | None:
    """The repository that a path means; None if it is a local path."""
    if text.startswith("/"):
        return None
    address, _, query = text.partition("?")
    found = _host(address.removeprefix("git::"))
    if found is None:
        return None
    host, rest = found
    split = _split(rest, everything=host.startswith("file://"))
    if split is None:
        return None
    repository, path = split
    if posixpath.normpath(path.lstrip("/") or ".").split("/")[0] == "..":
        return None
    ref, timeout, submodules = _options(query)
    marked = bool(ref) or not host.startswith("http") or any(mark in rest for mark in (".git", "_git/", "//"))
    return RepoSpec(host + repository, path.lstrip("/"), ref, timeout, submodules, is_certain=marked)


def _host(text: str) -> tuple[str, str] | None:
    scheme = next((one for one in _SCHEMES if text.lower().startswith(one)), "")
    rest = text[len(scheme) :]
    match = _USER.match(rest)
    user = match[0] if match else ""
    rest = rest[len(user) :]
    is_github = rest.lower().startswith(("github.com/", "github.com:"))
    if not scheme and not user and not is_github:
        return None
    if scheme == "file://":
        return scheme, user + rest
    at = _separator(rest, short=not scheme)
    host, rest = (rest[: at + 1], rest[at + 1 :]) if at >= 0 else (rest, "")
    if is_github:
        ssh = scheme == "ssh://" or user
        return (f"{user}github.com:" if ssh else "https://github.com/"), rest
    return (scheme + user + host, rest) if host else None


def _separator(rest: str, *, short: bool) -> int:
    """Where the host ends; in the short form `user@host:path` at the colon."""
    slash, colon = rest.find("/"), rest.find(":")
    if short and (slash < 0 or 0 < colon < slash):
        return colon
    return slash


def _split(text: str, *, everything: bool) -> tuple[str, str] | None:
    """Repository and directory."""
    if "_git/" in text:
        head, _, tail = text.partition("_git/")
        name, _, path = tail.partition("/")
        return f"{head}_git/{name}", path
    if "//" in text:
        repository, _, path = text.partition("//")
        return (repository, path) if repository else None
    if ".git" in text:
        repository, _, path = text.partition(".git")
        return f"{repository}.git", path
    if everything:
        return (text, "") if text else None
    segments = text.split("/")
    if len(segments) < 2 or not segments[0]:
        return None
    return "/".join(segments[:2]), "/".join(segments[2:])


def _options(query: str) -> tuple[str, float, bool]:
    values = {key: found[0] for key, found in parse_qs(query).items()}
    ref = values.get("ref") or values.get("version") or ""
    match = _SECONDS.match(values.get("timeout", ""))
    seconds = 60 * int(match[1] or 0) + float(match[2] or 0) if match else 0.0
    return ref, seconds or TIMEOUT, values.get("submodules", "true").lower() not in ("false", "0", "f")
