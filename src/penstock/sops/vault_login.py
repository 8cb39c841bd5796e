"""A Vault token for a service account: its Kubernetes token, exchanged at a login path that the operator configured."""

from __future__ import annotations

import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
import yaml

from penstock.sops import vault
from penstock.sops.errors import DataKeyError, KeyFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sops.identity import ServiceAccount

_SUBJECT = "system:serviceaccount:"


@dataclass(slots=True)
class VaultLogin:
    """Logs in once per address and remembers the token; an address that is not configured gets none."""

    paths: Mapping[str, str]
    config_map: str
    account: ServiceAccount
    tokens: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    async def __call__(self, address: str) -> str:
        if address not in self.tokens:
            self.tokens[address] = await self._login(address)
        return self.tokens[address]

    async def _login(self, address: str) -> str:
        path = self.paths.get(address)
        if not path:
            raise DataKeyError(
                f"no Vault login path configured for address '{address}' in ConfigMap '{self.config_map}'"
            )
        jwt = await self.account.token(address)
        answer = await vault.write(address, path, {"role": role(jwt), "jwt": jwt}, {"X-Vault-Request": "true"})
        auth = answer.get("auth")
        token = auth.get("client_token") if isinstance(auth, dict) else None
        if not isinstance(token, str) or not token:
            raise DataKeyError(f"Vault '{address}' returned no token for login at '{path}'")
        return token


def login_paths(data: Mapping[str, str], config_map: str) -> dict[str, str]:
    """The login path of each Vault server, from the entry `config.yaml` of the operator's ConfigMap."""
    if "config.yaml" not in data:
        raise KeyFileError(f"Vault ConfigMap '{config_map}' is missing the 'config.yaml' key")
    try:
        config: Any = yaml.safe_load(data["config.yaml"])
        return {str(entry["address"]): str(entry["loginPath"]) for entry in config["instances"]}
    except (yaml.YAMLError, TypeError, KeyError):
        raise KeyFileError(f"failed to parse 'config.yaml' in Vault ConfigMap '{config_map}'") from None


def role(jwt: str) -> str:
    """The Vault role of a service account, `<namespace>_<name>`, from the subject of its token."""
    try:
        _, payload, _ = jwt.split(".")
        claims = orjson.loads(binascii.a2b_base64(payload.replace("-", "+").replace("_", "/") + "=="))
        namespace, name = claims["sub"].removeprefix(_SUBJECT).split(":")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataKeyError("the service account token names no service account") from None
    if not claims["sub"].startswith(_SUBJECT) or not namespace or not name:
        raise DataKeyError("the service account token names no service account")
    return f"{namespace}_{name}"
