"""`penstock completion`: what a shell offers, asked by a real one."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.completion import SHELLS, offers
from tests.cli.stage import Stage, command
from tests.debian import environment, unpacked


@pytest.mark.parametrize(
    ("line", "some"),
    [
        pytest.param("re", ["reconcile", "resume"], id="verbs"),
        pytest.param("get ", ["all", "kustomizations", "sources"], id="kinds"),
        pytest.param("get kust", ["kustomizations"], id="a kind that was begun"),
        pytest.param("suspend ", ["kustomization", "source"], id="kinds in the singular"),
        pytest.param("get sources ", ["all", "bucket", "git", "oci"], id="kinds of sources"),
        pytest.param("reconcile source g", ["git"], id="a source that was begun"),
        pytest.param("get --st", ["--status-selector"], id="options"),
        pytest.param("get ks -o ", ["json", "name", "wide", "yaml"], id="formats"),
        pytest.param("secrets e", ["edit", "encrypt"], id="verbs of a group"),
        pytest.param("completion ", ["bash", "fish", "zsh"], id="shells"),
    ],
)
def test_words(line: str, some: list[str]) -> None:
    found = offers(line.split(" "))
    assert [word for word in found if word in some] == some
    assert all(word.startswith(line.rpartition(" ")[2]) for word in found)


@pytest.mark.parametrize("line", ["nonsense ", "get nonsense ", "get ks --timeout ", "version ", "completion bash "])
def test_nothing_to_offer(line: str) -> None:
    assert offers(line.split(" ")) == []


async def test_names_come_from_the_cluster(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.completion.AT_ONCE", 30.0)  # a person would not wait for a busy machine
    await stage.kustomization("apps")
    await stage.kustomization("area")
    await stage.kustomization("infra")
    where = f"--kubeconfig={stage.cluster.kubeconfig}"
    line = ["get", where, "-n", stage.namespace, "ks", "a"]
    assert await asyncio.to_thread(offers, line) == ["apps", "area"]
    line = ["suspend", where, f"--namespace={stage.namespace}", "kustomization", "area", ""]
    assert await asyncio.to_thread(offers, line) == ["apps", "infra"]
    line = ["get", where, "-n", stage.namespace[:-2]]
    assert await asyncio.to_thread(offers, line) == [stage.namespace]
    contexts = await asyncio.to_thread(offers, ["get", "--kubeconfig", str(stage.cluster.kubeconfig), "--context", ""])
    assert len(contexts) == 1


def test_a_cluster_that_is_not_there_offers_nothing(tmp_path: Path) -> None:
    assert offers(["get", f"--kubeconfig={tmp_path / 'missing'}", "ks", ""]) == []
    assert offers(["get", f"--kubeconfig={tmp_path / 'missing'}", "--context", ""]) == []


async def test_bash_offers_them() -> None:
    script = (
        "source <(penstock completion bash); COMP_WORDS=(penstock get sou); COMP_CWORD=2; _penstock; "
        'printf "%s\\n" "${COMPREPLY[@]}"; complete -p penstock'
    )
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", script), stdout=asyncio.subprocess.PIPE, env={"PATH": path}
    )
    out, _ = await process.communicate()
    assert out.decode().splitlines() == ["sources", "complete -o default -F _penstock penstock"]


PACKAGES = {"zsh": ("zsh", "zsh-common"), "fish": ("fish", "fish-common", "libpcre2-32-0")}


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_understood(shell: str) -> None:
    program, variables = shutil.which(shell), dict(os.environ)
    if program is None:
        root = unpacked(*PACKAGES[shell])
        program, variables = str(next(root.glob(f"**/bin/{shell}"))), environment(root)
    script = command("completion", shell).out
    ended = subprocess.run([program, "-n"], input=script, text=True, capture_output=True, env=variables, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_shell_that_there_is_not() -> None:
    ended = command("completion", "tcsh")
    assert (ended.code, ended.err) == (2, "✗ there is no script for 'tcsh'; there are bash, zsh, fish\n")
