"""Bases from Git and files from HTTP: allowed by default, bounded always.

What a tree names is hostile: a ref that is an option, a transport that runs programs, a redirect to the address where
clouds hand out credentials. None of these gets anywhere.
"""

import http.client
import ipaddress
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from penstock.kustomize.errors import LoadError
from penstock.kustomize.repospec import RepoSpec

SCHEMES = ("https", "http", "ssh")  # never `file` or `ext`: they reach into this machine
_LARGEST = 64 << 20  # bytes of a file
_REDIRECTS = 5
_SECONDS = 30.0  # to connect, and between two packets
_PASSED_ON = (  # what says how to reach other hosts, and whom to trust; nothing else of the environment gets to git
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSH_AUTH_SOCK",
    *(f"{name}_proxy" for name in ("http", "https", "all", "no")),
    *(f"{name}_PROXY" for name in ("HTTPS", "ALL", "NO")),
)
_ACCEPTED = range(200, 300)
_MOVED = frozenset({301, 302, 303, 307, 308})


def fetch(url: str) -> bytes:
    """The content of a file on a web server."""
    for _ in range(_REDIRECTS + 1):
        response = _get(url)
        try:
            if response.status in _MOVED and (location := response.getheader("Location")):
                url = urljoin(url, location)
                continue
            if response.status not in _ACCEPTED:
                raise LoadError(f"'{url}' answered {response.status} {response.reason}")
            content = response.read(_LARGEST + 1)
        finally:
            response.close()
        if len(content) > _LARGEST:
            raise LoadError(f"'{url}' is larger than {_LARGEST} bytes")
        return content
    raise LoadError(f"'{url}': more than {_REDIRECTS} redirects")


def _get(url: str) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise LoadError(f"'{url}' is not an http or https address")
    secure = parts.scheme == "https"
    try:
        connection = http.client.HTTPConnection(parts.hostname, parts.port or (443 if secure else 80), timeout=_SECONDS)
        connection.sock = _connected(parts.hostname, connection.port, secure=secure)
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        return connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        raise LoadError(f"cannot read '{url}': {error}") from error


def _connected(host: str, port: int, *, secure: bool) -> socket.socket:
    """A connection to an address that was looked at first, so that the name cannot change its mind in between."""
    for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        if _is_forbidden(str(address[0])):
            raise LoadError(f"'{host}' is a link-local address; nothing is read from there")
        plain = socket.create_connection((str(address[0]), port), timeout=_SECONDS)
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
    raise LoadError(f"'{host}' has no address")


def _is_forbidden(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return found.is_link_local or found.is_multicast or (mapped is not None and mapped.is_link_local)


class Clones:
    """Repositories that one build cloned; they are removed with it."""

    def __init__(self, *, schemes: tuple[str, ...] = SCHEMES) -> None:
        self._schemes = schemes
        self._found: dict[tuple[str, str], Path] = {}

    def clone(self, spec: RepoSpec) -> Path:
        """The root of a clone; one a repository and ref, however often it is named."""
        known = self._found.get((spec.url, spec.ref))
        if known is None:
            self._check(spec)
            known = Path(tempfile.mkdtemp(prefix="penstock-base-")).resolve()
            self._found[spec.url, spec.ref] = known
            self._fetch(spec, known)
        return known

    def close(self) -> None:
        for folder in self._found.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._found.clear()

    def _check(self, spec: RepoSpec) -> None:
        scheme = spec.url.partition("://")[0] if "://" in spec.url else "ssh"
        if scheme not in self._schemes:
            raise LoadError(f"'{spec.url}': bases are read by {', '.join(self._schemes)}, not by {scheme}")
        if spec.ref.startswith("-") or spec.url.startswith("-") or "\n" in spec.ref + spec.url:
            raise LoadError(f"'{spec.ref or spec.url}' is not a Git ref or address")

    def _fetch(self, spec: RepoSpec, folder: Path) -> None:
        self._git(spec, folder, "init", "--quiet")
        self._git(spec, folder, "fetch", "--quiet", "--depth=1", "--", spec.url, spec.ref or "HEAD")
        self._git(spec, folder, "checkout", "--quiet", "FETCH_HEAD")
        if spec.submodules and (folder / ".gitmodules").is_file():
            self._git(spec, folder, "submodule", "update", "--quiet", "--init", "--recursive", "--depth=1")

    def _git(self, spec: RepoSpec, folder: Path, *arguments: str) -> None:
        safe = ("-c", "http.followRedirects=false", "-c", "core.symlinks=true", "-c", "core.hooksPath=/dev/null")
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.environ.get("HOME", str(folder)),
            "GIT_ALLOW_PROTOCOL": ":".join(self._schemes),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        }
        try:
            run = subprocess.run(
                ["git", *safe, *arguments],  # noqa: S607  -- whatever git the user has
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=spec.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise LoadError(f"'{spec.url}' did not answer within {spec.timeout:.0f} s") from error
        except OSError as error:
            raise LoadError(f"cannot run git to read '{spec.url}': {error.strerror}") from error
        if run.returncode != 0:
            reason = run.stderr.decode(errors="replace").strip().splitlines()
            raise LoadError(
                f"cannot read '{spec.url}' at '{spec.ref or 'HEAD'}': {reason[-1] if reason else 'git failed'}"
            )
