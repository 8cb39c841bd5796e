"""Ask the real server for the answers to all scenarios: `python -m tests.embedded.server.record`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.embedded.server.playing import Backend, connector, post
from tests.embedded.server.scenarios import SCENARIOS

RECORDED = Path(__file__).with_name("answers.json")


async def answers(backend: Backend, scenario: str, namespace: str) -> list[dict[str, Any]]:
    """The answers of one scenario, in a namespace that is made for it."""
    await backend.play([post("/api/v1/namespaces", {"metadata": {"name": namespace}})], namespace)
    return await backend.play(SCENARIOS[scenario], namespace)


def recorded() -> dict[str, list[dict[str, Any]]]:
    known: dict[str, list[dict[str, Any]]] = orjson.loads(RECORDED.read_bytes())
    return known


async def record() -> None:
    from tests.controlplane.plane import controlplane

    async with (
        controlplane(controllers=False) as plane,
        aiohttp.ClientSession(connector=connector(plane.ca.read_text())) as session,
    ):
        backend = Backend(session, plane.server, plane.token)
        found = {name: await answers(backend, name, f"scenario-{number}") for number, name in enumerate(SCENARIOS)}
    RECORDED.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    asyncio.run(record())
    sys.stdout.write(f"{RECORDED.name}: {len(SCENARIOS)} scenarios\n")
