"""Who this process is to a cloud: keys and tokens of its own surroundings, through the clouds' SDKs (extras).

Everything here blocks. The errors of SDKs may quote requests, so only their names go on.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.sources.sigv4 import Keys

if TYPE_CHECKING:
    from collections.abc import Callable

_GOOGLE_SECONDS = 600
"""How long a token of Google is believed; a server of metadata hands out the same one until shortly before its end."""


class NoIdentity(PenstockError):
    """The surroundings say nothing of who we are, or the cloud does not believe it."""


@dataclass(frozen=True, slots=True, repr=False)
class Token:
    """A word that opens doors until a time, in seconds since 1970."""

    word: str
    ends: float


def amazon_keys() -> Keys:
    """The keys of the environment, of a web identity, or of the machine."""
    boto3 = sdk("boto3", "aws")
    found = asked(lambda: boto3.Session().get_credentials())
    if found is None:
        raise NoIdentity("there are no credentials for this process")
    frozen = asked(found.get_frozen_credentials)
    return Keys(frozen.access_key, frozen.secret_key, frozen.token or "")


def google_token(scope: str) -> Token:
    """A token of the application's default credentials."""
    auth, transport = sdk("google.auth", "gcp"), sdk("google.auth.transport.requests", "gcp")

    def ask() -> Any:
        credentials: Any = auth.default(scopes=[scope])[0]
        credentials.refresh(transport.Request())
        return credentials.token

    return Token(str(asked(ask)), time.time() + _GOOGLE_SECONDS)


def azure_token(scope: str) -> Token:
    """A token of the environment, of the workload's identity, or of the machine's."""
    identity = sdk("azure.identity", "azure")

    def ask() -> Any:
        # Without the programs and developers' tools that the default chain would ask.
        chain: list[Any] = [identity.EnvironmentCredential()]
        if os.environ.get("AZURE_FEDERATED_TOKEN_FILE"):
            chain.append(identity.WorkloadIdentityCredential())
        return identity.ChainedTokenCredential(*chain, identity.ManagedIdentityCredential()).get_token(scope)

    token = asked(ask)
    return Token(str(token.token), float(token.expires_on))


def sdk(name: str, extra: str) -> Any:
    """A module of an SDK, which is there only with its extra."""
    if find_spec(name.partition(".")[0]) is None or find_spec(name) is None:
        raise NoIdentity(f"the provider '{extra}' needs the extra '{extra}': pip install 'penstock[{extra}]'")
    return import_module(name)


def asked(ask: Callable[[], Any]) -> Any:
    """What an SDK answers."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - each SDK has its own family of errors
        code = getattr(error, "response", {}).get("Error", {}).get("Code")
        raise NoIdentity(f"the cloud gave no login: {code or type(error).__name__}") from None
