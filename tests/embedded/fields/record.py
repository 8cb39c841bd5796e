"""Write `recorded.jsonl`: what a real API server made of random requests, for the tests that need no server.

    python -m tests.embedded.fields.record

Of the many answers a few of every sort are kept: kinds, verbs and outcomes differ from line to line.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tests.controlplane.plane import controlplane
from tests.embedded.differential.drive import Backend, backend
from tests.embedded.differential.steps import APPLY_PATCH, JSON_PATCH, STRATEGIC_PATCH, sequence

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube.resources import Object
    from tests.embedded.differential.steps import Sequence, Step

FILE = Path(__file__).with_name("recorded.jsonl")
SEEDS = range(1000, 1400)
OF_A_SORT = 1
LONGEST = 2600
"""Bytes of a line; what is longer shows nothing more."""

# An apply to the scale of a custom object fails before or after fields are looked at, for reasons of its own.
NO_SCALE = "request to convert CR to an invalid group/version"
# Admission and allocation change these after their managers are known.
CHANGED_LATER = frozenset({"Service", "Job", "PersistentVolumeClaim", "DaemonSet", "PersistentVolume", "Node"})
# Their rules and their admission decide more than their fields do.
RICH = frozenset({"Pod", "ReplicationController", "Endpoints"})

# Whatever else stands in metadata decides more than fields do.
PLAIN = frozenset({"name", "labels", "annotations", "finalizers", "ownerReferences"})


@asynccontextmanager
async def real_backend() -> AsyncGenerator[Backend]:
    """A real API server without controllers."""
    async with controlplane(controllers=False) as plane:
        authority = await asyncio.to_thread(plane.ca.read_bytes)
        async with backend(plane.server, token=plane.token, authority=authority) as made:
            yield made


async def recorded(server: Backend, asked: Sequence) -> list[Object]:
    """The steps of a sequence with the objects before and after; without those that say nothing about fields."""
    lines: list[Object] = []
    live: Object | None = None
    for index, step in enumerate(asked.steps):
        code, answer, _ = await server.ask(
            step.verb, step.located(), step.sent(), content_type=step.content_type, query=step.asked()
        )
        found, stored, _ = await server.ask("GET", asked.located())
        after: Object | None = stored if found == 200 else None
        if _tells(asked, step, live, code, answer):
            lines.append(_line(asked, index, live, code, answer, after))
        live = after
    await server.clear(asked)
    return lines


def _tells(asked: Sequence, step: Step, live: Object | None, code: int, answer: Any) -> bool:
    if not _is_plain(asked, step):
        return False
    if step.verb == "DELETE" or "dryRun" in step.query or code in {0, 404, 415}:
        return False
    if step.subresource == "scale" and NO_SCALE in str(answer.get("message")):
        return False
    if step.content_type == APPLY_PATCH:
        return code < 300 or code in {409, 500}
    if code >= 300:
        return step.verb == "PATCH" and live is not None and (code == 500 or "rejected" in str(answer.get("message")))
    return asked.kind.kind not in CHANGED_LATER


def _is_plain(asked: Sequence, step: Step) -> bool:
    """Whether all that happens is a matter of fields: no other version, name or precondition comes into it."""
    if asked.kind.sibling is not None or asked.kind.kind in RICH:
        return False
    if step.verb == "GET" or step.query.get("fieldManager") != step.manager or step.query.get("force") == "false":
        return False
    if step.subresource == "scale" and step.content_type in {JSON_PATCH, STRATEGIC_PATCH}:
        return False
    body = step.body
    if not isinstance(body, dict):
        return True
    told = body.get("metadata")
    metadata: Object = told if isinstance(told, dict) else {}
    if metadata.keys() - PLAIN:
        return False
    wanted = {"kind": {asked.kind.kind, "Scale"}, "apiVersion": {asked.kind.api_version, "autoscaling/v1"}}
    return all(name not in body or body[name] in names for name, names in wanted.items())


def _line(asked: Sequence, index: int, live: Object | None, code: int, answer: Object, after: Object | None) -> Object:
    step = asked.steps[index]
    return {
        "seed": asked.seed,
        "step": index,
        "apiVersion": asked.kind.api_version,
        "kind": asked.kind.kind,
        "verb": step.verb,
        "type": step.content_type,
        "query": step.query,
        "subresource": step.subresource,
        "sent": step.sent(),
        "live": live,
        "code": code,
        "answer": answer,
        "after": after if step.subresource == "scale" else None,
    }


def sort_of(line: Object) -> tuple[Any, ...]:
    """Lines of one sort show the same."""
    message = str(line["answer"].get("message", ""))[:24] if line["code"] >= 300 else ""
    managers = len((line["answer"].get("metadata") or {}).get("managedFields") or ())
    kind = line["kind"] if line["type"] != JSON_PATCH else ""
    return (
        kind,
        line["verb"],
        line["type"],
        line["subresource"],
        line["code"],
        message,
        managers,
        "force" in line["query"],
    )


async def main() -> None:
    kept: list[bytes] = []
    seen: Counter[tuple[Any, ...]] = Counter()
    async with real_backend() as server:
        for seed in SEEDS:
            for line in await recorded(server, sequence(seed)):
                text = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
                if len(text) <= LONGEST and seen[sort_of(line)] < OF_A_SORT:
                    seen[sort_of(line)] += 1
                    kept.append(text)
    await asyncio.to_thread(FILE.write_bytes, b"".join(kept))


if __name__ == "__main__":
    asyncio.run(main())
