"""`penstock get`: Flux's columns and texts, selections, formats, and what is said when nothing is there."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml

from penstock.api import crd
from penstock.cli.state import shortened
from penstock.embedded import cluster as embedded_cluster
from tests.cli.stage import HASH, REVISION, SHORT, Ended, Stage, artifact, command, ready
from tests.definitions import define

SUSPENDED = {"penstock.dev/suspend-reason": "the database moves", "penstock.dev/suspend-until": "2999-01-01T00:00:00Z"}


async def _scene(stage: Stage) -> None:
    """One object of most kinds, in most states."""
    await stage.kustomization("apps")
    await stage.kustomization("broken", condition=ready("False", "build failed", reason="BuildFailed"), revision="")
    await stage.create("Kustomization", "new", {"interval": "1h", "prune": True, "sourceRef": _git("apps")})
    await stage.kustomization("resting", suspend=True, metadata={"annotations": SUSPENDED})
    await stage.repository("apps", metadata={"labels": {"team": "a"}})
    await stage.repository("other", metadata={"labels": {"team": "b"}})
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "made", "namespace": "elsewhere"}
    status = {"artifact": artifact("latest@sha256:" + "c" * 64), "conditions": [ready(message="stored")]}
    await stage.create("ExternalArtifact", "made", {"sourceRef": reference}, status)
    await stage.create("OCIRepository", "image", {"interval": "1m", "url": "oci://example.com/image"})


def _git(name: str) -> dict[str, str]:
    return {"kind": "GitRepository", "name": name}


@pytest.mark.scenario("cli-7")
@pytest.mark.scenario("cli-8")
@pytest.mark.scenario("cli-9")
async def test_tables(stage: Stage) -> None:
    await _scene(stage)
    for arguments, rows in TABLES:
        ended = await stage.run("get", *arguments.split())
        expected = [[cell.replace("NAMESPACE", stage.namespace) for cell in row] for row in rows]
        assert (ended.code, ended.err, ended.rows) == (0, "", expected), arguments


TITLES = ["NAME", "REVISION", "SUSPENDED", "READY", "MESSAGE"]
APPS = ["apps", SHORT, "False", "True", f"Applied revision: {SHORT}"]
BROKEN = ["broken", "", "False", "False", "build failed"]
NEW = ["new", "", "False", "False", "waiting to be reconciled"]
RESTING = ["resting", SHORT, "True", "True", f"Applied revision: {SHORT}"]
STORED = f"stored artifact for revision '{SHORT}'"
GIT = ["apps", SHORT, "False", "True", STORED]
OTHER = ["other", SHORT, "False", "True", STORED]
TABLES = [
    ("kustomizations", [TITLES, APPS, BROKEN, NEW, RESTING]),
    ("ks --no-header", [APPS, BROKEN, NEW, RESTING]),
    ("kustomization apps", [TITLES, APPS]),
    ("ks/apps", [TITLES, APPS]),
    ("ks --status-selector ready=true", [TITLES, APPS, RESTING]),
    ("ks --status-selector READY=False", [TITLES, BROKEN]),
    ("ks --status-selector ready!=true", [TITLES, BROKEN, NEW]),
    ("ks --status-selector stalled=true", [TITLES]),
    (
        "ks apps --show-source",
        [[TITLES[0], "SOURCE", *TITLES[1:]], ["apps", "GitRepository/NAMESPACE/apps", *APPS[1:]]],
    ),
    ("sources git", [TITLES, GIT, OTHER]),
    ("source git -l team=a", [TITLES, GIT]),
    ("sources git -l team!=a", [TITLES, OTHER]),
    ("gitrepositories --label-selector=team", [TITLES, GIT, OTHER]),
    ("sources oci", [TITLES, ["image", "", "False", "False", "waiting to be reconciled"]]),
    (
        "sources external",
        [
            ["NAME", "REVISION", "SOURCE", "READY", "MESSAGE"],
            ["made", "latest@sha256:cccccccc", "Thing/elsewhere/made", "True", "stored"],
        ],
    ),
]


@pytest.mark.scenario("cli-9")
async def test_nothing_there(stage: Stage) -> None:
    namespace = stage.namespace
    for arguments, code, said in (
        ("ks", 1, f'✗ no Kustomization objects found in "{namespace}" namespace\n'),
        ("sources git apps", 1, f"✗ GitRepository object 'apps' not found in \"{namespace}\" namespace\n"),
        ("ks nowhere -A", 1, "✗ Kustomization object 'nowhere' not found in any namespace\n"),
        ("ks -l nobody=here -A", 1, "✗ no Kustomization objects found in any namespace\n"),
        ("all", 0, ""),
        ("sources all apps", 0, ""),
    ):
        assert await stage.run("get", *arguments.split()) == Ended(code, "", said), arguments


async def test_formats(stage: Stage) -> None:
    await stage.kustomization("resting", suspend=True, metadata={"annotations": SUSPENDED})
    pinned = {"annotations": {"penstock.dev/revision": REVISION}}
    await stage.kustomization("pinned", metadata=pinned, source={"kind": "OCIRepository", "namespace": "team"})
    told = json.loads((await stage.run("get", "ks", "-o", "json")).out)
    assert told == [
        {
            "kind": "Kustomization",
            "namespace": stage.namespace,
            "name": "pinned",
            "revision": REVISION,
            "source": "OCIRepository/team/apps",
            "suspended": False,
            "pinned": REVISION,
            "ready": "True",
            "reason": "Done",
            "message": f"Applied revision: {REVISION}",
        },
        {
            "kind": "Kustomization",
            "namespace": stage.namespace,
            "name": "resting",
            "revision": REVISION,
            "source": f"GitRepository/{stage.namespace}/apps",
            "suspended": True,
            "suspendReason": "the database moves",
            "suspendUntil": "2999-01-01T00:00:00Z",
            "ready": "True",
            "reason": "Done",
            "message": f"Applied revision: {REVISION}",
        },
    ]
    assert yaml.safe_load((await stage.run("get", "all", "-o", "yaml")).out) == told
    names = (await stage.run("get", "ks", "-o", "name")).out
    assert names == "".join(f"kustomization.kustomize.toolkit.fluxcd.io/{name}\n" for name in ("pinned", "resting"))
    titles, *rows = (await stage.run("get", "ks", "-o", "wide")).rows
    assert titles[-3:] == ["SUSPEND REASON", "SUSPENDED UNTIL", "PINNED"]
    assert [row[6:] for row in rows] == [["", "", SHORT], ["the database moves", "2999-01-01T00:00:00Z", ""]]


async def test_a_suspension_that_is_over_is_none(stage: Stage) -> None:
    over = {"penstock.dev/suspend-until": "2020-01-01T00:00:00Z", "penstock.dev/suspend-reason": "old"}
    await stage.kustomization("apps", suspend=True, metadata={"annotations": over})
    await stage.kustomization("resumed", metadata={"annotations": SUSPENDED})  # by one who leaves the notes there
    for told in json.loads((await stage.run("get", "ks", "-o", "json")).out):
        assert told["suspended"] is False
        assert not {"suspendReason", "suspendUntil"} & set(told)
    assert [row[2] for row in (await stage.run("get", "ks", "--no-header")).rows] == ["False", "False"]


async def test_all_has_a_table_a_kind(stage: Stage) -> None:
    await stage.kustomization("apps")
    await stage.repository("apps")
    ended = await stage.run("get", "all")
    assert ended.rows == [
        TITLES,
        ["gitrepository/apps", *GIT[1:]],
        [""],
        TITLES,
        ["kustomization/apps", *APPS[1:]],
        [""],
    ]


async def test_kinds_that_others_reconcile(stage: Stage) -> None:
    """Flux's own controllers may run beside ours; their objects are shown too."""
    await define(stage.client, *map(crd, ("Provider", "Alert", "HelmRelease")))
    await stage.create("Provider", "chat", {"type": "generic"})
    await stage.create("Alert", "chat", {"providerRef": {"name": "chat"}, "eventSources": [_git("*")]})
    chart = {"chart": "web", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}
    history = [{"chartName": "web", "chartVersion": "1.2.3", "version": 1} | _SNAPSHOT]
    await stage.create(
        "HelmRelease",
        "web",
        {"interval": "1m", "chart": {"spec": chart}},
        {"history": history, "conditions": [ready(message="released")]},
    )
    for arguments, rows in (
        ("alert-providers", [["NAME", "READY", "MESSAGE"], ["chat", "True", "Provider is Ready"]]),
        ("alerts", [["NAME", "SUSPENDED", "READY", "MESSAGE"], ["chat", "False", "True", "Alert is Ready"]]),
        ("alerts --status-selector ready=false --no-header", []),
        ("alerts --status-selector ready=true --no-header", [["chat", "False", "True", "Alert is Ready"]]),
        ("hr", [TITLES, ["web", "1.2.3", "False", "True", "released"]]),
        ("hr --show-source --no-header", [["web", f"HelmRepository/{stage.namespace}/charts", "1.2.3", *RELEASED]]),
    ):
        assert (await stage.run("get", *arguments.split())).rows == rows, arguments


