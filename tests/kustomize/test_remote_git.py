"""Bases from Git over TLS and ssh."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from penstock.kustomize import LoadError, build, remote
from tests.kustomize.git_servers import over_tls, stand_in_for_ssh

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: b}\n"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with the repository `shop.git`, which has a base at the tag v1."""
    folder = tmp_path / "served" / "shop.git"
    (folder / "base").mkdir(parents=True)
    (folder / "base" / "kustomization.yaml").write_text("resources: [c.yaml]\n")
    (folder / "base" / "c.yaml").write_text(CONFIG_MAP)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder.parent


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server(served: Path, authority: trustme.CA) -> Iterator[str]:
    with over_tls(served, authority.issue_cert("localhost")) as address:
        yield address


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: nothing that the user configured for Git takes part."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    return folder


def build_from(base: str, tmp_path: Path) -> list[str]:
    """The names that an overlay over a remote base comes to."""
    top = tmp_path / "top"
    top.mkdir(exist_ok=True)
    (top / "kustomization.yaml").write_text(f"resources: ['{base}']\nnamePrefix: p-\n")
    return [item["metadata"]["name"] for item in build(top)]


@pytest.mark.parametrize("ref", ["", "?ref=v1", "?ref=main"])
def test_a_base_over_tls(
    server: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ref: str
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "ca.pem"))
    assert build_from(f"{server}/shop.git//base{ref}", tmp_path) == ["p-conf"]


def test_an_authority_may_stand_in_the_configuration_of_git(
    server: str, authority: trustme.CA, tmp_path: Path, home: Path
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    (home / ".gitconfig").write_text(f"[http]\nsslCAInfo = {tmp_path / 'ca.pem'}\n")
    assert build_from(f"{server}/shop.git//base", tmp_path) == ["p-conf"]


def test_a_certificate_that_nobody_vouches_for_is_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="certificate"):
        build_from(f"{server}/shop.git//base", tmp_path)


def test_a_certificate_for_another_host_is_refused(
    served: Path, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "ca.pem"))
    with (
        over_tls(served, authority.issue_cert("other.example")) as address,
        pytest.raises(LoadError, match="localhost"),
    ):
        build_from(f"{address}/shop.git//base", tmp_path)


def test_a_repository_that_moved_is_not_followed(
    server: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "ca.pem"))
    with pytest.raises(LoadError, match="cannot read"):
        build_from(f"{server}/moved/shop.git//base", tmp_path)


def test_a_file_over_tls(
    served: Path, server: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = f"{server}/shop.git/.git/HEAD"
    with pytest.raises(LoadError, match="certificate"):
        remote.fetch(wanted)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert remote.fetch(wanted) == (served / "shop.git" / ".git" / "HEAD").read_bytes()


@pytest.mark.parametrize(
    ("address", "called"),
    [
        pytest.param("ssh://git@host.example{served}/shop.git//base?ref=v1", "git@host.example", id="an address"),
        pytest.param("ssh://git@host.example:2222{served}/shop.git//base", "-p 2222 git@host.example", id="a port"),
        pytest.param("git@host.example:shop.git//base", "git@host.example", id="the short form"),
    ],
)
def test_a_base_over_ssh(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, called: str
) -> None:
    log = stand_in_for_ssh(tmp_path / "bin", served)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    assert build_from(address.format(served=served), tmp_path) == ["p-conf"]
    noted = log.read_text()
    assert called in noted
    assert "-oBatchMode=yes" in noted  # it never asks a person
    assert "agent /agent" in noted


def test_the_user_may_choose_the_program_for_ssh(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = stand_in_for_ssh(tmp_path / "bin", served)
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{tmp_path / 'bin' / 'ssh'} -i key")
    assert build_from("git@host.example:shop.git//base", tmp_path) == ["p-conf"]
    assert "-i key" in log.read_text()


def test_an_ssh_that_fails_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_for_ssh(tmp_path / "bin", tmp_path / "nowhere")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(LoadError, match=r"cannot read 'git@host.example:shop.git' at 'HEAD'"):
        build_from("git@host.example:shop.git//base", tmp_path)
