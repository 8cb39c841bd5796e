"""Drive a backend through a sequence, by plain HTTP, and see what it answers."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson

from penstock.kube.connector import Connector
from tests.embedded.differential.gadgets import GADGET_DEFINITION
from tests.embedded.differential.normal import normal
from tests.embedded.differential.steps import NAMESPACE
from tests.embedded.differential.widgets import WIDGET_DEFINITION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from collections.abc import Sequence as Steps
    from typing import Protocol

    from penstock.kube.resources import Object
    from tests.embedded.differential.steps import Step

    class Asked(Protocol):
        """Steps about one object."""

        @property
        def steps(self) -> Steps[Step]: ...
        def located(self) -> str: ...


ESTABLISHED_WITHIN = 20
_AT_ONCE = {"propagationPolicy": "Background", "gracePeriodSeconds": "0"}
FELL_OVER = 0
"""The code of an answer that did not come: the server closed the connection."""


@dataclass(frozen=True)
class Answer:
    """What a backend said to one step, and the object as it is afterwards; all of it normalised."""

    code: int
    body: Any
    warnings: tuple[str, ...]
    stored: Any

    def plain(self) -> dict[str, Any]:
        return {"code": self.code, "body": self.body, "warnings": list(self.warnings), "stored": self.stored}


class Backend:
    """One API server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def prepare(self) -> None:
        """Make the namespace, the service account of its pods, and the custom kinds."""
        await self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        account = {"metadata": {"name": "default"}, "automountServiceAccountToken": True}
        await self.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", account)
        for definition in (WIDGET_DEFINITION, GADGET_DEFINITION):
            await self.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        async with asyncio.timeout(ESTABLISHED_WITHIN):
            for version, plural in (("v1", "widgets"), ("v1", "gadgets"), ("v2", "gadgets")):
                await self._until_served(f"/apis/example.penstock.dev/{version}/namespaces/{NAMESPACE}/{plural}")

    async def _until_served(self, path: str) -> None:
        # A definition that says it is established is not yet served: the path itself has to be asked.
        while (await self.ask("GET", path))[0] != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def run(self, sequence: Asked) -> list[Answer]:
        """All answers, in order; afterwards the object is gone."""
        answers: list[Answer] = []
        now: Object | None = None
        try:
            for step in sequence.steps:
                answer, now = await self._step(step, sequence.located(), now)
                answers.append(answer)
            return answers
        finally:
            await self.clear(sequence)

    async def clear(self, sequence: Asked) -> None:
        """Take the object of a sequence away, whatever holds it."""
        _, left, _ = await self.ask("DELETE", sequence.located(), query=_AT_ONCE)
        if (left or {}).get("metadata", {}).get("finalizers"):
            released = {"metadata": {"finalizers": None}}
            await self.ask("PATCH", sequence.located(), released, content_type="application/merge-patch+json")

    async def _step(self, step: Step, main: str, now: Object | None) -> tuple[Answer, Object | None]:
        """The answer to a step, and the object then; `now` is the object before."""
        sent = step.sent((now or {}).get("metadata"))
        code, answer, warnings = await self.ask(
            step.verb, step.located(), sent, content_type=step.content_type, query=step.asked()
        )
        found, stored, _ = await self.ask("GET", main)
        after: Object | None = stored if found == 200 else None
        return Answer(code, normal(answer), tuple(warnings), normal(after)), after

    async def ask(
        self,
        verb: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> tuple[int, Any, list[str]]:
        data = None if body is None else orjson.dumps(body)
        headers = {"Accept": "application/json", **({"Content-Type": content_type} if data is not None else {})}
        try:
            async with self._session.request(verb, path, data=data, params=query, headers=headers) as answer:
                text = await answer.read()
                # Unknown paths are answered in plain text.
                plain = answer.content_type != "application/json"
                read = text.decode() if plain else orjson.loads(text)
                return answer.status, read, answer.headers.getall("Warning", [])
        except aiohttp.ServerDisconnectedError:
            return FELL_OVER, None, []


@asynccontextmanager
async def backend(server: str, *, token: str, authority: bytes) -> AsyncGenerator[Backend]:
    """A prepared backend at an address."""
    context = ssl.create_default_context(cadata=authority.decode())
    headers = {"Authorization": f"Bearer {token}", "User-Agent": "differential/1"}
    connector = Connector(ssl=context, limit=16)
    async with aiohttp.ClientSession(server, headers=headers, connector=connector) as session:
        made = Backend(session)
        await made.prepare()
        yield made
