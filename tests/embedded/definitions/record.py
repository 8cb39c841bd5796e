"""Ask the real server for the answers to all scenarios: `python -m tests.embedded.definitions.record`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.embedded.definitions.scenarios import AWAITED, BEFORE, SCENARIOS
from tests.embedded.server.playing import Backend, connector, get, post

RECORDED = Path(__file__).with_name("answers.json")


async def answers(backend: Backend, scenario: str, namespace: str) -> list[dict[str, Any]]:
    """The answers of one scenario, in a namespace that is made for it."""
    await backend.play([post("/api/v1/namespaces", {"metadata": {"name": namespace}})], namespace)
    await backend.play(BEFORE.get(scenario, []), namespace)
    if scenario in AWAITED:
        await _served(backend, AWAITED[scenario], namespace)
    return [_sorted(told) for told in await backend.play(SCENARIOS[scenario], namespace)]


async def _served(backend: Backend, path: str, namespace: str) -> None:
    """A real server needs a moment until it serves what was defined, and tells nobody when."""
    async with asyncio.timeout(20):
        while (await backend.play([get(path)], namespace))[0]["code"] != 200:  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.05)


def _sorted(told: dict[str, Any]) -> dict[str, Any]:
    """The real server walks maps in no order: what is wrong with several fields is told in any."""
    body = told["body"]
    if isinstance(body, dict) and body.get("reason") == "Invalid":
        causes = body["details"].get("causes", [])
        causes.sort(key=lambda cause: (cause.get("field", ""), cause["message"]))
        if len(causes) > 1:
            body["message"] = "<several>"
    return told


def recorded() -> dict[str, list[dict[str, Any]]]:
    known: dict[str, list[dict[str, Any]]] = orjson.loads(RECORDED.read_bytes())
    return known


async def record() -> None:
    from tests.controlplane.plane import controlplane

    async with controlplane(controllers=False) as plane:
        authority = await asyncio.to_thread(plane.ca.read_text)
        async with aiohttp.ClientSession(connector=connector(authority)) as session:
            backend = Backend(session, plane.server, plane.token)
            found = {name: await answers(backend, name, f"scenario-{number}") for number, name in enumerate(SCENARIOS)}
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS
    await asyncio.to_thread(RECORDED.write_bytes, orjson.dumps(found, option=options))


if __name__ == "__main__":
    asyncio.run(record())
    sys.stdout.write(f"{RECORDED.name}: {len(SCENARIOS)} scenarios\n")
