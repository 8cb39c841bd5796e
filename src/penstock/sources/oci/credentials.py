"""Who we are to a registry: Docker configurations and the logins in them."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from fnmatch import translate
from typing import TYPE_CHECKING

import msgspec

from penstock.errors import PenstockError
from penstock.sources.oci.reference import Repository, registry_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TODAY, _BEFORE = ".dockerconfigjson", ".dockercfg"  # keys of pull secrets


class CredentialsError(PenstockError):
    """A Docker configuration cannot be used; its logins are never told."""


@dataclass(frozen=True, slots=True)
class Credential:
    """One login; without any of its parts it is the anonymous one."""

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """A refresh token, to be exchanged for access tokens."""
    registry_token: str = field(default="", repr=False)
    """An access token, to be used as it is."""

    @property
    def basic(self) -> str:
        """The value of an Authorization header; empty without a user name."""
        if not self.username:
            return ""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class _Login(msgspec.Struct, frozen=True):
    """One entry of a Docker configuration."""

    auth: str = ""
    username: str = ""
    password: str = ""
    identitytoken: str = ""
    registrytoken: str = ""


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    auths: dict[str, _Login] = msgspec.field(default_factory=dict)
    creds_store: str = ""
    cred_helpers: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DockerConfig:
    """The logins of one or more Docker configurations, the earlier ones first."""

    logins: tuple[tuple[str, Credential], ...] = field(default=(), repr=False)
    helpers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Programs that would know a login, by registry; an empty registry stands for all."""

    def find(self, repository: Repository) -> Credential | None:
        """The login for a repository: of several entries that match, the one that says the longest path."""
        matching = [(key, login) for key, login in self.logins if _matches(key, repository)]
        if matching:
            return max(matching, key=lambda entry: len(entry[0]))[1]
        helper = self.helpers.get(repository.registry) or self.helpers.get("")
        if helper:
            raise CredentialsError(
                f"the login for {repository.registry} is kept by the program 'docker-credential-{helper}', "
                "which is not run; give it as a static login"
            )
        return None


def parse(content: bytes, *, origin: str) -> DockerConfig:
    """The logins of a `config.json`; entries that hold no login say nothing."""
    try:
        config = msgspec.json.decode(content, type=_Config)
    except msgspec.MsgspecError:
        # The decoder's own words may quote the content.
        raise CredentialsError(f"{origin} is not a Docker configuration in JSON") from None
    return _docker_config(config, origin)


def from_secret(data: Mapping[str, bytes], *, origin: str) -> DockerConfig:
    """The logins of a pull secret, in today's format or the one before."""
    if _TODAY in data:
        return parse(data[_TODAY], origin=origin)
    if _BEFORE not in data:
        raise CredentialsError(f"{origin} is no pull secret: it has no key '{_TODAY}'")
    try:
        logins = msgspec.json.decode(data[_BEFORE], type=dict[str, _Login])
    except msgspec.MsgspecError:
        raise CredentialsError(f"{origin} is not a Docker configuration in JSON") from None
    return _docker_config(_Config(auths=logins), origin)


def combine(configs: Iterable[DockerConfig]) -> DockerConfig:
    """The logins of all of them."""
    every = tuple(configs)
    return DockerConfig(
        tuple(login for config in every for login in config.logins),
        {registry: helper for config in reversed(every) for registry, helper in config.helpers.items()},
    )


def from_flag(text: str) -> Credential:
    """What `--creds` says: `<username>[:<password>]`; without a password it is a token."""
    username, colon, password = text.partition(":")
    if not username:
        raise CredentialsError("--creds is '<username>[:<password>]', and the user name is missing")
    return Credential(username=username, password=password) if colon else Credential(registry_token=text)


def _docker_config(config: _Config, origin: str) -> DockerConfig:
    logins = [(_key(name), _credential(login, origin, name)) for name, login in config.auths.items()]
    helpers = {registry_name(name): helper for name, helper in config.cred_helpers.items()}
    if config.creds_store:
        helpers[""] = config.creds_store
    return DockerConfig(tuple((key, login) for key, login in logins if login != Credential()), helpers)


def _credential(login: _Login, origin: str, name: str) -> Credential:
    username, password = login.username, login.password
    if login.auth:
        try:
            username, _, password = base64.b64decode(login.auth, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeError):
            raise CredentialsError(f"{origin}: 'auth' of {name!r} is not base64 of '<username>:<password>'") from None
    return Credential(username, password.rstrip("\0"), login.identitytoken, login.registrytoken)


def _key(name: str) -> str:
    """Host, and path if there is one, of an entry; Docker writes some as addresses with a version."""
    text = name.removeprefix("https://").removeprefix("http://").rstrip("/")
    host, slash, path = text.partition("/")
    path = re.sub(r"^v[12]$", "", path)
    return registry_name(host) + (f"/{path}" if slash and path else "")


def _matches(key: str, repository: Repository) -> bool:
    host, slash, path = key.partition("/")
    if not _host_matches(host, repository.registry):
        return False
    return not slash or repository.name == path or repository.name.startswith(f"{path}/")


def _host_matches(pattern: str, host: str) -> bool:
    """A `*` stands for (a part of) one label of the host, as in the kubelet's rules."""
    if "*" not in pattern:
        return pattern == host
    wanted, _, port = pattern.partition(":")
    given, _, given_port = host.partition(":")
    labels, found = wanted.split("."), given.split(".")
    if port != given_port or len(labels) != len(found):
        return False
    return all(re.fullmatch(translate(label), part) for label, part in zip(labels, found, strict=True))
