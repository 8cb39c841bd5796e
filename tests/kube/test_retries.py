from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.kube import Client, Limiter, Request, connect
from penstock.kube.credentials import Credential
from penstock.kube.errors import (
    KubeError,
    Malformed,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.loopback import Asked, Wire, serve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Fault = Callable[[Wire], Awaitable[None]]

pytestmark = pytest.mark.usefixtures("hasty")

OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}
VERSIONED = {**OBJECT, "metadata": {"name": "x", "namespace": "default", "resourceVersion": "7"}}


async def reset(wire: Wire) -> None:
    wire.reset()


async def cut_head(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Len")
    wire.reset()


async def cut_body(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    wire.reset()


async def too_many(wire: Wire) -> None:
    await wire.refuse(429, "TooManyRequests", "slow down")


async def unavailable(wire: Wire) -> None:
    await wire.refuse(503, "ServiceUnavailable", "not now")


async def internal(wire: Wire) -> None:
    await wire.refuse(500, "InternalError", "boom")


async def internal_later(wire: Wire) -> None:
    await wire.refuse(500, "InternalError", "boom", Retry_After="0")


async def malformed(wire: Wire) -> None:
    await wire.refuse(500, "", "failed to create typed patch object (x): .spec.foo: field not declared in schema")


VERBS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "get": lambda client: client.get(CONFIG_MAPS, "x", "default"),
    "list": lambda client: client.list(CONFIG_MAPS, "default"),
    "create": lambda client: client.create(CONFIG_MAPS, OBJECT),
    "create dry-run": lambda client: client.create(CONFIG_MAPS, OBJECT, dry_run=True),
    "replace": lambda client: client.replace(CONFIG_MAPS, VERSIONED),
    "apply": lambda client: client.apply(CONFIG_MAPS, OBJECT, manager="me"),
    "apply with a version": lambda client: client.apply(CONFIG_MAPS, VERSIONED, manager="me"),
    "apply dry-run": lambda client: client.apply(CONFIG_MAPS, VERSIONED, manager="me", dry_run=True),
    "merge patch": lambda client: client.patch(CONFIG_MAPS, "x", "default", {}),
    "json patch": lambda client: client.patch(CONFIG_MAPS, "x", "default", [], kind="json"),
    "scale": lambda client: client.scale(CONFIG_MAPS, "x", "default", 3),
    "delete": lambda client: client.delete(CONFIG_MAPS, "x", "default"),
}
REPEATABLE = {"get", "list", "create dry-run", "apply", "apply dry-run", "delete"}

FAULTS: dict[str, tuple[Fault, set[str], type[KubeError]]] = {
    "reset": (reset, REPEATABLE, Unreachable),
    "cut in the head": (cut_head, REPEATABLE, Unreachable),
    "cut in the body": (cut_body, REPEATABLE, Unreachable),
    "429": (too_many, set(VERBS), TooManyRequests),
    "503": (unavailable, REPEATABLE, Unavailable),
    "500 with Retry-After": (internal_later, REPEATABLE, Unavailable),
    "500": (internal, set(), ServerError),
    "500 that blames the manifest": (malformed, set(), Malformed),
}
TABLE = [
    pytest.param(
        fault, VERBS[verb], verb in repeated, error, id=f"{verb}, {name}, {'again' if verb in repeated else 'never'}"
    )
    for name, (fault, repeated, error) in FAULTS.items()
    for verb in VERBS
]


@pytest.mark.parametrize(("fault", "verb", "again", "error"), TABLE)
async def test_what_is_tried_again(
    fault: Fault, verb: Callable[[Client], Awaitable[object]], again: bool, error: type[KubeError]
) -> None:
    """The fault strikes on a connection that has served before, where HTTP libraries like to repeat by themselves."""
    struck = False

    async def script(asked: Asked, wire: Wire) -> None:
        nonlocal struck
        if asked.path == "/warm" or struck:
            await wire.answer({"metadata": {}, "items": []})
        else:
            struck = True
            await fault(wire)

    async with serve(script) as server, connect(server.settings) as client:
        await client.call(Request("GET", "/warm"))
        if again:
            await verb(client)
        else:
            with pytest.raises(error) as caught:
                await verb(client)
            assert type(caught.value) is error
        sent = [asked for asked in server.asked if asked.path != "/warm"]
        assert len(sent) == (2 if again else 1)
        assert len({(asked.method, asked.target, asked.body) for asked in sent}) == 1


@pytest.mark.parametrize("fault", [reset, too_many, unavailable], ids=["reset", "429", "503"])
async def test_it_gives_up_after_five_tries(fault: Fault) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await fault(wire)

    async with serve(script) as server, connect(server.settings) as client:
        with pytest.raises(KubeError):
            await client.get(CONFIG_MAPS, "x", "default")
        assert len(server.asked) == 5


async def test_what_was_never_sent_is_tried_again_whatever_it_is() -> None:
    """A port where nobody listens: the request cannot have done anything."""

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.answer({"metadata": {}})

    async with serve(script) as server:
        closed = server.settings
    credentials = Counted()
    async with connect(replace(closed, credentials=credentials)) as client:
        with pytest.raises(Unreachable, match=r"cannot connect to .* \(the test\): connection refused$") as caught:
            await client.create(CONFIG_MAPS, OBJECT)
    assert not caught.value.sent
    assert credentials.fetched == 5


async def test_a_hang_ends_in_time_and_is_not_repeated() -> None:
    """The caller's bound has passed already: a second try would double it."""

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.hang()

    limiter = Limiter(start=16)
    async with serve(script) as server, connect(server.settings, limiter=limiter) as client:
        with pytest.raises(TimedOut, match=r"no answer from .* to GET /slow in the time allowed"):
            await client.call(Request("GET", "/slow", repeatable=True, timeout=0.05))
        assert len(server.asked) == 1
    assert limiter.limit == 8
    assert limiter.running == 0


async def test_a_body_that_trickles_for_ever_ends_in_time() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.begin()
        while True:
            await wire.send(b" ")
            await asyncio.sleep(0.005)

    async with serve(script) as server, connect(server.settings) as client:
        with pytest.raises(TimedOut):
            await client.call(Request("GET", "/slow", timeout=0.1))


async def test_a_pause_that_the_server_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await real(0)

    answers = iter([("429", "7"), ("503", "30"), ("200", "")])

    async def script(asked: Asked, wire: Wire) -> None:
        code, wish = next(answers)
        await wire.answer({"metadata": {}}, status=int(code), **({"Retry_After": wish} if wish else {}))

    async with serve(script) as server, connect(server.settings, limiter=Unmoved()) as client:
        monkeypatch.setattr("penstock.kube.transport.asyncio.sleep", sleep)
        await client.get(CONFIG_MAPS, "x", "default")
    first, second = [pause for pause in pauses if pause > 1]
    assert 7 <= first < 7.2
    assert 30 <= second < 30.2


async def test_a_pause_that_is_too_long_is_the_callers_to_judge() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.refuse(429, Retry_After="31")

    async with serve(script) as server, connect(server.settings, limiter=Unmoved()) as client:
        with pytest.raises(TooManyRequests) as caught:
            await client.get(CONFIG_MAPS, "x", "default")
        assert caught.value.status.retry_after == 31
        assert len(server.asked) == 1


async def test_a_mistake_of_the_user_is_no_sign_of_overload() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await malformed(wire)

    limiter = Limiter(start=16)
    async with serve(script) as server, connect(server.settings, limiter=limiter) as client:
        with pytest.raises(Malformed):
            await client.apply(CONFIG_MAPS, OBJECT, manager="me")
    assert limiter.limit == 16


async def test_every_answer_is_told_to_whoever_counts_them() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await (unavailable(wire) if len(server.asked) == 1 else wire.answer({"metadata": {}}))

    counted: list[tuple[str, int]] = []
    async with serve(script) as server, connect(server.settings) as client:
        client.transport.observe = lambda method, code: counted.append((method, code))
        await client.get(CONFIG_MAPS, "x", "default")
    assert counted == [("GET", 503), ("GET", 200)]


async def test_cancelling_a_request_gives_its_slot_back() -> None:
    arrived = asyncio.Event()

    async def script(asked: Asked, wire: Wire) -> None:
        arrived.set()
        await wire.hang()

    limiter = Limiter()
    async with serve(script) as server, connect(server.settings, limiter=limiter) as client:
        asking = asyncio.create_task(client.get(CONFIG_MAPS, "x", "default"))
        await arrived.wait()
        assert limiter.running == 1
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert limiter.running == 0


async def test_a_proxy_that_is_not_there_is_named_as_such() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.answer({})

    async with serve(script) as server:
        closed = server.settings.server
    async with connect(replace(server.settings, server="http://example.invalid", proxy=closed)) as client:
        with pytest.raises(Unreachable, match=r"the proxy on the way to http://example.invalid"):
            await client.get(CONFIG_MAPS, "x", "default")


async def test_a_proxy_is_asked_for_the_whole_address() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.answer({"metadata": {"name": asked.target}})

    async with serve(script) as server:
        settings = replace(server.settings, server="http://example.invalid", proxy=server.settings.server)
        async with connect(settings) as client:
            answer = await client.get(CONFIG_MAPS, "x", "default")
    assert answer["metadata"]["name"] == "http://example.invalid/api/v1/namespaces/default/configmaps/x"


class Counted:
    """Credentials that are fetched for every try."""

    fetched = 0

    async def fetch(self) -> Credential:
        self.fetched += 1
        return Credential(fresh_until=0.0)


class Unmoved(Limiter):
    """A limiter that does not wait when the server asks to."""

    def refused(self, retry_after: float | None = None) -> None:
        pass