RELEASED = ["False", "True", "released"]
_SNAPSHOT = {
    "name": "web",
    "namespace": "default",
    "configDigest": "sha256:0",
    "digest": "sha256:0",
    "status": "deployed",
    "firstDeployed": "2026-01-01T00:00:00Z",
    "lastDeployed": "2026-01-01T00:00:00Z",
}


@pytest.mark.real
async def test_the_same_bytes_as_flux(stage: Stage) -> None:
    await _scene(stage)
    # Flux knows nothing of a suspension's reason; where our answer is the same, it is so byte for byte.
    for arguments in (
        *("ks --show-source", "ks --no-header --status-selector ready!=true", "all"),
        *("sources external", "ks missing", "sources bucket"),
    ):
        assert await stage.run("get", *arguments.split()) == await stage.flux("get", *arguments.split()), arguments


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param("ks --status-selector ready", "expected status selector in type=status", id="no status"),
        pytest.param("ks --status-selector =true", "expected status selector in type=status", id="no type"),
        pytest.param("sources", "say which kind of source: oci, bucket, git", id="sources of no kind"),
        pytest.param("kustomizatio", "did you mean 'kustomization'?", id="a mistyped kind"),
        pytest.param("secrets", "'secrets' is not a kind that penstock get knows; see", id="a kind of Kubernetes"),
        pytest.param("sources kustomization", "is not a kind that penstock get knows", id="what is no source"),
        pytest.param("ks a b", "give one name, or none", id="two names"),
        pytest.param("ks -l a=b,", "-l: 'a=b,' is not a label selector: found '',", id="labels that make no sense"),
        pytest.param("all -w", "expected a single resource type, but found all", id="a watch of all kinds"),
        pytest.param("ks -w -o json", "-w shows a table", id="a watch as data"),
        pytest.param("", "Missing argument 'KIND [NAME]'", id="no kind"),
    ],
)
@pytest.mark.scenario("cli-8")
def test_bad_input_is_one_sentence(arguments: str, sentence: str) -> None:
    ended = command("get", *arguments.split())
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


async def test_out_of_time_names_the_option(stage: Stage) -> None:
    ended = await stage.run("get", "ks", "--timeout", "1ns")
    assert ended == Ended(124, "", "✗ out of time: 1e-09 s were not enough; --timeout allows more\n")


async def test_a_cluster_that_does_not_know_the_kind(verbs_imported: None, imported: None) -> None:
    async with embedded_cluster(workloads=False) as running:
        where = f"--kubeconfig={running.kubeconfig}"
        ended = await asyncio.to_thread(command, "get", "ks", where)
        assert (ended.code, ended.out) == (1, "")
        assert "penstock crds | kubectl apply" in ended.err
        assert await asyncio.to_thread(command, "get", "all", where) == Ended(0, "", "")


def test_hashes_are_cut_to_eight_digits() -> None:
    assert shortened(f"a {HASH} b {'c' * 64}, not {'d' * 39}") == f"a 1a2b3c4d b cccccccc, not {'d' * 39}"
