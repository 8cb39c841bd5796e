"""The same cluster seen and changed by `flux` and by us: where both have a verb, both say the same."""

from __future__ import annotations

import pytest

from penstock.kube.resources import CONFIG_MAPS
from tests.cli.stage import Stage, artifact, handled, ready
from tests.cli.test_events import tell
from tests.cli.test_inspecting import owned

pytestmark = pytest.mark.real


@pytest.mark.scenario("cli-13")
async def test_trace(stage: Stage) -> None:
    origin = {"org.opencontainers.image.revision": "6.1.6", "org.opencontainers.image.source": "https://example.com"}
    status = {"conditions": [ready("False", "no such tag")], "artifact": artifact("latest", metadata=origin)}
    await stage.create("OCIRepository", "apps", {"interval": "1m", "url": "oci://example.com/apps"}, status)
    await stage.kustomization(source={"kind": "OCIRepository"})
    body = {"metadata": {"name": "settings", "labels": owned(stage)}}
    await stage.client.create(CONFIG_MAPS, body, namespace=stage.namespace)
    assert await stage.run("trace", "cm/settings") == await stage.flux("trace", "cm/settings")


@pytest.mark.scenario("cli-11")
async def test_events(stage: Stage) -> None:
    await tell(stage, "Kustomization/apps", "later", ago=100_000, count=3)
    await tell(stage, "GitRepository/apps", "first", ago=200_000, kind="Warning")
    await tell(stage, "Pod/apps", "not ours", ago=100_000)
    for arguments in ((), ("--types=warning",), ("--types=loud",)):
        ours, theirs = await stage.run("events", *arguments), await stage.flux("events", *arguments)
        assert (ours.out, bool(ours.code)) == (theirs.out, bool(theirs.code))


@pytest.mark.scenario("cli-15")
@pytest.mark.scenario("cli-16")
async def test_acting(stage: Stage) -> None:
    await stage.kustomization()
    await stage.repository()
    async with (
        stage.played("Kustomization", lambda obj: handled(obj, ready())),
        stage.played("GitRepository", lambda obj: handled(obj, ready(), artifact=artifact())),
    ):
        for words in ("suspend ks apps missing", "resume ks apps", "reconcile ks apps --with-source"):
            assert await stage.run(*words.split()) == await stage.flux(*words.split())
