"""Who we are to an API server: tokens that stay, tokens that rotate, and programs that hand them out."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from penstock.kube.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_RECHECK = 60.0
"""Seconds a token file is trusted before it is read again; kubelets rotate it long before it expires."""

PLUGIN_TIMEOUT = 60.0
EXPIRY_MARGIN = 30.0
"""Seconds before its expiry at which a credential is fetched anew, so that it cannot expire in flight."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What is sent with a request, and the client certificate for the connection under it."""

    authorization: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    fresh_until: float = float("inf")
    """Monotonic time after which it must be fetched again."""

    def __post_init__(self) -> None:
        if self.authorization is not None and not self.authorization.isprintable():
            raise ConfigError("the token has line breaks or other characters that cannot be sent")

    @property
    def fresh(self) -> bool:
        return time.monotonic() < self.fresh_until


class Credentials(Protocol):
    """A place that credentials come from."""

    async def fetch(self) -> Credential: ...


@dataclass(frozen=True, slots=True)
class Static:
    """A credential that never changes; no credential at all is one of these."""

    credential: Credential = Credential()

    async def fetch(self) -> Credential:
        return self.credential


def bearer(token: str) -> Static:
    return Static(Credential(authorization=f"Bearer {token.strip()}"))


def basic(username: str, password: str) -> Static:
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return Static(Credential(authorization=f"Basic {pair}"))


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token that somebody else keeps fresh in a file, as a kubelet does in a pod."""

    path: Path

    async def fetch(self) -> Credential:
        try:
            token = (await asyncio.to_thread(self.path.read_text)).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the token file {self.path}: {error}") from error
        if not token:
            raise ConfigError(f"the token file {self.path} is empty")
        return Credential(authorization=f"Bearer {token}", fresh_until=time.monotonic() + FILE_RECHECK)


class _PluginStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _PluginAnswer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: Literal["ExecCredential"]
    status: _PluginStatus = _PluginStatus()


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program that prints an ExecCredential (`users[].user.exec` in a kubeconfig)."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    cluster_info: Mapping[str, object] | None = field(default=None, repr=False)
    """What is passed on about the cluster when the kubeconfig says `provideClusterInfo`."""
    hint: str = ""

    async def fetch(self) -> Credential:
        answer = self._decode(await self._run())
        status = answer.status
        if not status.token and status.client_certificate_data is None:
            raise ConfigError(f"the credential plugin {self.command!r} gave neither a token nor a certificate")
        if (status.client_certificate_data is None) != (status.client_key_data is None):
            raise ConfigError(f"the credential plugin {self.command!r} gave a certificate without its key")
        return Credential(
            authorization=f"Bearer {status.token.strip()}" if status.token else None,
            certificate=_encode(status.client_certificate_data),
            key=_encode(status.client_key_data),
            fresh_until=_fresh_until(status.expiration_timestamp),
        )

    async def _run(self) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.arguments,
                env={**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": self._info()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            hint = f" {self.hint.strip()}" if self.hint else ""
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ConfigError(f"cannot start the credential plugin {self.command!r}: {reason}.{hint}") from error
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT):
                output, complaint = await process.communicate()
        except TimeoutError as error:
            raise ConfigError(
                f"the credential plugin {self.command!r} gave no answer in {PLUGIN_TIMEOUT:.0f}s"
            ) from error
        finally:
            if process.returncode is None:
                # Its children too: one that keeps the pipes open would keep us waiting.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            said = complaint.decode(errors="replace").strip()[-300:]
            raise ConfigError(
                f"the credential plugin {self.command!r} failed with exit code {process.returncode}: {said}"
            )
        return output

    def _info(self) -> str:
        spec: dict[str, object] = {"interactive": False}
        if self.cluster_info is not None:
            spec["cluster"] = self.cluster_info
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _decode(self, output: bytes) -> _PluginAnswer:
        try:
            answer = msgspec.json.decode(output, type=_PluginAnswer)
        except msgspec.DecodeError as error:
            # The text itself may hold a token: only the place is told.
            raise ConfigError(f"the credential plugin {self.command!r} printed no ExecCredential: {error}") from None
        if answer.api_version != self.api_version:
            raise ConfigError(
                f"the credential plugin {self.command!r} answered in {answer.api_version}, "
                f"but the kubeconfig asks for {self.api_version}"
            )
        return answer


def _encode(pem: str | None) -> bytes | None:
    return pem.encode() if pem is not None else None


def _fresh_until(expiry: datetime | None) -> float:
    if expiry is None:
        return float("inf")
    remaining = expiry.timestamp() - time.time()
    # A token that lives shorter than the margin is still worth a few requests.
    return time.monotonic() + max(remaining - EXPIRY_MARGIN, remaining / 2)
