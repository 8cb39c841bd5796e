"""What holds for every verb: exit codes, one sentence for what is wrong, formats, and a fast start."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from penstock import __version__
from penstock.api import KINDS
from penstock.cli import main, verbs
from penstock.cli.verbs import Verb
from penstock.errors import PenstockError
from penstock.kube.errors import TimedOut

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        pytest.param("", 2, "Usage: penstock VERB", "", id="without a verb the overview is shown, and it is wrong use"),
        pytest.param("--help", 0, "Usage: penstock VERB", "", id="help is fine"),
        pytest.param("version", 0, f"penstock: {__version__}", "", id="a fast verb"),
        pytest.param("--version", 0, f"penstock: {__version__}", "", id="the usual option for it"),
        pytest.param("version --help", 0, "usage: penstock version", "", id="help of a fast verb"),
        pytest.param("kinds", 0, "not handled yet", "", id="a verb written with Typer"),
        pytest.param("kinds --help", 0, "Usage: penstock kinds", "", id="help of such a verb"),
        pytest.param("up missing", 2, "", "✗ 'missing' is not a directory", id="the main job, with nothing to do"),
        pytest.param("kindz", 2, "", "✗ there is no verb 'kindz'; did you mean 'kinds'?", id="a mistyped verb"),
        pytest.param("frobnicate", 2, "", "see 'penstock --help'", id="an unknown verb"),
        pytest.param("kinds --bad", 2, "", "✗ No such option: --bad; see 'penstock kinds --help'", id="a bad option"),
        pytest.param("kinds -o xml", 2, "", "'xml' is not one of", id="a bad format"),
        pytest.param("version -o xml", 2, "", "invalid choice: 'xml'", id="a bad format of a fast verb"),
        pytest.param("crds Foo", 2, "", "✗ there is no kind 'Foo'", id="a bad argument"),
        pytest.param("cluster start --help", 0, "--data-dir", "", id="help of a cluster's start"),
        pytest.param("cluster start --port=70000", 2, "", "✗ --port: '70000' is no port", id="a port beyond all ports"),
        pytest.param(
            "cluster start --data-dir=pyproject.toml", 2, "", "is a file; name a folder", id="a file as folder"
        ),
        pytest.param("version --server --kubeconfig missing", 2, "", "✗ cannot read the kubeconfig", id="no such file"),
    ],
)
def test_exit_code_and_words(
    capsys: pytest.CaptureFixture[str], arguments: str, code: int, stdout: str, stderr: str
) -> None:
    assert main(arguments.split()) == code
    out, err = capsys.readouterr()
    assert stdout in out
    assert stderr in err
    assert bool(err) == bool(stderr)


def test_an_unreachable_cluster_is_exit_2(tmp_path: Path) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    ended = _penstock("version", "--server", "--kubeconfig", str(path))
    assert ended.returncode == 2
    assert ended.stderr == f"✗ cannot connect to http://127.0.0.1:1 ({path}): connection refused\n"
    assert ended.stderr.count("\n") == 1


def _penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def _fail(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        pytest.param(PenstockError("the thing is broken"), 1, "✗ the thing is broken", id="a known failure"),
        pytest.param(TimedOut("no answer in 5s"), 124, "✗ no answer in 5s", id="no answer in time"),
        pytest.param(TimeoutError(), 124, "✗ out of time", id="any other time-out"),
        pytest.param(KeyboardInterrupt(), 130, "✗ interrupted", id="Ctrl-C"),
        pytest.param(ValueError("oops"), 1, "✗ this is a defect of penstock: ValueError: oops", id="a defect"),
    ],
)
def test_failures_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, sentence: str
) -> None:
    monkeypatch.setitem(verbs.VERBS, "kinds", Verb("tests.cli.test_skeleton", "failing", "Fail."))
    monkeypatch.setattr(sys.modules[__name__], "failing", lambda: _fail(error), raising=False)
    assert main(["kinds"]) == code
    assert capsys.readouterr().err.strip() == sentence


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_data_formats_say_the_same(capsys: pytest.CaptureFixture[str], output: str) -> None:
    assert main(["kinds", "-o", output]) == 0
    rows = yaml.safe_load(capsys.readouterr().out)
    assert [row["kind"] for row in rows] == list(KINDS)
    assert rows[0]["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"


def test_wide_has_more_columns_and_name_only_names(capsys: pytest.CaptureFixture[str]) -> None:
    main(["kinds", "-o", "wide"])
    assert "CATEGORIES" in capsys.readouterr().out
    main(["kinds"])
    assert "CATEGORIES" not in capsys.readouterr().out
    main(["kinds", "-o", "name"])
    assert capsys.readouterr().out.splitlines()[0] == "kustomizations.kustomize.toolkit.fluxcd.io"


def test_crds_are_documents_for_kubectl(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds"]) == 0
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [document["spec"]["names"]["kind"] for document in documents] == list(KINDS)
    assert main(["crds", "Alert", "-o", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["kind"] == "List"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["alerts.notification.toolkit.fluxcd.io"]


@pytest.mark.parametrize(
    ("given", "dispatched"),
    [
        pytest.param("-n apps get", "get -n apps", id="an option with its value"),
        pytest.param("--namespace=apps get x", "get --namespace=apps x", id="joined by an equals sign"),
        pytest.param("get -n apps", "get -n apps", id="already behind the verb"),
        pytest.param("--verbose get", "--verbose get", id="an unknown one stays where it is"),
        pytest.param("-n", "-n", id="nothing behind it"),
    ],
)
def test_options_before_the_verb_count(given: str, dispatched: str) -> None:
    assert verbs.hoist(given.split()) == dispatched.split()


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["version", "--help"]])
def test_fast_verbs_import_neither_typer_nor_rich_nor_the_client(arguments: list[str]) -> None:
    script = (
        f"import sys; from penstock.cli import main; code = main({arguments!r}); "
        "heavy = {'typer', 'rich', 'aiohttp', 'yaml', 'structlog'} & set(sys.modules); "
        "sys.exit(code or ' '.join(heavy) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_reader_that_leaves_early_is_no_failure() -> None:
    script = f"{sys.executable} -m penstock crds | head -n 1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "apiVersion: apiextensions.k8s.io/v1\n"


def test_every_verb_in_the_table_can_be_imported() -> None:
    for name, verb in verbs.VERBS.items():
        assert verbs.find(name) is verb
        assert hasattr(__import__(verb.module, fromlist=[verb.attribute]), verb.attribute)
