"""A18, A19, A21: planted values are looked for in everything that comes out, except where plain text was asked for.

Everything is: errors with all their causes, in every spelling; what is logged at the finest level, by libraries too;
what is printed; files that are left behind; and the arguments of programs.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import re
import stat
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from moto.server import ThreadedMotoServer

from penstock import sops
from penstock.cli import secrets
from penstock.errors import PenstockError
from penstock.render import DecryptionFailed, decrypt_objects, decrypt_sources
from penstock.sops import Format
from penstock.sops.aws import AwsCredentials, AwsService
from penstock.sops.credentials import import_keys
from penstock.sops.gnupg import GnuPgService
from penstock.sops.keys import AwsKey, PgpKey, VaultKey
from penstock.sops.vault import VaultService, static_token
from tests.sops.rings import Ring, new_ring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RING = new_ring()
FOREIGN = new_ring()
PLANTED = "PLANTED-7f3a9c51"
DATA_KEY = b"planted-data-key-of-32-bytes-0123"[:32]
FILES = {
    Format.YAML: f"# {PLANTED} comment\nstringData:\n  a: {PLANTED}\n  n: 4815162342\n  l: [{PLANTED}]\n".encode(),
    Format.JSON: json.dumps({"a": PLANTED, "n": 4815162342, "l": [PLANTED], "d": {"e": PLANTED}}).encode(),
    Format.DOTENV: f"# {PLANTED}\nA={PLANTED}\nN=4815162342\n".encode(),
    Format.INI: f"[s]\n; {PLANTED}\na = {PLANTED}\nn = 4815162342\n".encode(),
    Format.BINARY: f"{PLANTED}\x00\n".encode(),
}


def spellings() -> list[str]:
    """The planted values, and what they look like encoded."""
    plain = [PLANTED, PLANTED.lower(), "4815162342", RING.text, RING.text.lower(), DATA_KEY.decode()]
    shifted = [base64.b64encode(b" " * pad + PLANTED.encode())[4:-4].decode() for pad in range(3)]
    return [*plain, *shifted, base64.b64encode(DATA_KEY).decode()[:40], DATA_KEY.hex(), PLANTED.encode().hex()]


def clean(text: str) -> None:
    for planted in spellings():
        assert planted not in text


def told(error: BaseException) -> str:
    """An error as any handler might write it: sentence, repr, arguments, and the whole chain of causes."""
    parts: list[str] = ["".join(traceback.format_exception(error))]
    seen: BaseException | None = error
    while seen is not None:
        parts += [str(seen), repr(seen), repr(seen.args)]
        seen = seen.__cause__ or seen.__context__ if not seen.__suppress_context__ else seen.__cause__
    return "\n".join(parts)


def faults() -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    """Ways to break a file, each of which puts a planted value where a careless error would quote it."""
    yield "plain text instead of ciphertext", lambda d: re.sub(rb"ENC\[[^\]]*type:str\]", PLANTED.encode(), d, count=1)
    yield "plain text as base64", lambda d: re.sub(rb"data:[^,]*", f"data:{PLANTED}".encode(), d)
    yield "plain text as nonce", lambda d: re.sub(rb"iv:[^,]*", f"iv:{PLANTED}".encode(), d)
    yield "plain text as tag", lambda d: re.sub(rb"tag:[^,]*", f"tag:{PLANTED}".encode(), d)
    yield "another type", lambda d: d.replace(b"type:str]", b"type:int]")
    yield "yet another type", lambda d: d.replace(b"type:str]", b"type:bool]")
    yield "a float", lambda d: d.replace(b"type:str]", b"type:float]")
    yield "no MAC", lambda d: re.sub(rb"(mac\S*[=:]\s*\"?)ENC\[[^\]]*\]", rb"\1", d)
    yield "another time", lambda d: re.sub(rb"20\d\d-\d\d-\d\dT", b"1999-01-01T", d)
    yield "broken metadata", lambda d: d.replace(b"-----BEGIN", PLANTED.encode())
    yield "cut off", lambda d: d[: len(d) // 3]
    yield "cut off late", lambda d: d[:-20]
    yield "not UTF-8", lambda d: d.replace(b"ENC[", b"\xff\xfe" + PLANTED.encode(), 1)
    yield "a broken line at its end", lambda d: d + f"\n\t{PLANTED}: [\n{PLANTED}".encode()
    yield "a broken line at its start", lambda d: f"{{{PLANTED}\n".encode() + d


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


@pytest.fixture
def memory() -> Iterator[Path]:
    """A memory-backed folder that no other test uses."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def known_data_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of these tests has the same data key, so that it can be looked for."""
    monkeypatch.setattr("penstock.sops.datakey.secrets.token_bytes", lambda count: DATA_KEY[:count])


