"""Requests made of the right words in the wrong places, sent by a process that may not grow.

`python -m tests.embedded.server.fuzzing SEED COUNT` ends with 0 when every answer was a proper one, and fails when one
was not, or when server and client together need more memory than `MEMORY`.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from tests.embedded.server.sending import MAPS, opened

if TYPE_CHECKING:
    from tests.embedded.server.sending import Answer, Door

MEMORY = 400 * 1024 * 1024
"""Bytes of data that the process may ever hold; an empty cluster and its client take about 90 MB."""

WATCHES = 50
"""How many reads may go on at the same time: some are watches, which take their time."""

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


def hostile_yaml(dice: random.Random) -> bytes:
    """A text that is short and means to become large, deep or slow."""
    size = dice.randrange(2, 10)
    laughs = "".join(f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * size)}]\n" for n in range(size))
    return dice.choice(
        (
            f"a0: &a0 [x]\n{laughs}",
            f"a0: &a0 {{k: v}}\n{laughs}b: {{<<: *a{size}}}",
            "a: &a [*a]",
            "- " * dice.randrange(1, 100_000),
            "[" * dice.randrange(1, 100_000),
            "{a: " * dice.randrange(1, 100_000),
            f"a: {'9:' * dice.randrange(1, 100_000)}9",
            f"a: {'9' * dice.randrange(1, 100_000)}",
            f"a: 1e{'9' * size}",
            f"? {'x' * dice.randrange(1, 100_000)}",
            f"a: !!binary {'=' * size}",
            f"a: >\n{' x' * dice.randrange(1, 10_000)}",
            "%YAML 9.9\n---\na: b",
        )
    ).encode()


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
    if body is not None and "yaml" in kind and dice.random() < 0.5:
        body = hostile_yaml(dice)
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


async def fuzz(door: Door, seed: int, count: int) -> None:
    dice, room = random.Random(seed), asyncio.Semaphore(WATCHES)
    for base in BASES[:2]:
        plural = "configmaps" if base["kind"] == "ConfigMap" else "deployments"
        root = "/api/v1" if plural == "configmaps" else "/apis/apps/v1"
        made = await door.send("POST", f"{root}/namespaces/default/{plural}", orjson.dumps(base))
        assert made.code == 201, made.text
    async with asyncio.TaskGroup() as readers:
        for number in range(count):
            sent = request(dice)
            checked = _check(door, f"seed {seed}, request {number}", *sent)
            if sent[0] in ("GET", "HEAD"):
                await room.acquire()
                readers.create_task(checked).add_done_callback(lambda _: room.release())
            else:
                await checked  # one after the other: the same seed is the same story
    assert await door.alive()


async def _check(door: Door, which: str, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> None:
    answer = await door.send(method, path, body, headers)
    wrong = judge(answer, method)
    assert not wrong, f"{which}: {wrong}: {method} {path} {headers} {(body or b'')[:2000]!r} -> {answer}"


async def main(seed: int, count: int) -> None:
    async with opened() as door:
        await fuzz(door, seed, count)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
