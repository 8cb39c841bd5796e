"""The real kubectl against the embedded cluster: the verbs that people use every day."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson
import pytest
import pytest_asyncio

from penstock.embedded import cluster
from tests.controlplane.build import build

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube.resources import Object

WITHIN = 60.0

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class Kubectl:
    """kubectl as the admin of a cluster."""

    program: Path
    kubeconfig: Path
    cache: Path

    async def __call__(self, *arguments: str, stdin: Object | None = None) -> tuple[int, str]:
        """Its exit code, and all that it says."""
        process = await asyncio.create_subprocess_exec(
            *(str(self.program), "kubectl", f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache}", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(WITHIN):
                out, _ = await process.communicate(orjson.dumps(stdin) if stdin is not None else b"")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, out.decode()

    async def done(self, *arguments: str, stdin: Object | None = None) -> str:
        """What it says when it succeeds."""
        code, said = await self(*arguments, stdin=stdin)
        assert code == 0, said
        return said


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kubectl(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Kubectl]:
    program = await asyncio.to_thread(build)
    async with cluster() as running:
        yield Kubectl(program, running.kubeconfig, tmp_path_factory.mktemp("kubectl"))


def config(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


async def test_api_resources_names_kinds_with_their_short_names(kubectl: Kubectl) -> None:
    lines = [line.split() for line in (await kubectl.done("api-resources")).splitlines()]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in lines
    assert ["namespaces", "ns", "v1", "false", "Namespace"] in lines


async def test_apply_creates_leaves_alone_and_configures(kubectl: Kubectl) -> None:
    for sent, word in ((config("a", x="1"), "created"), (config("a", x="1"), "unchanged"), (config("a"), "configured")):
        assert await kubectl.done("apply", "-f", "-", stdin=sent) == f"configmap/a {word}\n"


async def test_server_side_apply_tells_conflicts(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    said = await kubectl.done(*apply, "--field-manager=one", stdin=config("shared", x="1"))
    assert said == "configmap/shared serverside-applied\n"
    code, said = await kubectl(*apply, "--field-manager=two", stdin=config("shared", x="2"))
    assert (code, 'conflict with "one": .data.x' in said) == (1, True)
    await kubectl.done(*apply, "--field-manager=two", "--force-conflicts", stdin=config("shared", x="2"))


async def test_diff_shows_what_an_apply_would_change(kubectl: Kubectl) -> None:
    await kubectl.done("apply", "-f", "-", stdin=config("differs", x="1"))
    code, said = await kubectl("diff", "-f", "-", stdin=config("differs", x="2"))
    assert code == 1
    assert '-  x: "1"\n+  x: "2"' in said
    assert await kubectl.done("diff", "-f", "-", stdin=config("differs", x="1")) == ""


async def test_the_three_patches(kubectl: Kubectl) -> None:
    await kubectl.done("create", "-f", "-", stdin=config("patched", x="1"))
    for form, patch in (
        ("strategic", '{"data":{"a":"1"}}'),
        ("merge", '{"data":{"b":"2"}}'),
        ("json", '[{"op":"replace","path":"/data/x","value":"3"}]'),
    ):
        said = await kubectl.done("patch", "configmap", "patched", f"--type={form}", "-p", patch)
        assert said == "configmap/patched patched\n"
    said = await kubectl.done("get", "configmap", "patched", "-o", "jsonpath={.data}")
    assert orjson.loads(said) == {"a": "1", "b": "2", "x": "3"}


async def test_a_deployment_is_awaited_shown_described_and_deleted(kubectl: Kubectl) -> None:
    await kubectl.done("apply", "-f", "-", stdin=deployment("web"))
    said = await kubectl.done("wait", "--for=condition=Available", "deployment/web", "--timeout=30s")
    assert said == "deployment.apps/web condition met\n"

    head, row = (line.split() for line in (await kubectl.done("get", "deployments")).splitlines())
    assert head == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row[:4] == ["web", "2/2", "2", "2"]

    said = await kubectl.done("describe", "deployment", "web")
    assert "2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in said

    said = await kubectl.done("delete", "deployment", "web", "--timeout=30s")
    assert said.startswith('deployment.apps "web" deleted')
    code, said = await kubectl("get", "deployment", "web")
    assert (code, said) == (1, 'Error from server (NotFound): deployments.apps "web" not found\n')


async def test_debug_adds_a_container_to_a_pod_that_runs(kubectl: Kubectl) -> None:
    await kubectl.done("run", "watched", "--image=web:1")
    await kubectl.done("wait", "--for=condition=Ready", "pod/watched", "--timeout=30s")
    await kubectl.done("debug", "watched", "--image=debug:1", "--container=debug", "--attach=false")
    names = await kubectl.done("get", "pod", "watched", "-o", "jsonpath={.spec.ephemeralContainers[*].name}")
    assert names == "debug"


async def test_a_pod_that_runs_is_resized_in_place(kubectl: Kubectl) -> None:
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "grown"}, "spec": {"containers": [container]}}
    await kubectl.done("apply", "-f", "-", stdin=pod)
    await kubectl.done("wait", "--for=condition=Ready", "pod/grown", "--timeout=30s")
    wanted = '{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m"}}}]}}'
    await kubectl.done("patch", "pod", "grown", "--subresource=resize", "-p", wanted)
    told = "jsonpath={.status.containerStatuses[0].resources.requests.cpu}"
    await kubectl.done("wait", f"--for={told}=200m", "pod/grown", "--timeout=30s")
