"""An engine with its neighbours and no HTTP: everything that a test of the neighbours needs, in milliseconds."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from penstock.embedded import access, definitions, lifecycle, tables, workloads
from penstock.embedded.kinds.decode import decode
from penstock.embedded.schema import builtin_schema
from penstock.embedded.server.api import Engine
from penstock.embedded.server.ports import Context
from penstock.embedded.storage import Storage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.embedded.server.ports import Plugin, ServedResource
    from penstock.kube.resources import Object

ADMIN_TOKEN = "admin-token"
ISSUER = "https://kubernetes.default.svc"
KEY = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
AUTHORITY = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
ALL: tuple[Plugin, ...] = (
    access.install,
    lifecycle.install,
    definitions.install,
    tables.install,
    workloads.install,
)
CONTROLLERS = ALL[:4]
"""Everything but the workloads."""

# Read while no event loop runs: a server reads its tables before it serves, too.
builtin_schema("v1", "ConfigMap")
decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})


@asynccontextmanager
async def running(
    *installs: Plugin, clock: Callable[[], float] = time.time, background: bool = True
) -> AsyncGenerator[Engine]:
    """An engine that runs with these neighbours, by default with all."""
    store = Storage()
    await store.open()
    engine = Engine(store, clock=clock)
    context = Context(
        api=engine, admin_token=ADMIN_TOKEN, authority=AUTHORITY, signing_key=KEY, issuer=ISSUER, now=clock
    )
    for install in installs or ALL:
        install(engine.plugins, context)
    for startup in engine.plugins.startup:
        await startup(engine)
    async with asyncio.TaskGroup() as group:
        chosen = [*engine.plugins.background, *engine.plugins.controllers] if background else []
        tasks = [group.create_task(task(engine)) for task in chosen]
        yield engine
        for task in tasks:
            task.cancel()
    await store.close()


def resource(engine: Engine, kind: str) -> ServedResource:
    """A resource by its kind, as `Deployment` or `Wid.test.io`."""
    name, _, group = kind.partition(".")
    known = [each for each in engine.catalog.resources() if each.kind == name and each.group.startswith(group)]
    found = next((each for each in known if each.group != "events.k8s.io" and "get" in each.verbs), None)
    assert found is not None, f"{kind} is not served"
    return found


async def create(engine: Engine, kind: str, name: str, **parts: Any) -> Object:
    """A new object in the namespace `default`; `metadata` in `parts` adds to name and namespace."""
    served = resource(engine, kind)
    metadata = {"name": name, **({"namespace": "default"} if served.namespaced else {}), **parts.pop("metadata", {})}
    return await engine.create(served, {"metadata": metadata, **parts})


def get(engine: Engine, kind: str, name: str, namespace: str = "default") -> Object | None:
    served = resource(engine, kind)
    return engine.get(served, name, namespace if served.namespaced else "")


async def until(engine: Engine, holds: Callable[[], Any]) -> None:
    """Wait until something holds; look again after every change of the store."""
    async with asyncio.timeout(30):
        if holds():
            return
        async for _ in engine.watch(initial=False):
            if holds():
                return
