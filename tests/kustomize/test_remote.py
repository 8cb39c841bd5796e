"""Bases from Git and files from HTTP, on servers of our own."""

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from penstock.kustomize import LoadError, Options, build, build_result, remote
from penstock.kustomize.remote import Clones
from penstock.kustomize.repospec import RepoSpec, parse

CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: b}\n"


class _Files(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/redirect/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/redirect/"))
            self.end_headers()
            return
        found = self.path == "/c.yaml"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(CONFIG_MAP if found else b"nothing here")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Files) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "base").mkdir(parents=True)
    (folder / "base" / "kustomization.yaml").write_text("resources: [c.yaml]\n")
    (folder / "base" / "c.yaml").write_bytes(CONFIG_MAP)
    (folder / "out").mkdir()
    (folder / "out" / "kustomization.yaml").write_text("resources: [../../../outside]\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def test_a_file_from_a_web_server(server: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"resources: ['{server}/c.yaml']\nnamePrefix: p-\n")
    assert build(tmp_path)[0]["metadata"]["name"] == "p-conf"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        pytest.param("/missing.yaml", "answered 404", id="missing"),
        pytest.param("/redirect/http://169.254.169.254/x", "link-local", id="redirect to the metadata service"),
        pytest.param("/redirect/file:///etc/passwd", "not an http", id="redirect to a file"),
        pytest.param(
            "/redirect//redirect//redirect//redirect//redirect//redirect//redirect//x", "", id="many redirects"
        ),
    ],
)
def test_answers_that_are_refused(server: str, path: str, sentence: str) -> None:
    with pytest.raises(LoadError) as caught:
        remote.fetch(server + path)
    assert sentence in str(caught.value)


def test_a_redirect_to_the_file_is_followed(server: str) -> None:
    assert remote.fetch(f"{server}/redirect/{server}/c.yaml") == CONFIG_MAP


def test_a_file_may_not_be_endless(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_LARGEST", 10)
    with pytest.raises(LoadError, match="larger than 10 bytes"):
        remote.fetch(f"{server}/c.yaml")


@pytest.fixture
def clones() -> Iterator[Clones]:
    made = Clones(schemes=("file",))
    yield made
    made.close()


@pytest.mark.parametrize("ref", ["", "v1", "main"])
def test_a_clone_at_a_ref(repository: Path, clones: Clones, ref: str) -> None:
    folder = clones.clone(RepoSpec(f"file://{repository}", "base", ref))
    assert (folder / "base" / "c.yaml").read_bytes() == CONFIG_MAP
    assert clones.clone(RepoSpec(f"file://{repository}", "elsewhere", ref)) == folder
    clones.close()
    assert not folder.exists()


def test_a_ref_that_is_not_there(repository: Path, clones: Clones) -> None:
    with pytest.raises(LoadError, match=r"cannot read .* at 'v9'"):
        clones.clone(RepoSpec(f"file://{repository}", "", "v9"))


def test_a_remote_base_is_built_and_stays_inside(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "Clones", lambda: Clones(schemes=("file",)))
    (tmp_path / "top").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kustomization.yaml").write_text("namePrefix: a\n")
    file = tmp_path / "top" / "kustomization.yaml"
    file.write_text(f"resources: ['file://{repository}//base?ref=v1']\n")
    (item,) = build_result(tmp_path / "top").items
    assert item.origin is not None
    assert (item.origin.repo, item.origin.ref, item.origin.path) == (f"file://{repository}", "v1", "base/c.yaml")
    file.write_text(f"resources: ['file://{repository}//out']\n")
    with pytest.raises(LoadError):
        build(tmp_path / "top")


def test_a_build_may_start_in_a_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "Clones", lambda: Clones(schemes=("file",)))
    assert build(f"file://{repository}//base?ref=v1")[0]["metadata"]["name"] == "conf"
    with pytest.raises(LoadError, match="not allowed"):
        build(f"file://{repository}//base", options=Options(remote=False))


def test_remote_files_can_be_turned_off(server: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"resources: ['{server}/c.yaml']\n")
    with pytest.raises(LoadError, match="not allowed"):
        build(tmp_path, options=Options(remote=False))


@pytest.mark.parametrize(
    ("text", "url", "path", "ref"),
    [
        ("https://github.com/org/repo/a/b?ref=v1", "https://github.com/org/repo", "a/b", "v1"),
        ("github.com/org/repo//a?version=x", "https://github.com/org/repo", "a", "x"),
        ("git@github.com:org/repo.git/a", "git@github.com:org/repo.git", "a", ""),
        ("ssh://git@host.example/org/repo//a", "ssh://git@host.example/org/repo", "a", ""),
        ("https://host.example/x/_git/repo/a/b", "https://host.example/x/_git/repo", "a/b", ""),
        ("git::https://host.example/org/repo.git?ref=main", "https://host.example/org/repo.git", "", "main"),
        ("user@host.example:org/repo", "user@host.example:org/repo", "", ""),
        (
            "https://host.example/org/repo.git/a?timeout=10&submodules=false",
            "https://host.example/org/repo.git",
            "a",
            "",
        ),
    ],
)
def test_spellings_of_remote_bases(text: str, url: str, path: str, ref: str) -> None:
    spec = parse(text)
    assert spec is not None
    assert (spec.url, spec.path, spec.ref) == (url, path, ref)


def test_options_of_remote_bases() -> None:
    spec = parse("https://host.example/org/repo.git?timeout=1m30s&submodules=false")
    assert spec is not None
    assert (spec.timeout, spec.submodules) == (90.0, False)


@pytest.mark.parametrize("text", ["../base", "/abs/path", "base", "a.git", "https://h/o/r//../.."])
def test_what_is_no_remote_base(text: str) -> None:
    assert parse(text) is None
