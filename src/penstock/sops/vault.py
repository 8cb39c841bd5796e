"""HashiCorp Vault's (or OpenBao's) transit engine, over plain HTTP.

The address of the server comes from the encrypted file, which may be hostile: a redirect is never followed, a path
never climbs, and an allowlist says where the operator's own token may go.
"""

from __future__ import annotations

import asyncio
import binascii
import os
import re
import ssl
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.sops.errors import DataKeyError
from penstock.sops.keys import VaultKey

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from penstock.sops.keys import MasterKey

_SECONDS = 30
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]-]+/?\Z")
_PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*\Z")
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class VaultService:
    """Opens and seals data keys with a token that `token` gives for an address."""

    token: Callable[[str], Awaitable[str]]
    namespace: str = ""
    ca_file: str = ""

    async def open(self, key: MasterKey) -> bytes:
        path = _path(key, "decrypt")
        try:
            answer = await self._write(key, path, {"ciphertext": key.enc})
            return binascii.a2b_base64(_text(answer, "plaintext"))
        except (DataKeyError, ValueError) as error:
            raise DataKeyError(
                f"failed to decrypt sops data key from Vault transit backend '{path}': {error}"
            ) from error

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        path = _path(key, "encrypt")
        try:
            plain = binascii.b2a_base64(data_key, newline=False).decode()
            return _text(await self._write(key, path, {"plaintext": plain}), "ciphertext")
        except DataKeyError as error:
            raise DataKeyError(f"failed to encrypt sops data key to Vault transit backend '{path}': {error}") from error

    async def _write(self, key: MasterKey, path: str, body: Mapping[str, str]) -> dict[str, Any]:
        address = key.vault_address if isinstance(key, VaultKey) else ""
        headers = {"X-Vault-Token": await self.token(address), "X-Vault-Request": "true"}
        if self.namespace:
            headers["X-Vault-Namespace"] = self.namespace
        answer = await write(address, path, body, headers, ca_file=self.ca_file)
        data = answer.get("data")
        if not isinstance(data, dict):
            raise DataKeyError("the answer has no data")
        return data


async def write(
    address: str, path: str, body: Mapping[str, str], headers: Mapping[str, str], *, ca_file: str = ""
) -> dict[str, Any]:
    """What Vault answers to a write; DataKeyError, with no word of what was sent or came back, when it refuses."""
    if not _ADDRESS.match(address):
        raise DataKeyError(f"{address!r} is not the address of a Vault server")
    url = f"{address.rstrip('/')}/v1/{path}"
    aiohttp: Any = sys.modules.get("aiohttp") or await asyncio.to_thread(import_module, "aiohttp")
    context = await asyncio.to_thread(ssl.create_default_context, cafile=ca_file) if ca_file else True
    try:
        async with (
            asyncio.timeout(_SECONDS),
            aiohttp.ClientSession(trust_env=True) as session,
            session.put(url, json=dict(body), headers=dict(headers), ssl=context, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise DataKeyError(f"{address} answered {response.status}")
            if (response.content_length or 0) > _LARGEST:
                raise DataKeyError(f"{address} answered with far too much")
            answer = await response.json()
    except TimeoutError:
        raise DataKeyError(f"{address} gave no answer in {_SECONDS} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise DataKeyError(f"{address} cannot be reached ({type(error).__name__})") from None
    return answer if isinstance(answer, dict) else {}


def static_token(token: str) -> Callable[[str], Awaitable[str]]:
    """The same token for every address: it belongs to whoever wrote the file."""

    async def give(_: str) -> str:
        return token

    return give


def environment_token(environment: Mapping[str, str] = os.environ) -> Callable[[str], Awaitable[str]]:
    """The operator's own token, for the addresses the operator allows.

    They are those of SOPS_HC_VAULT_ALLOWLIST (`all` and `none` have a meaning), else VAULT_ADDR, else any.
    """
    token = environment.get("VAULT_TOKEN", "").strip()
    listed = environment.get("SOPS_HC_VAULT_ALLOWLIST") or environment.get("VAULT_ADDR") or "all"
    allowed = {address.strip().rstrip("/") for address in listed.split(",")}

    async def give(address: str) -> str:
        if not token:
            raise DataKeyError("no Vault token is at hand")
        if allowed != {"all"} and address.rstrip("/") not in allowed:
            raise DataKeyError(f"the controller's Vault token is not for {address}")
        return token

    return give


def _path(key: MasterKey, verb: str) -> str:
    if not isinstance(key, VaultKey):
        raise DataKeyError("must provide a key of the kind hc_vault")
    path = f"{key.engine_path.strip('/')}/{verb}/{key.key_name}"
    if not _PATH.match(path) or ".." in path.split("/") or "." in path.split("/"):
        raise DataKeyError(f"{key.engine_path!r} and {key.key_name!r} do not name a key of a transit engine")
    return path


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str):
        raise DataKeyError(f"the answer has no {name}")
    return value
