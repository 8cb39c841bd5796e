"""What nobody should send: the answer is a Status with the right code, and the server lives on."""

from __future__ import annotations

import asyncio
import io
import os
import random
import resource
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp
import orjson
import pytest
import pytest_asyncio
from yarl import URL

from penstock.embedded import Cluster, cluster
from tests.embedded.server.playing import connector

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

MAPS = "/api/v1/namespaces/default/configmaps"
LIMIT = 3 * 1024 * 1024
FUZZ_SECONDS = 6.0
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    content_type: str
    text: str

    @property
    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = orjson.loads(self.text)
        assert (body["kind"], body["code"]) == ("Status", self.code)
        return body


@dataclass(frozen=True, slots=True)
class Door:
    """A way to send anything at all."""

    running: Cluster
    session: aiohttp.ClientSession

    async def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        told = {"Authorization": f"Bearer {self.running.token}"} | (headers or {})
        url = URL(self.running.server + path, encoded=True)  # as it is: no client tidies up
        data = io.BytesIO(body) if isinstance(body, bytes) else body
        async with self.session.request(
            method, url, data=data, headers=told, skip_auto_headers=["Content-Type"]
        ) as answer:
            return Answer(
                answer.status, answer.headers.get("Content-Type", ""), (await answer.read()).decode(errors="replace")
            )

    async def raw(self, data: bytes) -> bytes:
        """Bytes on a connection of their own; whatever comes back until it is closed or quiet."""
        tls = ssl.create_default_context(cadata=self.running.authority.decode())
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(self.running.server.rpartition(":")[2]), ssl=tls
        )
        try:
            writer.write(data)
            async with asyncio.timeout(5):
                return await reader.read(65536)
        finally:
            writer.transport.abort()

    async def alive(self) -> bool:
        return (await self.send("GET", "/readyz")).text == "ok"


@pytest_asyncio.fixture
async def door() -> AsyncGenerator[Door]:
    async with (
        cluster(controllers=False) as running,
        aiohttp.ClientSession(connector=connector(running.authority.decode())) as session,
    ):
        yield Door(running, session)


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


# The fuzz: requests made of the right words in the wrong places.

SEGMENTS = (
    *("api", "apis", "v1", "v2", "apps", "batch", "namespaces", "default", "configmaps", "deployments", "pods", "jobs"),
    *(
        "a",
        "web",
        "status",
        "scale",
        "finalize",
        "token",
        "watch",
        "openapi",
        "v3",
        "healthz",
        "version",
        "",
        "..",
        "%2f",
    ),
    *(
        "%00",
        "%ff",
        "x" * 300,
        "rbac.authorization.k8s.io",
        "clusterroles",
        "secrets",
        "exec",
        "log",
        "proxy",
        "*",
        "💥",
    ),
)
QUERIES = (
    *(
        "watch=1&timeoutSeconds=1",
        "limit=1",
        "limit=-1",
        "limit=x",
        "continue=abc",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
    ),
    *("labelSelector=a", "labelSelector=%21%21", "fieldSelector=metadata.name%3Da", "fieldSelector=%5C", "dryRun=All"),
    *("dryRun=x", "fieldManager=m", "fieldManager=", "force=true", "fieldValidation=Strict", "fieldValidation=x"),
    *(
        "resourceVersion=0",
        "resourceVersion=-1",
        "resourceVersion=99999999999999999999999",
        "resourceVersionMatch=Exact",
    ),
    *(
        "sendInitialEvents=true&timeoutSeconds=1",
        "propagationPolicy=Foreground",
        "gracePeriodSeconds=0",
        "pretty=1",
        "%",
        "=&=",
    ),
)
TYPES = (
    *("application/json", "application/yaml", "application/apply-patch+yaml", "application/merge-patch+json", ""),
    *(
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "text/plain",
        "application/json;charset=x",
    ),
)
ACCEPTS = (
    *("application/json", "*/*", "", "text/html", "application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1"),
    *("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ";;;,,,", "application/json;q=x"),
)
BASES: tuple[Any, ...] = (
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx", "ports": [{"containerPort": 80}]}]},
            },
        },
    },
    [{"op": "add", "path": "/data/x", "value": "y"}],
    {"kind": "DeleteOptions", "preconditions": {"uid": "x"}},
    {"kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 2}},
    {"metadata": {"finalizers": ["a/b"], "ownerReferences": [{"kind": "x"}], "managedFields": [{}]}},
)
JUNK: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    2**40,
    "",
    "x",
    "é💥",
    [],
    {},
    [None],
    {"": ""},
    [[]],
    True,
    "a" * 1000,
    {"$patch": "delete"},
)


