"""What `git` needs to call a repository: the login, whom to trust, which way to go.

Over HTTP the login is configuration in the environment, certificates are memory files, and the host is pinned to an
address that was looked at. Over SSH an agent in this process signs, and only hosts of the Secret's `known_hosts` are
talked to.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import ssl
import tempfile
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sources.git.agent import Agent
from penstock.sources.git.guard import check_literal, looked_up
from penstock.sources.git.memory import in_memory
from penstock.sources.git.program import Setting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.sources.git.credentials import Credentials
    from penstock.sources.git.listing import Place

_CONNECT_SECONDS = 30


@asynccontextmanager
async def calling(place: Place) -> AsyncGenerator[Setting]:
    """The setting in which `git` reaches a place; secrets in it are gone with the block."""
    scheme = place.address.scheme
    if scheme == "file":
        yield Setting(protocol="file")
    elif scheme == "ssh":
        async with _over_ssh(place) as setting:
            yield setting
    else:
        async with _over_http(place) as setting:
            yield setting


@asynccontextmanager
async def _over_http(place: Place) -> AsyncGenerator[Setting]:
    address, credentials = place.address, place.credentials
    configuration = {"http.proxy": place.proxy.url_with_login if place.proxy else ""}
    if place.proxy is None:
        _, host, port = address.origin
        check_literal(host)
        configuration["http.curloptResolve"] = f"{host}:{port}:{await looked_up(host, port)}"
    if credentials.authorization:
        configuration["http.extraHeader"] = f"Authorization: {credentials.authorization}"
    with ExitStack() as stack:
        files = await asyncio.to_thread(_opened, credentials, stack)
        configuration |= {key: f"/proc/self/fd/{descriptor}" for key, descriptor in files.items()}
        yield Setting(configuration=configuration, descriptors=tuple(files.values()), protocol=address.scheme)


def _opened(credentials: Credentials, stack: ExitStack) -> dict[str, int]:
    """Certificates as memory files, by the setting that names them."""
    contents: dict[str, bytes] = {}
    if credentials.authority:
        system = ssl.get_default_verify_paths()
        bundle = Path(system.cafile or system.openssl_cafile)
        own = bundle.read_bytes() if bundle.is_file() else b""
        contents["http.sslCAInfo"] = own + b"\n" + credentials.authority
    if credentials.certificate:
        contents["http.sslCert"] = credentials.certificate
        contents["http.sslKey"] = credentials.certificate_key
    return {key: stack.enter_context(in_memory(content)) for key, content in contents.items()}


@asynccontextmanager
async def _over_ssh(place: Place) -> AsyncGenerator[Setting]:
    key = await asyncio.to_thread(place.credentials.signing_key)
    folder = await asyncio.to_thread(_prepared, place)
    try:
        async with Agent(key).serving(folder / "agent"):
            variables = {
                # Git gives this to a shell, so it holds nothing but a path of ours.
                "GIT_SSH_COMMAND": f"ssh -F {shlex.quote(str(folder / 'config'))}",
                "GIT_SSH_VARIANT": "ssh",
                "SSH_AUTH_SOCK": str(folder / "agent"),
            }
            yield Setting(environment=variables, protocol="ssh")
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


def _prepared(place: Place) -> Path:
    """A folder of our own with what `ssh` has to read; there is no secret in it."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-"))
    known_hosts = folder / "known_hosts"
    known_hosts.write_bytes(place.credentials.known_hosts)
    user = place.address.user or "git"
    quoted = str(known_hosts).replace("%", "%%")
    lines = [
        "Host *",
        f"  User {user}",
        f'  UserKnownHostsFile "{quoted}"',
        "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes",
        "  UpdateHostKeys no",
        "  BatchMode yes",
        "  PreferredAuthentications publickey",
        "  IdentityFile none",
        "  AddKeysToAgent no",
        "  ForwardAgent no",
        "  ForwardX11 no",
        "  PermitLocalCommand no",
        "  ControlMaster no",
        "  ControlPath none",
        f"  ConnectTimeout {_CONNECT_SECONDS}",
        "  ServerAliveInterval 15",
    ]
    if place.algorithms.key_exchange:
        lines.append(f"  KexAlgorithms {','.join(place.algorithms.key_exchange)}")
    if place.algorithms.host_key:
        lines.append(f"  HostKeyAlgorithms {','.join(place.algorithms.host_key)}")
    (folder / "config").write_text("\n".join(lines) + "\n")
    return folder
