"""The command as scripts run it: `penstock up --once`, without a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.cli import main
from tests.cli.up.repositories import CONFIG, LIMIT, SOURCE, kustomization, small, up, write

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.timeout(LIMIT)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["missing"], "'missing' is not a directory", id="no such directory"),
        pytest.param(["--cluster=x"], "there is no 'x'", id="no such cluster"),
        pytest.param(["--local-source=x"], "--local-source: 'x' is not like", id="a local source that is none"),
        pytest.param(["--apply=missing.yaml"], "--apply: there is no file 'missing.yaml'", id="no such file"),
        pytest.param(["--example=/"], "--example: '/' is there already", id="no room for the example"),
        pytest.param([".", "--example=x"], "leave the PATH out", id="two directories"),
        pytest.param(["--timeout=soon"], "--timeout: ", id="a time that is none"),
        pytest.param(["--data-dir=x", "--context=y"], "--data-dir is for the embedded cluster", id="two clusters"),
    ],
)
def test_wrong_use_is_told_before_anything_starts(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["up", *arguments]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert out == ""


def test_several_clusters_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(small(tmp_path), {"clusters/prod/apps.yaml": kustomization("settings")})
    assert main(["up", str(tmp_path), "--once"]) == 2
    assert "dev, prod; choose one with --cluster NAME" in capsys.readouterr().err


def test_everything_is_ready_and_stays_in_the_data_directory(tmp_path: Path) -> None:
    root, data = small(tmp_path / "repository"), tmp_path / "data"
    first = up(root, "--once", "--data-dir", data)
    assert (first.returncode, first.stdout) == (0, "4/4 Ready\n"), first.stderr
    assert "✔ Kustomization/flux-system/web: Applied revision: local@sha256:" in first.stderr
    (root / "apps/settings/config.yaml").write_text(CONFIG.replace("blue", "[1]"))
    second = up(root, "--once", "--data-dir", data)
    assert second.returncode == 1, "what an earlier run said does not count"
    assert second.stdout == "2/4 Ready\n"
    assert "ConfigMap/default/settings" in second.stderr
    assert "(see apps/settings/config.yaml)" in second.stderr
    # That it is not ready, or not up to date yet: whichever was true when it was asked last.
    assert "◌ Kustomization/flux-system/web: dependency 'flux-system/settings' " in second.stderr


def test_a_broken_file_is_named_from_the_root_of_the_repository(tmp_path: Path) -> None:
    root = small(tmp_path)
    write(root, {"apps/web/kustomization.yaml": "resources: [../base]\n"})
    (root / "apps/web/deployment.yaml").rename(root / "apps/deployment.yaml")
    write(root, {"apps/base/kustomization.yaml": "resources: [broken.yaml]\n", "apps/base/broken.yaml": "a: [\n"})
    ended = up(root, "--once")
    assert (ended.returncode, ended.stdout) == (1, "3/4 Ready\n")
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("  ✗")]
    assert "apps/base/broken.yaml" in line


def test_offline_reports_what_is_missing_and_takes_directories_instead(tmp_path: Path) -> None:
    root, team = small(tmp_path / "repository"), write(tmp_path / "team", {"apps/there/config.yaml": CONFIG})
    sources = "---\n".join(SOURCE.format(name=name) for name in ("there", "elsewhere"))
    more = kustomization("there", source="there") + kustomization("elsewhere", source="elsewhere")
    write(root, {"clusters/dev/more.yaml": f"{sources}---\n{more}"})
    ended = up(root, "--once", "--offline", f"--local-source=GitRepository/flux-system/there={team}")
    assert (ended.returncode, ended.stdout) == (1, "6/8 Ready\n"), ended.stderr
    told = "--local-source GitRepository/flux-system/elsewhere=DIR"
    assert (
        f"✗ GitRepository/flux-system/elsewhere: nothing is fetched with --offline; name a directory with {told}"
        in (ended.stderr)
    )
    assert "◌ Kustomization/flux-system/elsewhere: Source artifact not found" in ended.stderr


def test_what_came_too_early_is_tried_again(tmp_path: Path) -> None:
    """Without dependsOn one may fail for want of the other; the retry interval of an hour is not waited for."""
    root = small(tmp_path)
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: late}\n"
    early, late = kustomization("early").replace("default", "late"), kustomization("late", "web")
    files = {"apps/early/config.yaml": CONFIG, "apps/late/namespace.yaml": namespace}
    write(root, {"clusters/dev/more.yaml": early + late.replace("  targetNamespace: default\n", ""), **files})
    ended = up(root, "--once")
    assert (ended.returncode, ended.stdout) == (0, "6/6 Ready\n"), ended.stderr


def test_out_of_time(tmp_path: Path) -> None:
    ended = up(small(tmp_path), "--once", "--timeout=1ms")
    assert ended.returncode == 124
    assert "✗ out of time: not settled within 1ms" in ended.stderr


def test_a_cluster_that_cannot_be_reached(tmp_path: Path) -> None:
    server = "{name: c, cluster: {server: 'http://127.0.0.1:1'}}"
    context = "{name: c, context: {cluster: c}}"
    write(tmp_path, {"config": f"clusters: [{server}]\ncontexts: [{context}]\ncurrent-context: c\n"})
    ended = up(small(tmp_path / "repository"), "--once", "--kubeconfig", tmp_path / "config")
    assert ended.returncode == 2
    assert ended.stderr.startswith("✗ cannot connect to http://127.0.0.1:1")
    assert ended.stderr.count("\n") == 1