@pytest.mark.parametrize("form", list(Format), ids=lambda form: form.value)
async def test_errors_about_files(
    form: Format, log: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    encrypted = await RING.encrypt(FILES[form], form)
    clean(encrypted.decode())
    failed = 0
    for _, fault in faults():
        for ring in (RING, FOREIGN):
            for output in (form, Format.DOTENV, Format.INI, Format.BINARY):
                try:
                    await sops.decrypt(fault(encrypted), ring.keyring, form=form, output=output)
                except sops.SopsError as error:
                    failed += 1
                    clean(told(error))
    assert failed > 60
    shown = capfd.readouterr()
    clean(log.text + shown.out + shown.err)


async def test_errors_about_builds(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    encrypted = json.loads(await RING.encrypt(FILES[Format.JSON], Format.JSON))
    value = base64.b64encode(await RING.encrypt(FILES[Format.YAML], Format.YAML)).decode()
    objects = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, **encrypted},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"x.env": value}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, **encrypted, "a": PLANTED},
    ]
    for obj in objects:
        for ring in (FOREIGN, RING):
            try:
                await decrypt_objects([obj], ring.keyring, provider="sops")
            except DecryptionFailed as error:
                clean(told(error))
    (tmp_path / "kustomization.yaml").write_text("secretGenerator: [{envs: [a.env]}]")
    (tmp_path / "a.env").write_bytes(await RING.encrypt(FILES[Format.DOTENV], Format.DOTENV))
    with pytest.raises(DecryptionFailed) as caught:
        await decrypt_sources(tmp_path, ".", FOREIGN.keyring, provider="sops")
    clean(told(caught.value) + log.text)
    found = await decrypt_sources(tmp_path, ".", RING.keyring, provider="sops")
    clean(repr(found))
    for name in ("kustomization.yaml", "a.env"):
        clean((tmp_path / name).read_text())


@pytest.mark.parametrize(
    "name",
    ["a.agekey", "a.asc", "sops.aws-kms", "sops.azure-kv", "sops.gcp-kms"],
)
@pytest.mark.parametrize(
    "value",
    [
        PLANTED,
        f"AGE-SECRET-KEY-1{PLANTED}",
        f"AGE-SECRET-KEY-PQ-1{PLANTED}",
        RING.text[:-1] + "q" if RING.text[-1] != "q" else RING.text[:-1] + "p",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PLANTED}\n-----END OPENSSH PRIVATE KEY-----\n",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{PLANTED}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----\n",
        f"aws_secret_access_key: {PLANTED}",
        f'{{"type": "service_account", "private_key": "{PLANTED}"',
        f"tenantId: {PLANTED}\nclientSecret: {PLANTED}",
        f"{PLANTED}: [",
    ],
    ids=range(10),
)
def test_errors_about_keys(name: str, value: str, log: pytest.LogCaptureFixture) -> None:
    with pytest.raises(sops.KeyFileError) as caught:
        import_keys({name: value.encode()}, secret="apps/keys")
    clean(told(caught.value) + log.text)
    assert value[:40] not in told(caught.value)


