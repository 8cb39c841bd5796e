"""Whose rights a request is made with.

An API server answers an empty `Impersonate-User` header with the caller's own rights. So an identity that is
empty or odd never becomes a header: it cannot even be built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.kube.errors import ConfigError

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class BadIdentity(ConfigError):
    """An identity that must not be used, not even to try."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and groups to impersonate."""

    user: str
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, value in (("user", self.user), *(("group", group) for group in self.groups)):
            if not value or value != value.strip() or not value.isprintable():
                raise BadIdentity(f"cannot impersonate the {what} {value!r}: it is empty or has odd characters")

    @classmethod
    def service_account(cls, namespace: str, name: str) -> Identity:
        """The identity of a service account.

        Both names must be what Kubernetes would accept: a colon or a slash in one of them would name
        somebody else. Its groups are left to the API server, which adds them by itself; to send them would
        need the right to impersonate groups.
        """
        if not _DNS_LABEL.fullmatch(namespace):
            raise BadIdentity(f"cannot impersonate a service account of namespace {namespace!r}: not a namespace name")
        if len(name) > 253 or not _DNS_NAME.fullmatch(name):
            raise BadIdentity(f"cannot impersonate the service account {name!r}: not a service account name")
        return cls(f"system:serviceaccount:{namespace}:{name}")

    def headers(self) -> list[tuple[str, str]]:
        return [("Impersonate-User", self.user), *(("Impersonate-Group", group) for group in self.groups)]
