"""`penstock build`: the flags and exit codes of `kustomize build`."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import main

KUSTOMIZATION = """\
resources: [d.yaml, c.yaml]
namespace: shop
commonLabels: {a: b}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(KUSTOMIZATION)
    (folder / "d.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    (folder / "c.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\n")
    return folder


def kinds(text: str) -> list[str]:
    return [line.removeprefix("kind: ") for line in text.splitlines() if line.startswith("kind: ")]


def test_objects_go_to_stdout_and_warnings_to_stderr(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", str(tree)]) == 0
    printed = capsys.readouterr()
    assert kinds(printed.out) == ["ConfigMap", "Service"]
    assert "'commonLabels' is deprecated" in printed.err


def test_the_order_can_be_kept(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--reorder=none", str(tree)]) == 0
    assert kinds(capsys.readouterr().out) == ["Service", "ConfigMap"]


def test_the_current_directory_is_the_default(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tree)
    assert main(["build"]) == 0
    assert kinds(capsys.readouterr().out) == ["ConfigMap", "Service"]


def test_output_to_a_file_and_to_a_directory(tree: Path, tmp_path: Path) -> None:
    assert main(["build", str(tree), "-o", str(tmp_path / "all.yaml")]) == 0
    assert kinds((tmp_path / "all.yaml").read_text()) == ["ConfigMap", "Service"]
    (tmp_path / "out").mkdir()
    assert main(["build", str(tree), "--output", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "v1_configmap_conf.yaml",
        "v1_service_web.yaml",
    ]


def test_the_label_of_the_manager(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--enable-managedby-label", str(tree)]) == 0
    assert "app.kubernetes.io/managed-by: kustomize-" in capsys.readouterr().out


def test_files_outside_are_read_on_request_only(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree.parent / "outside.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")
    (tree / "kustomization.yaml").write_text("resources: [../outside.yaml]")
    assert main(["build", str(tree)]) == 1
    assert "not in or below" in capsys.readouterr().err
    assert main(["build", "--load-restrictor", "LoadRestrictionsNone", str(tree)]) == 0


@pytest.mark.parametrize(
    "arguments",
    [["missing"], ["--reorder=upside-down"], ["a", "b"], ["--no-such-flag"]],
    ids=["no directory", "unknown order", "two directories", "unknown flag"],
)
def test_what_goes_wrong(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", *arguments]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err


def test_flags_for_plugins_are_accepted(tree: Path) -> None:
    assert main(["build", "--enable-helm", "--enable-alpha-plugins", "-e", "A=b", "--network", str(tree)]) == 0


def test_nothing_slow_is_imported(tree: Path) -> None:
    slow = "{'typer', 'rich', 'aiohttp', 'msgspec', 'orjson', 'yaml', 'asyncio', 'pathlib'}"
    script = (
        f"import sys; from penstock.cli import build; build.main([{str(tree)!r}]); print({slow} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "set()"
