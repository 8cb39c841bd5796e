"""`penstock secrets`, through its door."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

from penstock import sops
from penstock.cli import secrets
from penstock.errors import PenstockError, UsageError
from penstock.sops import editing, formats
from penstock.sops.keys import PgpKey
from tests.sops.openpgp_keys import armored_public, armored_secret, new_key
from tests.sops.rings import new_hybrid_ring, new_ring

if TYPE_CHECKING:
    from collections.abc import Callable

RING = new_ring()
OTHER = new_ring()
SECRET = b"""\
apiVersion: v1
kind: Secret
metadata:
    name: database
stringData:
    password: hunter2
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Runs a verb as a person with one age key and an empty home."""
    (tmp_path / "home").mkdir()
    for name in [name for name in os.environ if name.startswith(("SOPS_", "GNUPG", "VAULT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOPS_AGE_KEY", RING.text)
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)  # it would bind the whole test run
    command = typer.main.get_command(secrets.app)

    def call(*arguments: str | Path) -> int:
        return int(command.main([str(argument) for argument in arguments], standalone_mode=False) or 0)

    return call


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder with creation rules and a Secret in plain text."""
    root = tmp_path / "repository"
    (root / "apps").mkdir(parents=True)
    (root / ".sops.yaml").write_text(f"""\
creation_rules:
- path_regex: ^apps/.*\\.yaml$
  encrypted_regex: ^(data|stringData)$
  age: {RING.recipient}
- path_regex: two\\.json$
  key_groups:
  - age: [{RING.recipient}]
  - age: [{OTHER.recipient}]
  - age: [{new_hybrid_ring().recipient}]
  shamir_threshold: 2
""")
    (root / "apps/secret.yaml").write_bytes(SECRET)
    return root


