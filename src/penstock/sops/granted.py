"""A service account as plain data: what clouds may want of it is asked beforehand, and travels to where files are read.

A build runs in a process without a way to the cluster. Which clouds an account can be used with stands in its
annotations, and each wants a token for one audience.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.sops.errors import DataKeyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sops.identity import ServiceAccount

AWS = "eks.amazonaws.com/role-arn"
AZURE = "azure.workload.identity/client-id"
GCP = "gcp.auth.fluxcd.io/workload-identity-provider"


@dataclass(frozen=True, slots=True)
class Granted:
    """Answers for one service account; for every other there is no answer."""

    namespace: str
    name: str
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The annotations."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """By audience."""
    trouble: str = ""
    """Why something is missing; told only when it is needed."""

    async def token(self, namespace: str, name: str, audience: str) -> str:
        self._check(namespace, name)
        if audience not in self.tokens:
            raise DataKeyError(self.trouble or f"the service account {namespace}/{name} has no token for {audience}")
        return self.tokens[audience]

    async def annotations(self, namespace: str, name: str) -> Mapping[str, str]:
        self._check(namespace, name)
        if not self.known and self.trouble:
            raise DataKeyError(self.trouble)
        return self.known

    def _check(self, namespace: str, name: str) -> None:
        if (namespace, name) != (self.namespace, self.name):
            raise DataKeyError(f"nothing was asked for the service account {namespace}/{name}")


def audiences(annotations: Mapping[str, str]) -> list[str]:
    """For whom tokens are needed, by what the annotations say."""
    found = []
    if annotations.get(AWS):
        found.append("sts.amazonaws.com")
    if annotations.get(AZURE):
        found.append("api://AzureADTokenExchange")
    if provider := annotations.get(GCP):
        found.append(f"//iam.googleapis.com/{provider}")
    return found


async def grant(account: ServiceAccount) -> Granted:
    """Ask for everything that may be wanted of an account; what cannot be had fails only who needs it."""
    place = (account.namespace, account.name)
    tokens: dict[str, str] = {}
    known: Mapping[str, str] = {}
    try:
        known = await account.accounts.annotations(*place)
        for audience in audiences(known):
            tokens[audience] = await account.token(audience)
    except PenstockError as error:
        return Granted(*place, known=known, tokens=tokens, trouble=str(error))
    return Granted(*place, known=known, tokens=tokens)
