"""Logging in to the repositories of clouds as this process: CodeCommit by a signature, Azure DevOps by a token."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from penstock.sources.git.credentials import Credentials, Lease
from penstock.sources.git.errors import LoginFailed, ProviderUnusable
from penstock.sources.identity import NoIdentity, amazon_keys, azure_token
from penstock.sources.sigv4 import Scope, signature

if TYPE_CHECKING:
    from penstock.sources.git.address import Address
    from penstock.sources.sigv4 import Keys

Cloud = Literal["aws", "azure"]

_CODECOMMIT = re.compile(r"git-codecommit(?:-fips)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
_AZURE = re.compile(r"dev\.azure\.com|[a-z0-9-]+\.visualstudio\.com")
_VALID = 900  # seconds in which CodeCommit takes a signature
_DEVOPS = "499b84ac-1321-427f-aa17-267ca6975798/.default"


@dataclass(frozen=True, slots=True)
class CloudLogin:
    """A repository of a cloud; `given` is what the Secret adds, such as the certificate of an authority."""

    cloud: Cloud
    address: Address
    given: Credentials = field(default_factory=Credentials, repr=False)

    def __post_init__(self) -> None:
        """Refuse other hosts: who may write a URL must not be able to have our login sent to a place of their own."""
        if self.address.scheme != "https":
            raise ProviderUnusable(f"the provider '{self.cloud}' needs an https URL")
        hosts, service = (_CODECOMMIT, "CodeCommit") if self.cloud == "aws" else (_AZURE, "Azure DevOps")
        if not hosts.fullmatch(self.address.host.lower()):
            raise ProviderUnusable(f"'{self.address.host}' is not a host of {service}")

    @property
    def identity(self) -> str:
        """Where the login is good: a signature for one repository, a token for all of DevOps."""
        place = self.address.url if self.cloud == "aws" else ""
        return f"{self.cloud}\n{place}\n{self.given.fingerprint}"


async def lease(login: CloudLogin, now: float) -> Lease:
    """A new login."""
    try:
        if login.cloud == "azure":
            token = await asyncio.to_thread(azure_token, _DEVOPS)
            return Lease(_given(login, bearer=token.word), token.ends)
        keys = await asyncio.to_thread(amazon_keys)
    except NoIdentity as error:
        raise LoginFailed(str(error)) from error
    username, password = codecommit(login.address, keys, datetime.fromtimestamp(now, UTC))
    return Lease(_given(login, username=username, password=password), now + _VALID)


def _given(login: CloudLogin, *, username: str = "", password: str = "", bearer: str = "") -> Credentials:
    return replace(login.given, username=username, password=password, bearer=bearer, application=login.identity)


def codecommit(address: Address, keys: Keys, now: datetime) -> tuple[str, str]:
    """User and password for a repository: a signed request that is never sent in this form."""
    found = _CODECOMMIT.fullmatch(address.host.lower())
    scope = Scope(now.strftime("%Y%m%dT%H%M%S"), found["region"] if found else "", "codecommit")
    canonical = f"GIT\n{address.path}\n\nhost:{address.authority}\n\nhost\n"
    user = f"{keys.access_key}%{keys.session_token}" if keys.session_token else keys.access_key
    return user, f"{scope.stamp}Z{signature(canonical, scope, keys)}"