def test_there_and_back(run: Callable[..., int], repository: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = repository / "apps/secret.yaml"
    assert run("encrypt", "--in-place", file) == 0
    encrypted = file.read_bytes()
    assert b"hunter2" not in encrypted
    assert b"name: database" in encrypted
    assert run("decrypt", file) == 0
    assert capfdbinary.readouterr().out == SECRET
    assert run("decrypt", "-i", file) == 0
    assert file.read_bytes() == SECRET


def test_key_groups_of_a_rule(run: Callable[..., int], repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = repository / "two.json"
    file.write_bytes(b'{"a": "b"}')
    run("encrypt", "-i", file)
    _, metadata = formats.load_encrypted(file.read_bytes(), sops.Format.JSON)
    assert (len(metadata.groups), metadata.threshold) == (3, 2)
    with pytest.raises(
        sops.DataKeyError, match=r"two\.json: .*1 of the 2 needed key groups could be opened; group 2: age "
    ):
        run("decrypt", file)
    monkeypatch.setenv("SOPS_AGE_KEY", f"{RING.text}\n{OTHER.text}")
    assert run("decrypt", "-i", file) == 0
    assert json.loads(file.read_bytes()) == {"a": "b"}


def test_recipients_can_be_given(run: Callable[..., int], tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_bytes(b"A=1\n")
    with pytest.raises(sops.RuleError, match=r"no rule in a \.sops\.yaml says for whom to encrypt"):
        run("encrypt", file)
    assert run("encrypt", "-i", "--age", f"{RING.recipient},{OTHER.recipient}", file) == 0
    _, metadata = formats.load_encrypted(file.read_bytes(), sops.Format.DOTENV)
    assert [key.name for key in metadata.keys] == [RING.recipient, OTHER.recipient]


def test_pgp_keys_from_files(
    run: Callable[..., int], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    key = new_key()
    (tmp_path / "public.asc").write_text(armored_public(key))
    (tmp_path / "secret.asc").write_text(armored_secret(key))
    file = tmp_path / "x.ini"
    file.write_bytes(b"[a]\nb = c\n")
    run("encrypt", "-i", "--pgp", key.fingerprint, "--pgp-key-file", tmp_path / "public.asc", file)
    assert run("decrypt", "--pgp-key-file", tmp_path / "secret.asc", file) == 0
    assert capfdbinary.readouterr().out == b"[a]\nb = c\n"


def test_an_age_plugin_is_refused_by_name(run: Callable[..., int], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"a: 1\n")
    with pytest.raises(PenstockError, match="the age plug-in 'yubikey' is not supported"):
        run("encrypt", "--age", "age1yubikey1qqqqqqqqqqq", file)


def test_no_command_is_run_for_a_key(
    run: Callable[..., int], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", "touch /nonexistent")
    with pytest.raises(sops.KeyFileError, match="SOPS_AGE_KEY_CMD names a program"):
        run("decrypt", repository / "apps/secret.yaml")


def test_tampering_is_shown_only_on_request(
    run: Callable[..., int], repository: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = repository / "apps/secret.yaml"
    run("encrypt", "-i", file)
    file.write_bytes(file.read_bytes().replace(b"name: database", b"name: other"))
    with pytest.raises(sops.IntegrityError, match="MAC does not fit"):
        run("decrypt", file)
    assert run("decrypt", "--ignore-mac", file) == 0
    assert b"hunter2" in capfdbinary.readouterr().out


def test_formats_can_be_named(
    run: Callable[..., int], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "no-suffix"
    file.write_bytes(b"a: b\n")
    run("encrypt", "-i", "--type", "yaml", "--age", RING.recipient, file)
    assert run("decrypt", "--type", "yaml", "--output-type", "json", file) == 0
    assert capfdbinary.readouterr().out == b'{\n\t"a": "b"\n}\n'
    with pytest.raises(UsageError, match="'xml' is not a format"):
        run("decrypt", "--type", "xml", file)


EDITOR = """\
import pathlib, sys
file = pathlib.Path(sys.argv[-1])
text = file.read_text()
pathlib.Path({log!r}).write_text(f"{{file}} {{oct(file.stat().st_mode)}} {{oct(file.parent.stat().st_mode)}}")
file.write_text(text.replace("hunter2", "hunter3"))
(file.parent / "backup~").write_text(text)
sys.exit({status})
"""


def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, status: int = 0) -> Path:
    script, log = tmp_path / "editor.py", tmp_path / "editor.log"
    script.write_text(EDITOR.format(log=str(log), status=status))
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    return log


def test_editing_leaves_nothing_behind(
    run: Callable[..., int], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    """A21: the plain text lay in memory, for its owner only, and is gone with what the editor left beside it."""
    file = repository / "apps/secret.yaml"
    run("encrypt", "-i", file)
    before = file.read_bytes()
    log = editor(tmp_path, monkeypatch)
    assert run("edit", file) == 0
    place, mode, folder_mode = log.read_text().split()
    assert editing._in_memory(Path(place).parents[1])
    assert (mode, folder_mode) == ("0o100600", "0o40700")
    assert not Path(place).parent.exists()
    assert run("decrypt", file) == 0
    assert b"hunter3" in capfdbinary.readouterr().out
    unchanged = [line for line in before.splitlines() if line.strip().startswith((b"enc:", b"recipient:"))]
    assert set(unchanged) <= set(file.read_bytes().splitlines())


def test_an_editor_that_fails_changes_nothing(
    run: Callable[..., int], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository / "apps/secret.yaml"
    run("encrypt", "-i", file)
    before = file.read_bytes()
    log = editor(tmp_path, monkeypatch, status=3)
    with pytest.raises(editing.EditError, match="the editor ended with 3; nothing was changed"):
        run("edit", file)
    assert not Path(log.read_text().split()[0]).parent.exists()
    assert file.read_bytes() == before


def test_without_memory_the_disk_must_be_allowed(
    run: Callable[..., int], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository / "apps/secret.yaml"
    run("encrypt", "-i", file)
    log = editor(tmp_path, monkeypatch)
    monkeypatch.setattr(editing, "_in_memory", lambda _: False)
    with pytest.raises(editing.EditError, match="no memory-backed folder"):
        run("edit", file)
    assert not log.exists()
    assert run("edit", "--on-disk", file) == 0
    assert not Path(log.read_text().split()[0]).parent.exists()


def test_rotation_follows_the_rules(run: Callable[..., int], repository: Path) -> None:
    file = repository / "apps/secret.yaml"
    run("encrypt", "-i", file)
    config = repository / ".sops.yaml"
    config.write_text(config.read_text().replace(f"age: {RING.recipient}", f"age: {RING.recipient}, {OTHER.recipient}"))
    before = file.read_bytes()
    assert run("rotate", "--keep-data-key", file) == 0
    middle = file.read_bytes()
    assert run("rotate", file) == 0
    after = file.read_bytes()

    def password(data: bytes) -> bytes:
        return next(line for line in data.splitlines() if b"password" in line)

    assert password(before) == password(middle)
    assert password(middle) != password(after)
    _, metadata = formats.load_encrypted(after, sops.Format.YAML)
    assert [key.name for key in metadata.keys] == [RING.recipient, OTHER.recipient]


def findings(
    run: Callable[..., int], capfd: pytest.CaptureFixture[str], *arguments: str | Path
) -> list[tuple[str, str]]:
    capfd.readouterr()
    code = run("check", "-o", "json", *arguments)
    found = [(entry["path"], entry["problem"]) for entry in json.loads(capfd.readouterr().out)]
    assert code == (1 if found else 0)
    return found


def test_check_finds_plain_text(run: Callable[..., int], repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (repository / "elsewhere.yaml").write_bytes(SECRET + b"---\nkind: ConfigMap\n")
    (repository / "apps/config.yaml").write_bytes(b"kind: ConfigMap\ndata: {}\n")
    (repository / "template.yaml").write_bytes(b"kind: Secret\n{{ if .x }}\n")
    (repository / ".git").mkdir()
    (repository / ".git/x.yaml").write_bytes(SECRET)
    holders = repository.parent / "holders.txt"
    holders.write_text(f"# all of us\n{OTHER.recipient} # colleague\n")
    found = findings(run, capfd, repository, "--holders", holders)
    assert found[1:] == [("apps/secret.yaml", "plain-text"), ("elsewhere.yaml", "plain-text")]
    assert found[0] == (".sops.yaml", "nobody-holds")
    run("encrypt", "-i", repository / "apps/secret.yaml")
    assert findings(run, capfd, repository / "apps") == []


def test_check_finds_values_added_by_hand(
    run: Callable[..., int], repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = repository / "apps/secret.yaml"
    run("encrypt", "-i", file)
    file.write_bytes(file.read_bytes().replace(b"stringData:", b"stringData:\n    token: planted"))
    assert findings(run, capfd, repository / "apps") == [("secret.yaml", "plain-value")]
    run("check", repository / "apps")
    shown = capfd.readouterr()
    assert "secret.yaml: plain-value: stringData.token is not encrypted" in shown.out
    assert "planted" not in shown.out + shown.err


def test_check_finds_stale_recipients_and_keys_that_nobody_holds(
    run: Callable[..., int], repository: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = repository / "apps/secret.yaml"
    gone = new_ring().recipient
    run("encrypt", "-i", "--age", f"{RING.recipient},{gone}", file)
    assert findings(run, capfd, repository / "apps") == [
        ("secret.yaml", "nobody-holds"),
        ("secret.yaml", "recipients-differ"),
    ]
    run("check", repository / "apps")
    shown = capfd.readouterr().out
    assert f"nobody holds the age key {gone}" in shown
    assert f"age {gone} still can; run 'penstock secrets rotate secret.yaml'" in shown
    holders = tmp_path / "holders"
    holders.write_text(gone)
    assert findings(run, capfd, repository / "apps", "--holders", holders) == [("secret.yaml", "recipients-differ")]


def test_check_knows_pgp_holders(run: Callable[..., int], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key, other = new_key(), new_key()
    for name, text in (("a.asc", armored_secret(key)), ("b.asc", armored_public(other))):
        (tmp_path / name).write_text(text)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x.yaml").write_bytes(b"a: 1\n")
    both = ["--pgp-key-file", str(tmp_path / "a.asc"), "--pgp-key-file", str(tmp_path / "b.asc")]
    run("encrypt", "-i", "--pgp", f"{key.fingerprint},{other.fingerprint}", *both, folder / "x.yaml")
    assert findings(run, capfd, folder, *both) == [("x.yaml", "nobody-holds")]
    _, metadata = formats.load_encrypted((folder / "x.yaml").read_bytes(), sops.Format.YAML)
    assert all(isinstance(key, PgpKey) and key.created_at for key in metadata.keys)


def test_check_says_when_it_cannot_know(
    run: Callable[..., int], repository: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOPS_AGE_KEY")
    run("check", repository)
    assert "not known which recipients nobody holds" in capfd.readouterr().err
