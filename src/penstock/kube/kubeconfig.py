"""The kubeconfig format: what files may say, and how several of them become one.

Reading is ours rather than a client library's: those that merge lists, know exec plugins of `v1` and proxies
bring a generated client of 48 MB and half a second of import with them.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import yaml

from penstock.kube.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_SIZE = 4 * 1024 * 1024
"""Bytes of one kubeconfig; the largest in the wild have a few hundred contexts and certificates."""

DEEPEST = 32
"""Levels of nesting; the format itself needs ten."""


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    """`clusters[].cluster`"""

    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class Variable(msgspec.Struct, frozen=True):
    name: str
    value: str


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """`users[].user.exec`"""

    command: str
    api_version: str = "client.authentication.k8s.io/v1"
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """`users[].user`"""

    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    username: str | None = None
    password: str | None = None
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str | None = msgspec.field(default=None, name="as")
    impersonate_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    impersonate_uid: str | None = msgspec.field(default=None, name="as-uid")
    impersonate_extra: dict[str, Any] | None = msgspec.field(default=None, name="as-user-extra")


class Context(msgspec.Struct, frozen=True):
    """`contexts[].context`"""

    cluster: str = ""
    user: str = ""
    namespace: str | None = None


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster | None = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context | None = None


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = None


class KubeConfig(msgspec.Struct, frozen=True):
    """One or several kubeconfig files as one."""

    origin: str
    clusters: dict[str, Cluster]
    users: dict[str, User]
    contexts: dict[str, Context]
    current_context: str = ""

    def context(self, name: str | None = None) -> Context:
        """The named context, or the current one."""
        wanted = name or self.current_context
        if not wanted:
            known = f"name one of {_listed(self.contexts)}" if self.contexts else "it names no contexts, either"
            raise ConfigError(f"{self.origin}: no current-context is set; {known}")
        return self._look_up("context", self.contexts, wanted)

    def cluster(self, context: Context) -> Cluster:
        return self._look_up("cluster", self.clusters, context.cluster)

    def user(self, context: Context) -> User:
        """The context's user; a context without one is anonymous, as for `kubectl`."""
        return self._look_up("user", self.users, context.user) if context.user else User()

    def _look_up(self, what: str, table: dict[str, Entry], name: str) -> Entry:
        try:
            return table[name]
        except KeyError:
            known = _listed(table)
            raise ConfigError(f"{self.origin}: there is no {what} {name!r}; there is {known}") from None


Entry = TypeVar("Entry", Cluster, User, Context)


def parse(text: bytes | str, origin: str) -> KubeConfig:
    """Read one kubeconfig; `origin` is what messages call it. Paths in it stay as they are written."""
    if len(text) > MAX_SIZE:
        raise ConfigError(f"{origin}: larger than {MAX_SIZE // 2**20} MiB, which is no kubeconfig")
    try:
        _check(text, origin)
        raw = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{origin}: not YAML: {_first_line(error)}") from None
    if raw is None:
        raise ConfigError(f"{origin}: the file is empty")
    try:
        file = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{origin}: not a kubeconfig: {error}") from None
    return KubeConfig(
        origin=origin,
        clusters={entry.name: entry.cluster or Cluster() for entry in file.clusters or ()},
        users={entry.name: entry.user or User() for entry in file.users or ()},
        contexts={entry.name: entry.context or Context() for entry in file.contexts or ()},
        current_context=file.current_context or "",
    )


def _check(text: bytes | str, origin: str) -> None:
    """Refuse what no kubeconfig needs and a loader can be hurt with, before anything is built from it.

    The C loader overflows its stack on deep nesting, which ends the whole process; merge keys grow
    exponentially; tags choose their own constructors, and their text may be a password with a `!` in front.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            continue
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        if depth > DEEPEST:
            raise ConfigError(f"{origin}: not a kubeconfig: nested more than {DEEPEST} levels deep")
        if isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent) and event.tag is not None:
            raise ConfigError(f"{origin}: not a kubeconfig: YAML tags are not supported{_line(event.start_mark)}")
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<":
            raise ConfigError(f"{origin}: not a kubeconfig: YAML merge keys are not supported{_line(event.start_mark)}")


def read(path: Path) -> KubeConfig:
    """Read one file; relative paths inside it count from the folder it lies in, links not followed."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SIZE + 1)
    except OSError as error:
        raise ConfigError(f"cannot read the kubeconfig {path}: {error.strerror}") from error
    config = parse(text, str(path))
    folder = path.absolute().parent
    return msgspec.structs.replace(
        config,
        clusters={name: _resolve(cluster, folder) for name, cluster in config.clusters.items()},
        users={name: _resolve(user, folder) for name, user in config.users.items()},
    )


def merge(configs: Iterable[KubeConfig]) -> KubeConfig:
    """Several files as one: whoever names a cluster, user, context or current-context first wins."""
    ordered = list(configs)
    merged = KubeConfig(origin=":".join(config.origin for config in ordered), clusters={}, users={}, contexts={})
    current = ""
    for config in ordered:
        for name, cluster in config.clusters.items():
            merged.clusters.setdefault(name, cluster)
        for name, user in config.users.items():
            merged.users.setdefault(name, user)
        for name, context in config.contexts.items():
            merged.contexts.setdefault(name, context)
        current = current or config.current_context
    return msgspec.structs.replace(merged, current_context=current)


def decode_data(encoded: str, origin: str, field: str) -> bytes:
    """The bytes of a `...-data` field; line breaks in it do not count."""
    try:
        return base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{origin}: {field} is not base64") from None


_PATHS = ("certificate_authority", "client_certificate", "client_key", "token_file")


def _resolve(entry: Entry, folder: Path) -> Entry:
    written: dict[str, str] = {name: value for name in _PATHS if (value := getattr(entry, name, None))}
    resolved: dict[str, Any] = {name: str(folder / path) for name, path in written.items()}
    program: Exec | None = getattr(entry, "exec", None)
    if program and os.sep in program.command:  # else it is a program on the PATH
        resolved["exec"] = msgspec.structs.replace(program, command=str(folder / program.command))
    return msgspec.structs.replace(entry, **resolved)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:20]) or "none"


def _first_line(error: Exception) -> str:
    problem = getattr(error, "problem", None) or "unreadable"
    # The text itself is not quoted: a broken kubeconfig still holds credentials.
    return f"{problem}{_line(getattr(error, 'problem_mark', None))}"


def _line(mark: Any) -> str:
    return f" (line {mark.line + 1})" if mark else ""
