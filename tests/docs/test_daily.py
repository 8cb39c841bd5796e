"""The guide to the verbs of every day, followed on a cluster whose controller runs.

Its commands run in this process, each in a thread: twenty starts of Python would be most of the time.
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.controllers.kustomization.settings import Settings
from penstock.runtime import Metrics
from tests.cli.stage import Ended, Stage, artifact, command, handled, load, ready
from tests.controllers.kustomization.manifests import config_map
from tests.controllers.kustomization.world import running
from tests.docs.blocks import blocks

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "daily.md"
FOR_THE_SHELL = "source <(penstock completion bash)"
"""The one line that only a shell can run; the tests of the completion do."""


@pytest.fixture
def metrics() -> Metrics:
    """Made outside the event loop, as everything whose first import reads files."""
    load()
    return Metrics()


def commands() -> list[list[str]]:
    """The arguments of every command in the guide, without what the shell does with its output."""
    text = GUIDE.read_text(encoding="utf-8")
    lines = [line for block in blocks(text) if block.words == ("sh",) for line in block.text.splitlines()]
    assert FOR_THE_SHELL in lines
    words = [shlex.split(line) for line in lines if line != FOR_THE_SHELL]
    assert all(first == "penstock" for first, *_ in words)
    ends = [min((one.index(sign) for sign in "|>" if sign in one), default=len(one)) for one in words]
    return [one[1:end] for one, end in zip(words, ends, strict=True)]


@pytest.mark.timeout(180)  # twenty commands, each of which has its own bound
async def test_the_guide_can_be_followed(
    cluster: Cluster, tmp_path: Path, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.setenv("FLUX_SYSTEM_NAMESPACE", cluster.namespace)
    settings = Settings(runtime_namespace=cluster.namespace, watch_namespace=cluster.namespace)
    ended: dict[str, Ended] = {}
    async with running(cluster, settings, tmp_path, metrics) as world:
        made = await world.source("v1.0.0", {"config.yaml": config_map("settings")})

        def fetched(obj: Object) -> Object | None:
            """No source controller runs: what is asked for is there already."""
            return handled(obj, ready(message="stored artifact"), artifact=artifact("v1.0.0") | made)

        await world.kustomization()
        await world.until_applied("v1.0.0")
        async with Stage(cluster).played("GitRepository", fetched):
            for words in await asyncio.to_thread(commands):
                ended[shlex.join(words)] = told = await asyncio.to_thread(command, *words)
                assert told.code == 0, (words, told)
        await world.until_gone()
    told = ended["reconcile kustomization apps --with-source"]
    assert told.err.splitlines()[-1] == "✔ applied revision v1.0.0"
    assert f"└── ConfigMap/{cluster.namespace}/settings" in ended["tree kustomization apps"].out
    assert len(ended) >= 12
