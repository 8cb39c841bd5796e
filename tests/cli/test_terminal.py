"""What people see in a terminal: colour, questions, and tables that go on."""

from __future__ import annotations

import pytest

from penstock.cli.catalogue import by_kind
from penstock.kube.errors import NotFound
from penstock.kube.resources import EVENTS
from tests.cli.stage import REVISION, SHORT, Stage, penstock, ready
from tests.terminal import terminal

GREEN, RED = "\x1b[32m", "\x1b[31m"


@pytest.mark.scenario("cli-10")
async def test_a_table_goes_on(stage: Stage) -> None:
    """The header stands there once; every change of a row is a new row; Ctrl-C ends it."""
    await stage.kustomization("apps")
    entry = by_kind("Kustomization")
    assert entry is not None
    async with terminal(*penstock(*stage.arguments("get", "ks", "-w"))) as shown:
        await shown.until("MESSAGE")
        await shown.until(f"Applied revision: {SHORT}")
        status = {"conditions": [ready("False", "no such path: ./deploy")]}
        await stage.client.patch(entry.resource, "apps", stage.namespace, {"status": status}, subresource="status")
        await shown.until("no such path: ./deploy")
        # A change that no column shows is none.
        await stage.client.patch(entry.resource, "apps", stage.namespace, {"metadata": {"labels": {"a": "b"}}})
        await stage.kustomization("web")
        assert "no such path" not in await shown.until("web")
        await stage.client.delete(entry.resource, "apps", stage.namespace)
        await shown.until("no such path: ./deploy")
        shown.interrupt()
        assert await shown.ended() == 130
    assert shown.text.count("MESSAGE") == 1
    assert f"\t{GREEN}True " in shown.text
    assert f"\t{RED}False" in shown.text


async def test_no_colour_for_those_who_want_none(stage: Stage) -> None:
    await stage.kustomization("apps")
    variables = {"NO_COLOR": "1"}
    async with terminal(*penstock(*stage.arguments("get", "ks")), environment=variables) as shown:
        assert await shown.ended() == 0
    assert "\x1b" not in shown.text
    assert "apps\tmain@sha1:1a2b3c4d\tFalse    \t" in shown.text


async def test_a_question_before_a_deletion(stage: Stage) -> None:
    await stage.kustomization("apps", inventory=("_a__Namespace", "a_b__ConfigMap", "a_c__ConfigMap"))
    question = (
        "Are you sure you want to delete this kustomization "
        "(3 objects that it has applied will be deleted with it)? [y/N] "
    )
    async with terminal(*penstock(*stage.arguments("delete", "ks", "apps"))) as shown:
        await shown.until(question)
        shown.type("n\n")
        assert await shown.ended() == 1
    assert "aborting: nothing was deleted" in shown.text
    assert (await stage.read("Kustomization", "apps"))["status"]["lastAppliedRevision"] == REVISION
    async with terminal(*penstock(*stage.arguments("delete", "ks", "apps"))) as shown:
        await shown.until(question)
        shown.type("y\n")
        assert await shown.ended() == 0
    assert f"{GREEN}✔\x1b[0m kustomization deleted" in shown.text
    with pytest.raises(NotFound):
        await stage.read("Kustomization", "apps")


async def test_events_come_as_they_are_told(stage: Stage) -> None:
    async with terminal(*penstock(*stage.arguments("events", "-w", "--types=Warning"))) as shown:
        await shown.until("MESSAGE")
        for kind, message in (("Normal", "all is well"), ("Warning", "it broke")):
            involved = {"kind": "Kustomization", "name": "apps", "namespace": stage.namespace}
            metadata = {"generateName": "told-", "namespace": stage.namespace}
            body = {"metadata": metadata, "involvedObject": involved, "type": kind, "reason": "Told"}
            await stage.client.create(EVENTS, body | {"message": message}, namespace=stage.namespace)
        row = await shown.until("it broke")
        assert "all is well" not in row
        assert "Kustomization/apps" in row
        shown.interrupt()
        assert await shown.ended() == 130
