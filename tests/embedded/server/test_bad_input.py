"""What nobody should send: the answer is a Status with the right code, and the server lives on."""

from __future__ import annotations

import asyncio
import io
import resource
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import aiohttp
import orjson
import pytest
import pytest_asyncio

from penstock.embedded.server.answers import shortened
from penstock.embedded.server.bodies import LIMIT, VALUES_LIMIT
from penstock.embedded.status import MOST_CAUSES
from tests.embedded.server.sending import MAPS, Door, opened

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

MEGABYTE = 1024 * 1024


@pytest_asyncio.fixture
async def door() -> AsyncGenerator[Door]:
    async with opened() as made:
        yield made


@pytest.mark.parametrize(
    ("size", "code", "reason"),
    [
        pytest.param(LIMIT + 1, 413, "RequestEntityTooLarge", id="one byte too much"),
        pytest.param(20 * MEGABYTE, 413, "RequestEntityTooLarge", id="far too much"),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["with its length told", "in pieces"])
async def test_bodies_that_are_too_long(door: Door, size: int, code: int, reason: str, chunked: bool) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(0, size, MEGABYTE):
            yield b"x" * MEGABYTE

    body = pieces() if chunked else io.BytesIO(b"x" * size)
    try:
        answer = await door.send("POST", MAPS, body, {"Content-Type": "application/json"})
    except aiohttp.ClientOSError:
        # A client that goes on sending after the answer may find the door closed before it has read it.
        assert chunked or size > LIMIT + 1
    else:
        assert (answer.code, answer.status["reason"]) == (code, reason)
    assert await door.alive()


async def test_a_body_of_just_the_limit_is_read(door: Door) -> None:
    body = io.BytesIO(b"[" + b" " * (LIMIT - 2) + b"]")
    answer = await door.send("POST", MAPS, body, {"Content-Type": "application/json"})
    assert answer.code == 400


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="lists in lists in lists"),
        pytest.param(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, id="objects in objects"),
        pytest.param(b'{"metadata":{"name":"\xff\xfe"}}', id="no UTF-8"),
        pytest.param(b'{"metadata":{"name":"\\ud800"}}', id="half a surrogate"),
        pytest.param(b'{"metadata":{"name":"a"},"data":{"a":1e999}}', id="a number beyond all bounds"),
        pytest.param(b"\0" * 1000, id="zeros"),
    ],
)
async def test_json_that_hurts(door: Door, body: bytes) -> None:
    answer = await door.send("POST", MAPS, body, {"Content-Type": "application/json"})
    assert (answer.code, answer.status["reason"]) == (400, "BadRequest")
    assert await door.alive()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)),
            id="a billion laughs",
        ),
        pytest.param("- " * 1_000_000 + "x", id="lists in lists"),
        pytest.param("!!python/object/apply:os.system ['true']", id="code"),
        pytest.param("[" * 1_000_000, id="lists in lists in one line"),
        pytest.param("a: &a [*a]", id="a loop"),
        pytest.param("{", id="half a map"),
        pytest.param("\t", id="a tab"),
        pytest.param("? [a]: b", id="a key that is a list"),
    ],
)
@pytest.mark.parametrize("way", ["create", "apply"])
async def test_yaml_that_hurts(door: Door, body: str, way: str) -> None:
    began = time.monotonic()
    if way == "create":
        answer = await door.send("POST", MAPS, body.encode(), {"Content-Type": "application/yaml"})
    else:
        kind = {"Content-Type": "application/apply-patch+yaml"}
        answer = await door.send("PATCH", f"{MAPS}/a?fieldManager=m", body.encode(), kind)
    assert (answer.code, answer.status["reason"]) == (400, "BadRequest")
    assert time.monotonic() - began < 5
    assert await door.alive()


@pytest.mark.parametrize("kind", ["application/vnd.kubernetes.protobuf", "application/cbor", "text/html", "x", "/"])
async def test_content_types_nobody_reads(door: Door, kind: str) -> None:
    answer = await door.send("POST", MAPS, b"k8s\0...", {"Content-Type": kind})
    assert (answer.code, answer.status["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f"{MAPS}/..%2f..%2fsecrets", id="up and away"),
        pytest.param(f"{MAPS}/a%2fb", id="a separator"),
        pytest.param(f"{MAPS}/%2e%2e", id="two dots"),
        pytest.param(f"{MAPS}/a%00b", id="a zero"),
        pytest.param(f"{MAPS}/{'x' * 5000}", id="very long"),
        pytest.param("/api/v1/namespaces/..%2f../configmaps", id="a namespace with separators"),
        pytest.param("/apis/../../etc/passwd", id="a path out"),
    ],
)
async def test_names_with_separators_reach_nothing(door: Door, path: str) -> None:
    answer = await door.send("GET", path)
    assert answer.code == 404


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("labelSelector=" + quote(",".join(f"k{n}=v" for n in range(2000))), id="thousands of labels"),
        pytest.param("labelSelector=" + quote("a in (" + ",".join(["x"] * 5000) + ")"), id="thousands of values"),
        pytest.param("fieldSelector=" + quote(",".join(["metadata.name=a"] * 2000)), id="thousands of fields"),
    ],
)
async def test_huge_selectors_are_answered(door: Door, query: str) -> None:
    began = time.monotonic()
    answer = await door.send("GET", f"{MAPS}?{query}")
    assert answer.code == 200
    assert time.monotonic() - began < 3


