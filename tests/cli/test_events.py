"""`penstock events`: which events are shown, in which order, and with which words."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.cli.ages import age
from penstock.kube.resources import EVENTS, NAMESPACES
from tests.cli.stage import Ended, Stage, command


async def tell(
    stage: Stage, about: str, message: str, *, ago: float = 60, kind: str = "Normal", namespace: str = "", **more: Any
) -> None:
    """An event about an object, so many seconds old."""
    namespace = namespace or stage.namespace
    of, _, name = about.partition("/")
    moment = (datetime.now(UTC) - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "metadata": {"generateName": "told-", "namespace": namespace},
        "involvedObject": {"kind": of, "name": name, "namespace": namespace, "apiVersion": "v1"},
        "type": kind,
        "reason": "Told",
        "message": message,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
        **more,
    }
    await stage.client.create(EVENTS, body, namespace=namespace)


async def _elsewhere(stage: Stage) -> str:
    """Another namespace, that of a source."""
    made = await stage.client.create(NAMESPACES, {"metadata": {"generateName": "sources-"}})
    name: str = made["metadata"]["name"]
    return name


def messages(ended: Ended) -> list[str]:
    return [row[-1] for row in ended.rows[1:]]


@pytest.mark.scenario("cli-11")
async def test_which_and_in_which_order(stage: Stage) -> None:
    sources = await _elsewhere(stage)
    await stage.kustomization("apps", source={"namespace": sources})
    await tell(stage, "Kustomization/apps", "third", ago=3600, kind="Warning")
    await tell(stage, "Kustomization/apps", "second", ago=7265)
    await tell(stage, "Kustomization/other", "first", ago=90000)
    await tell(stage, "Pod/apps", "not ours")
    await tell(stage, "GitRepository/apps", "fetched", ago=4985, namespace=sources)
    ended = await stage.run("events")
    assert (ended.code, ended.err) == (0, "")
    assert ended.rows == [
        ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"],
        ["25h", "Normal", "Told", "Kustomization/other", "first"],
        ["121m", "Normal", "Told", "Kustomization/apps", "second"],
        ["60m", "Warning", "Told", "Kustomization/apps", "third"],
    ]
    for arguments, expected in (
        ("--types warning", ["third"]),
        ("--types Normal,Warning", ["first", "second", "third"]),
        ("--for kustomization", ["first", "second", "third"]),
        ("--for Kustomization/apps", ["second", "fetched", "third"]),
        ("--for ks/apps", ["second", "fetched", "third"]),
        ("--for kustomization/apps --types=Warning", ["third"]),
    ):
        assert messages(await stage.run("events", *arguments.split())) == expected, arguments
    assert (await stage.run("events", "--for", "Kustomization/apps")).rows[2][:2] == [sources, "83m"]
    everywhere = await stage.run("events", "-A")
    assert everywhere.rows[0][0] == "NAMESPACE"
    assert {stage.namespace, sources} <= {row[0] for row in everywhere.rows[1:]}
    told = json.loads((await stage.run("events", "--for=Kustomization/other", "--output=json")).out)
    assert [one["message"] for one in told] == ["first"]  # although there is no such object any more
    await stage.client.delete(NAMESPACES, sources)


@pytest.mark.scenario("cli-11")
async def test_more_than_one_page(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(505):
            group.create_task(tell(stage, "Kustomization/apps", f"number {number}"))
    assert len((await stage.run("events")).rows) == 506


async def test_repeated_ones_say_so(stage: Stage) -> None:
    first = (datetime.now(UTC) - timedelta(hours=5, minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    await tell(stage, "Kustomization/apps", "again", ago=600, count=7, firstTimestamp=first)
    assert (await stage.run("events")).rows[1][0] == "10m (x7 over 5h1m)"


@pytest.mark.scenario("cli-11")
async def test_none_is_no_failure(stage: Stage) -> None:
    ended = await stage.run("events")
    assert ended == Ended(0, "", f"✗ No events found in {stage.namespace} namespace.\n")
    assert (await stage.run("events", "--for", "Kustomization/missing")).code == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param("--for Pod/x", "'Pod' is not a recognized Flux kind", id="a kind that is not ours"),
        pytest.param("--for /x", "KIND or KIND/NAME", id="no kind"),
        pytest.param("--types Error", "type 'Error' not supported", id="a type that there is not"),
        pytest.param("-w -o yaml", "-w shows a table", id="a watch as data"),
    ],
)
@pytest.mark.scenario("cli-11")
def test_bad_input_is_one_sentence(arguments: str, sentence: str) -> None:
    ended = command("events", *arguments.split())
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (130, "2m10s"), (599, "9m59s")),
        *((600, "10m"), (10799, "179m"), (10800, "3h"), (11100, "3h5m"), (28800, "8h"), (172799, "47h")),
        *((172800, "2d"), (190800, "2d5h"), (691200, "8d"), (63072000, "2y"), (63244800, "2y2d"), (315360000, "10y")),
    ],
)
def test_ages_have_kubectls_steps(seconds: int, shown: str) -> None:
    assert age(seconds) == shown
