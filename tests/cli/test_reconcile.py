"""`penstock reconcile`: asks for a run, waits for its outcome by watch, and says what Flux says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.stage import HASH, REVISION, Stage, artifact, command, handled, ready

if TYPE_CHECKING:
    from penstock.kube import Object

NEXT = f"main@sha1:{HASH[::-1]}"


def fetched(obj: Object) -> Object | None:
    return handled(obj, ready(message=f"stored artifact for revision '{NEXT}'"), artifact=artifact(NEXT))


def applied(obj: Object) -> Object | None:
    return handled(obj, ready(message=f"Applied revision: {NEXT}"), lastAppliedRevision=NEXT)


def failed(obj: Object) -> Object | None:
    return handled(obj, ready("False", "no such directory: ./deploy", reason="BuildFailed"))


async def test_a_source(stage: Stage) -> None:
    await stage.repository()
    async with stage.played("GitRepository", fetched):
        ended = await stage.run("reconcile", "source", "git", "apps")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines() == [
        f"► annotating GitRepository apps in {stage.namespace} namespace",
        "✔ GitRepository annotated",
        "◎ waiting for GitRepository reconciliation",
        f"✔ fetched revision {NEXT}",
    ]


@pytest.mark.scenario("cli-15")
async def test_a_kustomization_after_its_source(stage: Stage) -> None:
    await stage.repository()
    await stage.kustomization()
    async with stage.played("GitRepository", fetched), stage.played("Kustomization", applied):
        ended = await stage.run("reconcile", "ks", "apps", "--with-source")
    assert ended.code == 0
    assert [line for line in ended.err.splitlines() if line.startswith("✔")] == [
        "✔ GitRepository annotated",
        f"✔ fetched revision {NEXT}",
        "✔ Kustomization annotated",
        f"✔ applied revision {NEXT}",
    ]


@pytest.mark.scenario("cli-15")
async def test_what_does_not_go_well(stage: Stage) -> None:
    """A failed run is told at once, with its sentence; nothing waits for the time-out."""
    await stage.repository()
    await stage.kustomization()
    await stage.kustomization("resting", suspend=True)
    await stage.kustomization("made", source={"kind": "ExternalArtifact"})
    await stage.create("ExternalArtifact", "apps", {})
    async with stage.played("Kustomization", failed), stage.played("GitRepository", failed):
        for arguments, code, said in (
            ("ks apps", 1, "✗ Kustomization reconciliation failed: no such directory: ./deploy"),
            ("source git apps", 1, "✗ GitRepository reconciliation failed: 'no such directory: ./deploy'"),
            ("ks apps --with-source", 1, "✗ GitRepository reconciliation failed: 'no such directory: ./deploy'"),
            ("ks resting", 1, "✗ resource is suspended; take it up again with 'penstock resume kustomization resting"),
            ("ks made --with-source", 1, "✗ cannot reconcile source of kind ExternalArtifact"),
            ("ks missing", 1, "✗ Kustomization object 'missing' not found"),
            ("source external apps", 0, "✔ reconciliation not supported by the object"),
        ):
            ended = await stage.run("reconcile", *arguments.split())
            assert ended.code == code, ended
            assert ended.err.splitlines()[-1].startswith(said), ended.err


async def test_a_dependency_that_is_not_ready_is_waited_for(stage: Stage) -> None:
    """Ready is False then, but nothing has failed: it goes on as soon as the other one is ready."""
    await stage.kustomization()

    def play(obj: Object) -> Object | None:
        """Handle the wish at once without being able to, and then be."""
        if waits := handled(obj, ready("False", "dependency 'infra' is not ready", reason="DependencyNotReady")):
            return waits
        [condition] = obj["status"]["conditions"]
        if condition["reason"] != "DependencyNotReady":
            return None
        return {"conditions": [ready(message=f"Applied revision: {NEXT}")], "lastAppliedRevision": NEXT}

    async with stage.played("Kustomization", play):
        ended = await stage.run("reconcile", "ks", "apps")
    assert ended.code == 0, ended
    assert ended.err.splitlines()[-1] == f"✔ applied revision {NEXT}"


async def test_nobody_answers(stage: Stage) -> None:
    await stage.kustomization()
    ended = await stage.run("reconcile", "ks", "apps", "--timeout=200ms")
    assert ended.code == 124
    last = ended.err.splitlines()[-1]
    assert last.startswith(f"✗ out of time: Kustomization/{stage.namespace}/apps is not reconciled after 0.2 s")
    assert last.endswith("does a controller run?")
    asked = await stage.read("Kustomization", "apps")
    assert asked["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].endswith("Z")
    assert asked["status"]["lastAppliedRevision"] == REVISION


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param("ks", "kustomization name is required", id="no name"),
        pytest.param("ks a b", "one name is enough", id="two names"),
        pytest.param("all x", "takes one kind", id="all kinds"),
        pytest.param("source git x --with-source", "has no source", id="the source of a source"),
        pytest.param("ks x --timeout soon", "--timeout: ", id="a time that is none"),
    ],
)
def test_bad_input_is_one_sentence(arguments: str, sentence: str) -> None:
    ended = command("reconcile", *arguments.split())
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1
