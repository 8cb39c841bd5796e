"""The picture that a terminal shows."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from penstock.cli.up.state import Item, Phase, State
from penstock.cli.up.view import Heading, View
from penstock.cli.up.workloads import Workload
from penstock.kube import ObjectRef

GROUP = "kustomize.toolkit.fluxcd.io"


def ref(name: str) -> ObjectRef:
    return ObjectRef(GROUP, "Kustomization", "apps", name)


SOURCE = ObjectRef("source.toolkit.fluxcd.io", "GitRepository", "apps", "repository")


def app(name: str, phase: Phase = Phase.READY, *after: str, message: str = "") -> Item:
    return Item(ref(name), phase, message, needs=(SOURCE, *map(ref, after)), objects=2, path=f"./{name}")


def source(revision: str = "main@sha1:0123456789abcdef0123") -> Item:
    return Item(SOURCE, Phase.READY, revision=revision)


def picture(*items: Item, width: int = 80, height: int = 30, workloads: tuple[Workload, ...] = ()) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, highlight=False)
    with console.capture() as captured:
        console.print(View(Heading("the title", "the hint"), console).drawn(State(items, workloads)))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_whole_picture() -> None:
    waiting = app("c", Phase.WAITING, "b", message="dependency 'apps/b' is not ready")
    assert picture(source(), app("a"), app("b", Phase.FAILED, "a", message="no (see x.yaml)"), waiting) == [
        "the title",
        "the hint",
        "",
        "SOURCE            READY         REVISION                 MESSAGE",
        "apps/repository   ✔ ready       main@sha1:0123456789ab",
        "",
        "KUSTOMIZATION   READY         OBJECTS   MESSAGE",
        "apps/a          ✔ ready       2",
        "  apps/b        ✗ failed      2         no (see x.yaml)",
        "    apps/c      ◌ waiting     2         dependency 'apps/b' is not ready",
        "",
        "✗ Kustomization/apps/b: no (see x.yaml)",
        "",
        "2/4 Ready, 6 objects. What is saved is applied; Ctrl-C stops.",
    ]


def test_before_anything_is_there() -> None:
    assert picture()[-1] == "0/0 Ready, 0 objects. What is saved is applied; Ctrl-C stops."


@pytest.mark.parametrize("height", [16, 20, 24])
def test_what_is_not_ready_is_kept_when_not_all_fits(height: int) -> None:
    many = [app(f"app-{number:02}") for number in range(40)]
    many[33] = app("late", Phase.WORKING, message="Building manifests")
    lines = picture(source(), *many, height=height)
    assert len(lines) <= height
    assert any(line.startswith("apps/late ") for line in lines)
    shown = sum(line.startswith(("apps/app-", "apps/late")) for line in lines)
    assert f"and {40 - shown} more" in lines


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = picture(source(), app("a", Phase.FAILED, message="a long sentence " * 20), width=width)
    assert max(map(len, lines)) <= width
    assert "".join(lines).replace(" ", "").count("alongsentence") >= 20, "the error is there in full"


def test_escape_codes_of_a_repository_do_not_reach_the_terminal() -> None:
    assert not any("\x1b" in line for line in picture(source(), app("a", Phase.FAILED, message="\x1b]0;owned\x07")))


@pytest.mark.parametrize(
    ("revision", "short"),
    [
        pytest.param("main@sha1:0123456789abcdef", "main@sha1:0123456789ab", id="a commit"),
        pytest.param(
            "main@sha1:0123456789abcdef-fedcba987654", "main@sha1:0123456789ab-fedcba987654", id="not committed"
        ),
        pytest.param("local@sha256:0123456789abcdef", "local@sha256:0123456789ab", id="no Git"),
        pytest.param("", "", id="none yet"),
    ],
)
def test_revisions_are_short(revision: str, short: str) -> None:
    line = next(line for line in picture(source(revision)) if line.startswith("apps/repository"))
    assert line.split("ready")[1].strip() == short


def test_workloads_that_are_not_rolled_out_are_named() -> None:
    web, job = (ObjectRef("apps", "Deployment", "shop", "web"), ObjectRef("batch", "Job", "shop", "migrate"))
    workloads = (Workload(web, healthy=False, message="Available: 1/2"), Workload(job, healthy=True, message=""))
    lines = picture(source(), app("a"), workloads=workloads)
    assert lines[-3:-1] == ["1/2 workloads healthy", "  ► Deployment/shop/web: Available: 1/2"]