async def test_what_libraries_log(log: pytest.LogCaptureFixture) -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        service = AwsService(AwsCredentials("id", PLANTED, PLANTED), endpoint=f"http://{host}:{port}")
        key = AwsKey("arn:aws:kms:us-west-2:123456789012:key/not-there", enc="eA==")
        for work in (service.open(key), service.seal(key, DATA_KEY)):
            with pytest.raises(sops.DataKeyError) as caught:
                await work
            clean(told(caught.value))
    finally:
        await asyncio.to_thread(server.stop)
    own = "".join(record.getMessage() for record in log.records if not record.name.startswith(("werkzeug", "moto")))
    clean(own)


async def test_errors_about_vault(log: pytest.LogCaptureFixture) -> None:
    service = VaultService(static_token(PLANTED))
    for key in (VaultKey("http://127.0.0.1:9", "transit", "key", enc=PLANTED), VaultKey("nonsense", "t", "k")):
        for work in (service.open(key), service.seal(key, DATA_KEY)):
            with pytest.raises(sops.DataKeyError) as caught:
                await work
            clean(told(caught.value))
    clean(log.text + repr(service))


async def test_arguments_of_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A21: what `ps` would show while gpg runs, and what gpg finds in its environment."""
    record = tmp_path / "record"
    program = tmp_path / "gpg"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.stdin.buffer.read()\n"
        f"open({str(record)!r}, 'a').write(repr(sys.argv) + repr(dict(os.environ)))\n"
        f"sys.exit('{PLANTED}')\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    service = GnuPgService()
    for work in (service.seal(PgpKey("A" * 40), DATA_KEY), service.open(PgpKey("A" * 40, enc=PLANTED))):
        with pytest.raises(sops.DataKeyError, match="gpg ended with 1") as caught:
            await work
        clean(told(caught.value))
    assert record.read_text().count("--batch") == 2
    clean(record.read_text())


def test_the_command_line(
    tmp_path: Path,
    memory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    log: pytest.LogCaptureFixture,
) -> None:
    """Verbs that fail, and verbs that need not show anything, print and leave nothing."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for name in ("TMPDIR", "HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(memory))
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    monkeypatch.setenv("SOPS_AGE_KEY", RING.text)
    monkeypatch.setenv("EDITOR", f"{sys.executable} -c 'import sys; sys.exit(4)'")
    command = typer.main.get_command(secrets.app)

    def run(*arguments: str | Path) -> None:
        try:
            command.main([str(argument) for argument in arguments], standalone_mode=False)
        except (PenstockError, typer.Exit) as error:
            clean(told(error))
        shown = capfd.readouterr()
        clean(shown.err)
        if arguments[0] != "decrypt":
            clean(shown.out)

    for form, suffix in ((Format.YAML, "yaml"), (Format.JSON, "json"), (Format.DOTENV, "env"), (Format.INI, "ini")):
        file = tmp_path / f"secret.{suffix}"
        file.write_bytes(FILES[form])
        run("check", tmp_path)
        run("encrypt", "--age", RING.recipient, "-i", file)
        clean(file.read_text())
        run("encrypt", "--age", RING.recipient, "-i", file)
        for verb in ("edit", "rotate", "check"):
            run(verb, file)
        good = file.read_bytes()
        for _, fault in faults():
            file.write_bytes(fault(good))
            for verb in ("decrypt", "edit", "rotate", "check"):
                run(verb, file)
            file.write_bytes(good)
    clean(log.text)
    assert list(scratch.rglob("*")) == []
    assert list(memory.rglob("*")) == []


def test_reprs() -> None:
    ring = Ring(RING.text)
    clean(repr(ring.identity) + repr(ring.keyring) + str(ring.keyring))
    opened = asyncio.run(_opened())
    assert "data_key" not in repr(opened)
    clean(repr(opened))


async def _opened() -> sops.Opened:
    return await sops.open_file(await RING.encrypt(FILES[Format.YAML], Format.YAML), RING.keyring, form=Format.YAML)
