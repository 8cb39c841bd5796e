"""`penstock logs`: lines of controller pods, from an API server that the test plays: no other one here has any."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from tests.cli.stage import Ended, command

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

PATH = "/api/v1/namespaces/flux-system/pods/{name}/log"
LINES = [
    {
        "ts": "T1",
        "level": "info",
        "msg": "fetched",
        "controllerKind": "GitRepository",
        "name": "apps",
        "namespace": "a",
    },
    {"ts": "T2", "level": "error", "msg": "no", "error": "it broke", "controllerKind": "Kustomization"}
    | {"name": "apps", "namespace": "b"},
    {"ts": "T3", "level": "info", "msg": "done", "reconciler kind": "Kustomization", "name": "web", "namespace": "b"},
    {"ts": "T4", "level": "info", "msg": "started"},
]
LOG = "Traceback (most recent call last):\n{not json\n" + "".join(f"{json.dumps(line)}\n" for line in LINES) + "["
SHOWN = [
    "T1 info GitRepository/apps.a - fetched ",
    "T2 error Kustomization/apps.b - no it broke",
    "T3 info Kustomization/web.b - done ",
    "T4 info  - started ",
]


@asynccontextmanager
async def serving(
    folder: Path, *, pods: int = 1, broken: bool = False
) -> AsyncGenerator[tuple[str, list[dict[str, str]]]]:
    """An API server with one Deployment and its pods: the option that leads to it, and the queries it was asked."""
    asked: list[dict[str, str]] = []

    async def deployments(request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "app.kubernetes.io/part-of=flux"
        selector = {"matchLabels": {"app": "controller"}}
        one = {"metadata": {"name": "controller"}, "spec": {"selector": selector}}
        return web.json_response({"metadata": {}, "items": [one] if pods else []})

    async def listed(request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "app=controller"
        containers = [{"name": "manager"}, {"name": "sidecar"}][: 1 if pods == 1 else 2]
        items = [
            {
                "metadata": {"name": f"controller-{number}", "namespace": "flux-system"},
                "spec": {"containers": containers},
            }
            for number in range(pods)
        ]
        return web.json_response({"metadata": {}, "items": items})

    async def log(request: web.Request) -> web.Response:
        asked.append(dict(request.query))
        if broken and request.match_info["name"].endswith("0"):
            return web.json_response({"kind": "Status", "code": 400, "message": "it is not up yet"}, status=400)
        return web.Response(text=LOG)

    app = web.Application()
    app.router.add_get("/apis/apps/v1/namespaces/flux-system/deployments", deployments)
    app.router.add_get("/api/v1/namespaces/flux-system/pods", listed)
    app.router.add_get(PATH, log)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        config = {
            "clusters": [{"name": "c", "cluster": {"server": f"http://{host}:{port}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "current-context": "c",
        }
        path = folder / "kubeconfig"
        await asyncio.to_thread(path.write_text, json.dumps(config))
        yield f"--kubeconfig={path}", asked
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param("-A", SHOWN, id="all"),
        pytest.param("-n b", SHOWN[1:3], id="of one namespace"),
        pytest.param("-A --level error", SHOWN[1:2], id="of one level"),
        pytest.param("-A --kind kustomization", SHOWN[1:3], id="of one kind, in any case"),
        pytest.param("-A --name apps", SHOWN[:2], id="of one name"),
        pytest.param("-A --kind Kustomization --name web --level info", SHOWN[2:3], id="all filters"),
        pytest.param("-n nowhere", [], id="of a namespace that nobody tells of"),
        pytest.param("-A --follow", SHOWN, id="until the pod ends"),
    ],
)
@pytest.mark.scenario("cli-12")
async def test_filters(verbs_imported: None, tmp_path: Path, options: str, expected: list[str]) -> None:
    async with serving(tmp_path) as (where, _):
        ended = await asyncio.to_thread(command, "logs", where, *options.split())
    assert (ended.code, ended.out.splitlines(), ended.err) == (0, expected, "")


async def test_what_the_pods_are_asked(verbs_imported: None, tmp_path: Path) -> None:
    async with serving(tmp_path, pods=2) as (where, asked):
        ended = await asyncio.to_thread(command, "logs", where, "-A", "--tail=5", "--since=90s", "-o", "json")
    assert asked == [{"tailLines": "5", "sinceSeconds": "90", "container": "manager"}] * 2
    assert [json.loads(line) for line in ended.out.splitlines()] == LINES * 2


async def test_one_pod_that_cannot_be_read(verbs_imported: None, tmp_path: Path) -> None:
    async with serving(tmp_path, pods=2, broken=True) as (where, _):
        ended = await asyncio.to_thread(command, "logs", where, "-A")
    assert (ended.code, ended.out.splitlines()) == (1, SHOWN)
    assert ended.err.splitlines() == [
        "✗ failed getting logs of controller-0: it is not up yet",
        "✗ failed to collect logs from all controller pods",
    ]


async def test_no_pods(verbs_imported: None, tmp_path: Path) -> None:
    async with serving(tmp_path, pods=0) as (where, _):
        ended = await asyncio.to_thread(command, "logs", where)
    sentence = "controllers that run elsewhere, as with penstock up, write their log there"
    assert ended == Ended(1, "", f'✗ no Flux pods found in namespace "flux-system"; {sentence}\n')


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param("--since=5m --since-time=2026-01-01T00:00:00Z", "at most one of", id="two beginnings"),
        pytest.param("--since-time=yesterday", "is not a valid (RFC3339) time", id="a time that is none"),
        pytest.param("--level=loud", "is not one of debug, info, error", id="a level that there is not"),
        pytest.param("--since=soon", "--since: ", id="a span that is none"),
    ],
)
@pytest.mark.scenario("cli-12")
def test_bad_input_is_one_sentence(options: str, sentence: str) -> None:
    ended = command("logs", *options.split())
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1
