from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.embedded import simulate_pods
from penstock.kube import connect, load
from tests.controlplane.build import NoGo, find_go, kubernetes_version
from tests.controlplane.plane import ControlPlane, KubectlError, controlplane
from tests.controlplane.process import ProcessError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncGenerator[ControlPlane]:
    """One of our own: these tests kill its programs."""
    try:
        find_go()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    async with controlplane() as started:
        yield started


async def test_kubectl_sees_the_release_that_the_go_module_names(plane: ControlPlane) -> None:
    version = json.loads(await plane.kubectl("version", "--output=json"))
    assert version["serverVersion"]["gitVersion"] == kubernetes_version()
    assert version["clientVersion"]["gitVersion"] == kubernetes_version()


async def test_kubectl_lists_the_namespaces_of_a_new_cluster(plane: ControlPlane) -> None:
    names = await plane.kubectl("get", "namespaces", "--output=name")
    assert "namespace/default" in names.split()


async def test_kubectl_that_fails_says_why(plane: ControlPlane) -> None:
    with pytest.raises(KubectlError, match=r"kubectl get pod nobody: .*pods \"nobody\" not found"):
        await plane.kubectl("get", "pod", "nobody")


async def test_the_kubeconfig_is_an_admins(plane: ControlPlane) -> None:
    assert (await plane.kubectl("auth", "can-i", "*", "*", "--all-namespaces")).strip() == "yes"


async def test_a_client_certificate_is_a_user_and_its_group(plane: ControlPlane) -> None:
    leaf = plane.credentials.client_certificate("jane", "system:masters")
    certificate, key = plane.folder / "jane.crt", plane.folder / "jane.key"
    leaf.cert_chain_pems[0].write_to_path(certificate)
    leaf.private_key_pem.write_to_path(key)
    who = await plane.kubectl(
        "auth",
        "whoami",
        "--kubeconfig=/dev/null",
        f"--server={plane.server}",
        f"--certificate-authority={plane.ca}",
        f"--client-certificate={certificate}",
        f"--client-key={key}",
        "--output=json",
    )
    user = json.loads(who)["status"]["userInfo"]
    assert user["username"] == "jane"
    assert "system:masters" in user["groups"]


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("program", ["etcd", "apiserver", "controllers"])
async def test_each_program_restarts_alone_and_nothing_is_lost(plane: ControlPlane, program: str, end: str) -> None:
    process = getattr(plane, program)
    others = {other.name: other.pid for other in plane.processes if other is not process}
    before = process.pid
    name = f"written-before-{program}-{end}"
    await plane.kubectl("create", "configmap", name, "--from-literal=key=value")

    await getattr(process, end)()
    assert not process.running
    await process.start()

    assert process.pid != before
    assert {other.name: other.pid for other in plane.processes if other is not process} == others
    assert await plane.kubectl("get", "configmap", name, "--output=jsonpath={.data.key}") == "value"


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers: [{name: main, image: "registry.test/web:1"}]
"""


async def test_a_deployment_rolls_out_although_the_api_server_went_away_meanwhile(plane: ControlPlane) -> None:
    settings = await asyncio.to_thread(load, plane.kubeconfig)
    async with connect(settings) as client:
        simulation = asyncio.create_task(simulate_pods(client))
        await plane.kubectl("apply", "--filename=-", stdin=DEPLOYMENT)
        await plane.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        await plane.apiserver.kill()
        await plane.apiserver.start()
        await plane.kubectl("scale", "deployment/web", "--replicas=4")
        said = await plane.kubectl("rollout", "status", "deployment/web", "--timeout=40s")
        assert "successfully rolled out" in said
        assert not simulation.done()
        simulation.cancel()
        with suppress(asyncio.CancelledError):
            await simulation


async def test_controllers_work_again_after_a_restart(plane: ControlPlane) -> None:
    await plane.controllers.kill()
    await plane.kubectl("create", "namespace", "while-away")
    await plane.controllers.start()
    await plane.kubectl("wait", "serviceaccount/default", "--namespace=while-away", "--for=create", "--timeout=30s")


async def test_without_controllers_the_api_serves_and_nothing_else_happens(plane: ControlPlane) -> None:
    async with controlplane(controllers=False) as bare:
        assert {process.name for process in bare.processes if process.running} == {"etcd", "kube-apiserver"}
        assert bare.server != plane.server
        await bare.kubectl("create", "namespace", "alone")
        assert await bare.kubectl("get", "serviceaccounts", "--all-namespaces", "--output=name") == ""
    assert not any(process.running for process in bare.processes)
    assert not bare.folder.exists()


async def test_a_program_that_does_not_start_says_why_and_keeps_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where the folder that stays is cleared away
    with pytest.raises(ProcessError, match="unknown flag: --nonsense") as failed:
        async with controlplane(apiserver_flags=["--nonsense"]):
            pass
    assert "kube-apiserver ended with exit code 1" in str(failed.value)
    assert "--nonsense" in failed.value.log.read_text()
    assert str(failed.value.log) in str(failed.value)
