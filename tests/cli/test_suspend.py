"""`penstock suspend`, `resume`, `pin` and `unpin`: what is written into objects, and what is waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.cli.stage import REVISION, Stage, command, handled, ready

if TYPE_CHECKING:
    from penstock.kube import Object

REASON = "penstock.dev/suspend-reason"
UNTIL = "penstock.dev/suspend-until"


async def _suspended(stage: Stage, kind: str = "Kustomization") -> dict[str, bool]:
    names = ("apps", "infra") if kind == "Kustomization" else ("apps",)
    return {name: bool((await stage.read(kind, name))["spec"].get("suspend")) for name in names}


@pytest.mark.scenario("cli-16")
async def test_several_names_of_which_one_is_missing(stage: Stage) -> None:
    await stage.kustomization("apps")
    await stage.kustomization("infra")
    ended = await stage.run("suspend", "ks", "apps", "missing", "apps")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines() == [
        f"► suspending kustomization apps in {stage.namespace} namespace",
        "✔ kustomization suspended",
        f"✗ Kustomization missing not found in {stage.namespace} namespace",
    ]
    assert await _suspended(stage) == {"apps": True, "infra": False}
    assert (await stage.run("suspend", "ks", "missing")).code == 1


@pytest.mark.scenario("cli-16")
async def test_all(stage: Stage) -> None:
    await stage.kustomization("apps")
    await stage.kustomization("infra")
    assert (await stage.run("suspend", "ks", "--all")).code == 0
    assert await _suspended(stage) == {"apps": True, "infra": True}
    ended = await stage.run("resume", "ks", "--all")
    assert ended.code == 0
    assert "◎" not in ended.err
    assert await _suspended(stage) == {"apps": False, "infra": False}
    assert (await stage.run("suspend", "source", "git", "--all")).code == 1


async def test_with_a_reason_and_an_end(stage: Stage) -> None:
    await stage.kustomization("apps")
    before = datetime.now(UTC).replace(microsecond=0)
    ended = await stage.run("suspend", "ks", "apps", "--reason=the database moves", "--for=2h")
    notes = (await stage.read("Kustomization", "apps"))["metadata"]["annotations"]
    assert notes[REASON] == "the database moves"
    assert before + timedelta(hours=2) <= datetime.fromisoformat(notes[UNTIL]) <= datetime.now(UTC) + timedelta(hours=2)
    assert ended.err.splitlines()[-1] == f"✔ kustomization suspended until {notes[UNTIL]}"

    await stage.run("suspend", "ks", "apps", "--until=2999-01-31T12:00:00+02:00")
    notes = (await stage.read("Kustomization", "apps"))["metadata"]["annotations"]
    assert notes == {UNTIL: "2999-01-31T10:00:00Z"}

    await stage.run("resume", "ks", "apps", "--no-wait")
    assert not (await stage.read("Kustomization", "apps"))["metadata"].get("annotations")


async def test_resume_waits_for_one(stage: Stage) -> None:
    await stage.kustomization("apps", suspend=True)

    def play(obj: Object) -> Object | None:
        return None if obj["spec"].get("suspend") else handled(obj, ready(message=f"Applied revision: {REVISION}"))

    async with stage.played("Kustomization", play):
        ended = await stage.run("resume", "kustomization", "apps")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"► resuming kustomization apps in {stage.namespace} namespace",
        "✔ kustomization resumed",
        "◎ waiting for Kustomization reconciliation",
        "✔ Kustomization apps reconciliation completed",
        f"✔ applied revision {REVISION}",
    ]


@pytest.mark.scenario("cli-16")
async def test_resume_of_several_of_which_one_fails(stage: Stage) -> None:
    await stage.kustomization("apps", suspend=True)
    await stage.kustomization("infra", suspend=True)

    def play(obj: Object) -> Object | None:
        if obj["spec"].get("suspend"):
            return None
        broken = obj["metadata"]["name"] == "infra"
        return handled(obj, ready("False", "no such path", reason="BuildFailed") if broken else ready())

    async with stage.played("Kustomization", play):
        ended = await stage.run("resume", "ks", "infra", "apps", "missing", "--wait")
    assert ended.code == 1
    assert [line for line in ended.err.splitlines() if line[0] in "✔✗" and "resumed" not in line] == [
        f"✗ Kustomization object 'missing' not found in {stage.namespace} namespace",
        "✔ Kustomization apps reconciliation completed",
        f"✔ applied revision {REVISION}",
        "✗ Kustomization infra reconciliation failed: no such path",
        "✗ reconciliation failed for 1 Kustomization(s)",
    ]


async def test_resume_when_nobody_answers(stage: Stage) -> None:
    await stage.kustomization("apps", suspend=True)
    ended = await stage.run("resume", "ks", "apps", "--timeout=200ms")
    assert ended.code == 124
    assert ended.err.splitlines()[-1] == "✗ out of time: reconciliation failed for 1 Kustomization(s)"


async def test_pin_and_unpin(stage: Stage) -> None:
    await stage.kustomization("apps")
    ended = await stage.run("pin", "kustomization", "apps", "--revision=main@sha1:1a2b3c4d")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"► pinning kustomization apps in {stage.namespace} namespace",
        "✔ kustomization pinned to main@sha1:1a2b3c4d",
    ]
    obj = await stage.read("Kustomization", "apps")
    assert obj["metadata"]["annotations"] == {"penstock.dev/revision": "main@sha1:1a2b3c4d"}
    assert (await stage.run("pin", "ks", "apps")).err.splitlines()[-1] == f"✔ kustomization pinned to {REVISION}"
    assert (await stage.run("unpin", "ks", "apps")).code == 0
    assert not (await stage.read("Kustomization", "apps"))["metadata"].get("annotations")
    assert (await stage.run("unpin", "ks", "missing")).code == 1
    await stage.kustomization("new", revision="")
    assert "say --revision" in (await stage.run("pin", "ks", "new")).err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param("suspend ks", "kustomization name is required, or --all", id="no name"),
        pytest.param("suspend ks apps --all", "not both", id="names and all"),
        pytest.param("suspend source external x", "cannot be suspended", id="a kind that cannot be"),
        pytest.param("suspend source git x --for=1h", "only a Kustomization takes", id="the end of a source"),
        pytest.param("suspend ks x --for=1h --until=2999-01-01", "not both", id="two ends"),
        pytest.param("suspend ks x --for=soon", "--for: ", id="a time that is none"),
        pytest.param("suspend ks x --until=tomorrow", "is not a time like", id="a moment that is none"),
        pytest.param("suspend ks x --until=2020-01-01T00:00:00Z", "is over already", id="a moment that is over"),
        pytest.param("resume ks", "kustomization name is required, or --all", id="nothing to resume"),
        pytest.param("pin source git x", "only a Kustomization can be pinned", id="a pinned source"),
        pytest.param("pin ks", "kustomization name is required", id="nothing to pin"),
    ],
)
def test_bad_input_is_one_sentence(arguments: str, sentence: str) -> None:
    ended = command(*arguments.split())
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1
