"""A running embedded cluster: store, engine, neighbours and HTTP put together."""

from __future__ import annotations

import asyncio
import importlib
import socket
import tempfile
import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.embedded.kinds.decode import decode
from penstock.embedded.schema import builtin_resources, builtin_schema
from penstock.embedded.server.api import Engine
from penstock.embedded.server.app import App
from penstock.embedded.server.keys import Keys, keys_of, write_kubeconfig
from penstock.embedded.server.listen import listening
from penstock.embedded.server.ports import Context, Plugin
from penstock.embedded.storage import Retention, Storage
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.kube import Client, Settings

HOST = "127.0.0.1"
KUBECONFIG = "kubeconfig"
ISSUER = "https://kubernetes.default.svc.cluster.local"
NEIGHBOURS = ("lifecycle", "kinds", "access", "definitions", "tables", "workloads")
"""In the order in which their admission is asked."""


class ClusterError(PenstockError):
    """The embedded cluster cannot be started or reached."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An embedded cluster that runs; everything one needs to use it."""

    server: str
    """Its address, `https://127.0.0.1:<port>`."""
    kubeconfig: Path
    """A kubeconfig of the admin, readable by this user only."""
    authority: bytes = field(repr=False)
    """PEM of the certificate that signed the server's."""
    token: str = field(repr=False)
    """The admin's bearer token."""
    engine: Engine = field(repr=False)
    """The server from inside, for tests that turn its screws."""

    @property
    def settings(self) -> Settings:
        """What `penstock.kube.connect` needs to reach it as admin."""
        from penstock.kube.credentials import Credential, Static
        from penstock.kube.settings import Settings

        return Settings(
            server=self.server,
            origin="the embedded cluster",
            authority=self.authority,
            credentials=Static(Credential(authorization=f"Bearer {self.token}")),
        )

    def client(self) -> AbstractAsyncContextManager[Client]:
        """A client with the admin's rights: `async with cluster.client() as client:`."""
        from penstock.kube import connect

        return connect(self.settings)


@asynccontextmanager
async def cluster(
    *,
    data_dir: Path | None = None,
    home: Path | None = None,
    port: int = 0,
    workloads: bool = True,
    controllers: bool = True,
    fsync: bool = False,
    retention: Retention | None = None,
    clock: Callable[[], float] = time.time,
) -> AsyncGenerator[Cluster]:
    """An embedded cluster, ready to use; without `data_dir` all is in memory and gone at the end.

    Keys and kubeconfig lie in `home`: by default the data directory, or a temporary one.
    Without `workloads`, Deployments and the like stay as they were written. Without `controllers`, nothing acts on
    its own but the API server itself, as when the controller-manager is down: custom resources are still served.
    `fsync` makes it survive a power cut.
    """
    async with AsyncExitStack() as opened:
        made = await asyncio.to_thread(_prepare, home or data_dir, port)
        opened.push_async_callback(asyncio.to_thread, made.release)
        store = Storage(data_dir, fsync=fsync, retention=retention)
        opened.push_async_callback(store.close)
        await store.open()
        engine = Engine(store, address=made.address, clock=clock)
        await asyncio.to_thread(_install, engine, made.keys, workloads=workloads and controllers)
        plugins = engine.plugins
        for startup in plugins.startup:
            await startup(engine)
        async with asyncio.TaskGroup() as group, listening(App(engine), made.listener, made.keys):
            # The door opens first: what runs beside the requests can wait for its turn.
            running = [*plugins.background, *(plugins.controllers if controllers else ())]
            tasks = [group.create_task(run(engine)) for run in running]
            yield Cluster(
                f"https://{made.address}", made.home / KUBECONFIG, made.keys.authority, made.keys.token, engine
            )
            for task in tasks:
                task.cancel()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a cluster needs before it runs; made and released outside the event loop."""

    listener: socket.socket
    home: Path
    keys: Keys
    temporary: tempfile.TemporaryDirectory[str] | None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.listener.getsockname()[1]}"

    def release(self) -> None:
        self.listener.close()
        if self.temporary is not None:
            self.temporary.cleanup()


def _prepare(chosen: Path | None, port: int) -> Prepared:
    _read_tables()
    listener = _bind(port)
    temporary = tempfile.TemporaryDirectory(prefix="penstock-cluster-") if chosen is None else None
    home = chosen if chosen is not None else Path(temporary.name if temporary else "")
    try:
        made = Prepared(listener, home, keys_of(home), temporary)
        write_kubeconfig(home / KUBECONFIG, f"https://{made.address}", made.keys)
    except BaseException:
        listener.close()
        raise
    return made


def _read_tables() -> None:
    """Read the generated tables once, here: files are not to be read in the event loop."""
    builtin_resources()
    builtin_schema("v1", "ConfigMap")
    decode({"apiVersion": "v1", "kind": "ConfigMap"})


def _install(engine: Engine, keys: Keys, *, workloads: bool) -> None:
    context = Context(
        api=engine,
        admin_token=keys.token,
        authority=keys.authority,
        signing_key=keys.signing_key,
        issuer=ISSUER,
        now=engine.clock,
    )
    for name in NEIGHBOURS:
        if name == "workloads" and not workloads:
            continue
        install: Plugin = importlib.import_module(f"penstock.embedded.{name}").install
        install(engine.plugins, context)


def _bind(port: int) -> socket.socket:
    # With the protocol named, asyncio sends at once; without it an answer of two pieces takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise ClusterError(
            f"port {port} of {HOST} cannot be used: {error.strerror}; choose another with --port"
        ) from error
    listener.setblocking(False)
    return listener
