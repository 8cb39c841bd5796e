"""Lines that are read without Typer mean what Typer reads in them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from penstock.cli import completion, full, main
from penstock.cli.flags import options, read
from penstock.cli.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable


def function(verb: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(VERBS[verb].module), VERBS[verb].attribute)
    return found


def read_by_typer(verb: str, words: list[str]) -> dict[str, Any]:
    """What Typer hands to the verb."""
    target = function(verb)
    seen: list[dict[str, Any]] = []

    @wraps(target)
    def record(**given: Any) -> int:
        seen.append(given)
        return 0

    assert full.execute(verb, record, "", words) == 0
    (given,) = seen
    return given


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("get ks", id="one word"),
        pytest.param("get source git podinfo", id="several words"),
        pytest.param("get -A ks -w", id="flags around them"),
        pytest.param("get all --no-header -o json --kubeconfig here", id="options with values"),
        pytest.param("get ks --namespace=apps --output=wide", id="joined by an equals sign"),
        pytest.param("get ks --kubeconfig=", id="an empty value"),
        pytest.param("get ks -n a -n b", id="given twice, the last counts"),
        pytest.param("get ks -l app=web,x!=y", id="a value with signs"),
        pytest.param("get ''", id="an empty word"),
        pytest.param("tree ks apps --compact", id="tree"),
        pytest.param("trace Deployment/web -n apps", id="trace"),
        pytest.param("trace web --kind Deployment --api-version apps/v1", id="trace, the way of flux"),
        pytest.param("events --for Kustomization/apps --types Warning", id="events"),
        pytest.param("events", id="no words at all"),
        pytest.param("reconcile ks apps --with-source --timeout 30s", id="reconcile"),
        pytest.param("suspend ks a b --reason maintenance --for 2h", id="suspend"),
        pytest.param("resume ks --all", id="resume"),
        pytest.param("resume ks a --wait", id="a switch that is on"),
        pytest.param("resume ks a --no-wait", id="a switch that is off"),
        pytest.param("pin ks apps --revision main@sha1:1a2b", id="pin"),
        pytest.param("unpin ks apps", id="unpin"),
        pytest.param("delete ks apps -s", id="delete"),
        pytest.param("export source git --all --with-credentials", id="export"),
        pytest.param("stats -A -o yaml", id="stats"),
        pytest.param("check --pre", id="check"),
        pytest.param("logs -f --level error --kind Kustomization", id="logs"),
        pytest.param("kinds -o name", id="kinds, all of them"),
        pytest.param("crds Alert Bucket", id="crds by kind"),
        pytest.param("completion bash", id="completion"),
    ],
)
def test_what_is_read_is_what_typer_reads(line: str) -> None:
    verb, *words = shlex.split(line)
    given = read(function(verb), words)
    assert given is not None
    assert given == read_by_typer(verb, words)


@pytest.mark.parametrize("namespace", ["apps", ""])
def test_the_environment_counts_when_it_says_something(monkeypatch: pytest.MonkeyPatch, namespace: str) -> None:
    monkeypatch.setenv("FLUX_SYSTEM_NAMESPACE", namespace)
    given = read(function("get"), ["ks"])
    assert given is not None
    assert given == read_by_typer("get", ["ks"])
    assert given["namespace"] == (namespace or "flux-system")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("get --help", id="help"),
        pytest.param("get ks -h", id="help behind words"),
        pytest.param("get", id="a word that is missing"),
        pytest.param("get ks --unknown", id="an option that is unknown"),
        pytest.param("get ks -o", id="a value that is missing"),
        pytest.param("get ks -o xml", id="a value that is none"),
        pytest.param("get ks -n -A", id="a value that looks like an option"),
        pytest.param("get ks -Aw", id="flags in one word"),
        pytest.param("get ks -napps", id="a value without a space"),
        pytest.param("get -- ks", id="the end of options"),
        pytest.param("get ks --watch=true", id="a value for a flag"),
        pytest.param("logs --tail 5", id="a number"),
        pytest.param("check now", id="a word too many"),
        pytest.param("install --export", id="a verb with limits of its own"),
        pytest.param("secrets check", id="a group of verbs"),
    ],
)
def test_what_is_left_to_typer(line: str) -> None:
    verb, *words = shlex.split(line)
    assert read(function(verb), words) is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("get", "Missing argument 'KIND [NAME]'", id="a word that is missing"),
        pytest.param("get ks --unknown", "No such option: --unknown", id="an option that is unknown"),
        pytest.param(
            "get ks -o xml",
            "Invalid value for '-o' / '--output': 'xml' is not one of 'json', 'yaml', 'name', 'wide'",
            id="a value that is none",
        ),
    ],
)
def test_complaints_are_one_sentence(capsys: pytest.CaptureFixture[str], line: str, told: str) -> None:
    assert main(line.split()) == 2
    sentence = capsys.readouterr().err
    assert sentence == f"✗ {told}; see 'penstock get --help'\n"


@pytest.mark.parametrize("verb", ["get", "tree", "events", "logs", "suspend", "resume", "export", "trace", "crds"])
def test_the_options_are_those_that_typer_knows(verb: str) -> None:
    target = function(verb)
    known = options(target)
    assert known is not None
    by_typer = completion._options(completion._command(verb, target))
    assert {name: one.is_flag for name, one in known.items()} == {name: one.is_flag for name, one in by_typer.items()}


def test_a_verb_that_asks_a_cluster_imports_no_more_than_it_needs() -> None:
    script = (
        "import sys; from penstock.cli import main; code = main(['get', 'ks', '--kubeconfig', 'not-there']); "
        "heavy = {'typer', 'rich', 'pydantic', 'structlog', 'cryptography'} & set(sys.modules); "
        "print(code, 'aiohttp' in sys.modules, *heavy)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)
    assert (ended.stdout, ended.returncode) == ("2 True\n", 0)
    assert "not-there" in ended.stderr
