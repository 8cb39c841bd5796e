from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.kube.resources import CONFIG_MAPS, NAMESPACES, PODS

if TYPE_CHECKING:
    from tests.clusters import Cluster

SOURCE = """
import pytest

async def test_shared(cluster): ...

@pytest.mark.real
async def test_only_real(cluster): ...

def test_no_cluster(): ...
"""


def test_make_test_needs_no_control_plane(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-m", "not real", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*::test_shared?embedded?", "*::test_no_cluster", "2/4 tests collected*"])


def test_the_backend_is_part_of_the_name(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--backend=real", "-m", "real", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*::test_shared?real?", "*::test_only_real?real?", "2/3 tests collected*"])


def test_a_backend_that_does_not_exist(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--backend=moon")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*invalid choice: 'moon'*"])


def test_without_go_the_real_backend_says_why_it_is_not_there(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_E2E_KUBECONFIG", raising=False)
    monkeypatch.setenv("PATH", str(pytester.path))
    result = run(pytester, "--backend=real")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*there is no real control plane: no program called 'go' is on the PATH*"])


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    pytester.makeconftest('pytest_plugins = ["tests.clusters"]')
    pytester.makeini(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nmarkers = real: needs it\n"
    )
    pytester.makepyfile(SOURCE)
    return pytester.runpytest_inprocess(*arguments)


async def test_the_namespace_of_a_test_is_its_own_and_ready_for_pods(cluster: Cluster) -> None:
    assert cluster.namespace.startswith("test-the-namespace-of-a-test-")
    namespace = await cluster.client.get(NAMESPACES, cluster.namespace)
    assert namespace["status"]["phase"] == "Active"
    await cluster.client.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, namespace=cluster.namespace)
    listing = await cluster.client.list(CONFIG_MAPS, cluster.namespace, fields="metadata.name=one")
    assert [item["metadata"]["name"] for item in listing.items] == ["one"]


async def test_containers_may_be_privileged(cluster: Cluster) -> None:
    container = {"name": "agent", "image": "agent:1", "securityContext": {"privileged": True}}
    pod = {"metadata": {"name": "agent"}, "spec": {"containers": [container]}}
    made = await cluster.client.create(PODS, pod, namespace=cluster.namespace)
    assert made["spec"]["containers"][0]["securityContext"] == {"privileged": True}