async def test_too_many_parameters_are_refused(door: Door) -> None:
    answer = await door.send("GET", f"{MAPS}?{'&'.join(['a=b'] * 5000)}")
    assert (answer.code, answer.status["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 2_000_000, b"HTTP/1.1 431", id="an endless header"),
        pytest.param(b"GET /" + b"y" * 500_000, b"HTTP/1.1 431", id="an endless path"),
        pytest.param(b"hello\r\n\r\n", b"HTTP/1.1 4", id="no HTTP at all"),
        pytest.param(b"BREW / HTTP/1.1\r\nhost: x\r\n\r\n", b"HTTP/1.1 405", id="an unknown method"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n", b"HTTP/1.1 400", id="a length of x"),
    ],
)
async def test_what_is_not_http(door: Door, data: bytes, expected: bytes) -> None:
    assert (await door.raw(data)).startswith(expected)
    assert await door.alive()


async def test_watch_floods_are_bounded(door: Door) -> None:
    async def watch() -> int:
        answer = await door.send("GET", f"{MAPS}?watch=1&timeoutSeconds=1&labelSelector={quote('a in (b,c)')}")
        return answer.code

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with asyncio.TaskGroup() as group:
        watches = [group.create_task(watch()) for _ in range(100)]
    assert {task.result() for task in watches} == {200}
    assert await door.alive()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024  # kilobytes


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param("application/json", b'{"x":[' + b"1," * VALUES_LIMIT + b"1]}", id="a list"),
        pytest.param(
            "application/json", b"{" + b",".join(b'"k%d":1' % n for n in range(VALUES_LIMIT + 1)) + b"}", id="an object"
        ),
        pytest.param("application/json", b'{"x":[' + b"[],{}," * (VALUES_LIMIT // 2) + b"1]}", id="lists and objects"),
        pytest.param("application/yaml", b"- a\n" * VALUES_LIMIT, id="lines of YAML"),
        pytest.param("application/yaml", b"[" + b"a," * VALUES_LIMIT + b"]", id="YAML in one line"),
        pytest.param("application/yaml", b"- &a x\n" + b"- *a\n" * VALUES_LIMIT, id="aliases"),
        pytest.param("application/yaml", b'{"x":[' + b"1," * VALUES_LIMIT + b"1]}", id="JSON that claims to be YAML"),
    ],
)
async def test_more_values_than_anybody_needs_are_refused(door: Door, kind: str, body: bytes) -> None:
    answer = await door.send("POST", MAPS, body, {"Content-Type": kind})
    assert (answer.code, answer.status["reason"]) == (400, "BadRequest")
    assert f"more than {VALUES_LIMIT} values" in answer.status["message"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param(
            "application/json", orjson.dumps({"metadata": {"name": "a"}, "data": {"t": ",\n" * 200_000}}), id="JSON"
        ),
        pytest.param("application/yaml", b"metadata: {name: a}\ndata:\n  t: |\n" + b"    1,2\n" * 120_000, id="YAML"),
    ],
)
async def test_commas_and_lines_inside_a_text_are_no_values(door: Door, kind: str, body: bytes) -> None:
    assert (await door.send("POST", MAPS, body, {"Content-Type": kind})).code == 201


async def test_a_text_like_a_time_of_day_is_no_number_to_calculate(door: Door) -> None:
    """YAML 1.1 has numbers to the base 60; a long one would take an hour, and the real server knows none."""
    body = b"metadata: {name: a}\ndata:\n  t: " + b"9:" * 400_000 + b"9\n  short: 12:30:45\n"
    answer = await door.send("POST", MAPS, body, {"Content-Type": "application/yaml"})
    assert (answer.code, orjson.loads(answer.text)["data"]["short"]) == (201, "12:30:45")


async def test_others_are_answered_while_a_long_body_is_read(door: Door) -> None:
    body = b"metadata: {name: a}\ndata:\n" + b"".join(b"  k%d: !!str v\n" % n for n in range(60_000))
    sent = asyncio.create_task(door.send("POST", MAPS, body, {"Content-Type": "application/yaml"}))
    answered = 0
    while not sent.done():
        assert await door.alive()
        answered += 1
    assert (await sent).code == 201
    assert answered > 3


async def test_of_very_many_problems_the_first_are_told(door: Door) -> None:
    body = orjson.dumps({"metadata": {"name": "a"}, "data": {f"/{n}": "" for n in range(5000)}})
    answer = await door.send("POST", MAPS, body)
    assert (answer.code, len(answer.status["details"]["causes"])) == (422, MOST_CAUSES)


@pytest.mark.parametrize(
    ("warnings", "told"),
    [
        pytest.param(["a", "b", "a", ""], ["a", "b"], id="each is told once"),
        pytest.param(["x" * 4096], ["x" * 4096], id="one that just fits"),
        pytest.param(["x" * 4097], ["x" * 256], id="one that is too long is cut"),
        pytest.param(["x" * 4000, "y" * 97, "z"], ["x" * 256, "y" * 97, "z"], id="all are cut, which makes room"),
        pytest.param([f"{n:04}" for n in range(3000)], [f"{n:04}" for n in range(1025)], id="the rest is left out"),
    ],
)
def test_warnings_have_room_for_4096_characters(warnings: list[str], told: list[str]) -> None:
    assert shortened(warnings) == told
