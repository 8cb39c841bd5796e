"""The Kubernetes service account on whose behalf a cloud or a Vault is asked."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.sops.errors import DataKeyError, KeyFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")


def quiet(*loggers: str) -> None:
    """Keep a library from logging what it sends and gets, whatever the level of the root logger."""
    for name in loggers:
        logger = logging.getLogger(name)
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)


class ServiceAccounts(Protocol):
    """What is needed of the cluster: tokens and annotations of service accounts."""

    async def token(self, namespace: str, name: str, audience: str) -> str:
        """A fresh token for an audience."""
        ...

    async def annotations(self, namespace: str, name: str) -> Mapping[str, str]:
        """The annotations; an error when there is no such service account."""
        ...


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """One service account; an odd name is an error and never the controller's own identity."""

    accounts: ServiceAccounts
    namespace: str
    name: str

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise KeyFileError(f"{self.name!r} is not the name of a service account")

    @property
    def session_name(self) -> str:
        """A name for audit logs, of at most 64 characters."""
        return f"{self.name}.{self.namespace}"[:64]

    async def token(self, audience: str) -> str:
        return await self.accounts.token(self.namespace, self.name, audience)

    async def annotation(self, name: str) -> str:
        """The value of an annotation that must be there."""
        value = (await self.accounts.annotations(self.namespace, self.name)).get(name)
        if not value:
            raise DataKeyError(f"the service account {self.namespace}/{self.name} has no annotation {name}")
        return value
