"""Three programs that together are a Kubernetes API, in a temporary folder, on loopback."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from tests.controlplane import credentials, flags
from tests.controlplane.build import build
from tests.controlplane.probes import probes
from tests.controlplane.process import Process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from tests.controlplane.credentials import Credentials

KUBECTL_WITHIN = 60.0


class KubectlError(PenstockError):
    """kubectl said no; the sentence is its own."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane; every program of it can be stopped, killed and started alone."""

    folder: Path
    program: Path
    server: str
    credentials: Credentials
    etcd: Process
    apiserver: Process
    controllers: Process
    """kube-controller-manager; does not run when the plane was asked for without controllers."""

    @property
    def kubeconfig(self) -> Path:
        return self.credentials.kubeconfig

    @property
    def token(self) -> str:
        """The bearer token of an admin in `system:masters`."""
        return self.credentials.token

    @property
    def ca(self) -> Path:
        """The file with the certificate of the authority that signed the API server's certificate."""
        return self.credentials.ca

    @property
    def processes(self) -> tuple[Process, Process, Process]:
        return (self.controllers, self.apiserver, self.etcd)

    async def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run the kubectl that is part of the program, as admin; what it prints, or `KubectlError`."""
        process = await asyncio.create_subprocess_exec(
            str(self.program),
            "kubectl",
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.folder / 'kubectl'}",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(KUBECTL_WITHIN):
                out, err = await process.communicate(None if stdin is None else stdin.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {err.decode(errors='replace').strip()}")
        return out.decode()


@asynccontextmanager
async def controlplane(
    *, controllers: bool = True, fsync: bool = False, apiserver_flags: Sequence[str] = ()
) -> AsyncGenerator[ControlPlane]:
    """Start a control plane, ready to use; at the end everything it stored is gone.

    Without controllers nothing makes service accounts, so no pod can be created. Without fsync what was
    written survives a killed etcd, but not a machine that loses its power. `apiserver_flags` come after our
    own and win. When it does not start, its folder stays, for the logs.
    """
    program = await asyncio.to_thread(build)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="controlplane-"))
    with _reserved_port() as etcd_port, _reserved_port() as port:
        etcd, server = f"http://{_address(etcd_port)}", f"https://{_address(port)}"
        made = await asyncio.to_thread(credentials.issue, folder / "credentials", server)
        async with probes(made, etcd=etcd, server=server) as asked:
            plane = ControlPlane(
                folder=folder,
                program=program,
                server=server,
                credentials=made,
                etcd=Process(
                    "etcd",
                    flags.etcd(program, data=folder / "etcd", address=etcd, fsync=fsync),
                    log=folder / "etcd.log",
                    ready=asked.etcd,
                ),
                apiserver=Process(
                    "kube-apiserver",
                    [*flags.apiserver(program, made, etcd=etcd, server=server), *apiserver_flags],
                    log=folder / "kube-apiserver.log",
                    ready=asked.apiserver,
                ),
                controllers=Process(
                    "kube-controller-manager",
                    flags.controllers(program, made),
                    log=folder / "kube-controller-manager.log",
                    ready=asked.controllers,
                    before=asked.forget_controllers,
                ),
            )
            async with _running(plane, controllers=controllers):
                yield plane
    await asyncio.to_thread(shutil.rmtree, folder)


@asynccontextmanager
async def _running(plane: ControlPlane, *, controllers: bool) -> AsyncGenerator[None]:
    """etcd and the API server start side by side; controllers would only wait longer if they did too."""
    try:
        await plane.etcd.launch()
        await plane.apiserver.start()
        if controllers:
            await plane.controllers.start()
        yield
    finally:
        await asyncio.gather(*(process.kill() for process in plane.processes))


def _reserved_port() -> socket.socket:
    """A free port that stays ours, also while the program behind it is down.

    The socket is bound and never listens. The programs share the port with it (SO_REUSEPORT), and nobody else
    gets it.
    """
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def _address(holder: socket.socket) -> str:
    host, port = holder.getsockname()
    return f"{host}:{port}"