def mutated(value: Any, dice: random.Random) -> Any:
    """A copy with something wrong somewhere, mostly."""
    if dice.random() < 0.12:
        return dice.choice(JUNK)
    if isinstance(value, dict):
        made = {key: mutated(item, dice) for key, item in value.items() if dice.random() > 0.05}
        if dice.random() < 0.1:
            made[dice.choice(("spec", "metadata", "x", "", "$patch", "status", "kind"))] = dice.choice(JUNK)
        return made
    if isinstance(value, list):
        return [mutated(item, dice) for item in value for _ in range(dice.choice((0, 1, 1, 1, 2)))]
    return value


def request(dice: random.Random) -> tuple[str, str, bytes | None, dict[str, str]]:
    if dice.random() < 0.6:
        known = (MAPS, f"{MAPS}/a", "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces")
        path = dice.choice(known)
        path += dice.choice(("", "", "/web", "/web/status", "/web/scale", "/default"))
    else:
        path = "/" + "/".join(quote(dice.choice(SEGMENTS), safe="%") for _ in range(dice.randrange(7)))
    if dice.random() < 0.5:
        path += "?" + "&".join(dice.choice(QUERIES) for _ in range(dice.randrange(1, 4)))
    method = dice.choice(("GET", "GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS"))
    body = None
    if method in ("POST", "PUT", "PATCH", "DELETE"):
        body = orjson.dumps(mutated(dice.choice(BASES), dice))
        if dice.random() < 0.15:
            cut = dice.randrange(len(body) + 1)
            body = body[:cut] + bytes(dice.randrange(256) for _ in range(dice.randrange(4))) + body[cut + 1 :]
    headers = {"Accept": dice.choice(ACCEPTS) if dice.random() < 0.3 else "application/json"}
    if kind := dice.choice(TYPES):
        headers["Content-Type"] = kind
    return method, path, body, headers


def judge(answer: Answer, method: str) -> str:
    """What is wrong with an answer; empty when it is one that was promised."""
    if method == "HEAD" or (answer.code == 200 and not answer.text):
        return ""  # an empty watch is a promise kept
    if answer.content_type.startswith(("text/plain", "application/yaml")):
        return "" if answer.code in (200, 201, 404) else "an error that is no Status"
    lines = answer.text.splitlines() if answer.text.startswith('{"type":') else [answer.text]
    try:
        bodies = [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError:
        return "no JSON"
    if answer.code >= 400:
        body = bodies[0]
        if body.get("kind") != "Status" or body.get("code") != answer.code or body.get("status") != "Failure":
            return "an error that is no Status"
        return "a defect" if body.get("reason") == "InternalError" else ""
    known = all(
        isinstance(body, dict)
        and (
            "kind" in body
            or "type" in body
            or "paths" in body
            or "major" in body
            or "swagger" in body
            or "openapi" in body
        )
        for body in bodies
    )
    return "" if known else "not an object"


@pytest.mark.parametrize("seed", [int(os.environ.get("PENSTOCK_FUZZ_SEED", "1"))])
async def test_whatever_comes_is_answered_properly(door: Door, seed: int) -> None:
    dice = random.Random(seed)
    for base in BASES[:2]:
        plural = "configmaps" if base["kind"] == "ConfigMap" else "deployments"
        root = "/api/v1" if plural == "configmaps" else "/apis/apps/v1"
        made = await door.send("POST", f"{root}/namespaces/default/{plural}", orjson.dumps(base))
        assert made.code == 201, made.text
    deadline = time.monotonic() + FUZZ_SECONDS
    count = 0
    while time.monotonic() < deadline:
        method, path, body, headers = request(dice)
        answer = await door.send(method, path, body, headers)
        wrong = judge(answer, method)
        assert not wrong, f"seed {seed}, request {count}: {wrong}: {method} {path} {headers} {body!r} -> {answer}"
        count += 1
    assert count > 50
    assert await door.alive()
