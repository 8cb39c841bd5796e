"""Write `bootstrap.json` from a real API server: `python -m penstock.embedded.lifecycle.generate` in the checkout."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.lifecycle.bootstrap import FILE, MOMENT
from penstock.embedded.schema.real import real_server

if TYPE_CHECKING:
    import aiohttp

    from penstock.kube.resources import Object

# What a fresh API server makes by itself; what is about its own address and port is left out.
_LISTS = (
    "/api/v1/namespaces",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/networking.k8s.io/v1/servicecidrs",
    "/apis/networking.k8s.io/v1/ipaddresses",
    "/api/v1/services",
)
_PORT = 6443


def line(obj: Object) -> bytes:
    """One object of the table: everything but what differs from start to start."""
    metadata = obj["metadata"]
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        metadata.pop(key, None)
    if obj["kind"] == "Service":
        obj["spec"]["ports"][0]["targetPort"] = _PORT
    _forget_moments(obj)
    return orjson.dumps(obj)


def _forget_moments(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("time", "lastTransitionTime") and isinstance(inner, str):
                value[key] = MOMENT
            else:
                _forget_moments(inner)
    elif isinstance(value, list):
        for inner in value:
            _forget_moments(inner)


async def _read(session: aiohttp.ClientSession) -> list[bytes]:
    lines: list[bytes] = []
    for path in _LISTS:
        async with session.get(path) as answer:
            answer.raise_for_status()
            found: Object = orjson.loads(await answer.read())
        kind = found["kind"].removesuffix("List")
        lines += [line({"kind": kind, "apiVersion": found["apiVersion"], **item}) for item in found["items"]]
    return lines


async def main() -> None:
    """Read a fresh server, and write the table."""
    async with real_server() as session:
        lines = await _read(session)
    target = Path(__file__).with_name(FILE)
    await asyncio.to_thread(target.write_bytes, b"[\n" + b",\n".join(lines) + b"\n]\n")
    sys.stdout.write(f"{target.name}: {len(lines)} objects\n")


if __name__ == "__main__":
    asyncio.run(main())
