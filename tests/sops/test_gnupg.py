"""The user's own GnuPG, in a home of the test's making."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from penstock import sops
from penstock.sops import pgp
from penstock.sops.gnupg import GnuPgService
from penstock.sops.keys import AgeKey, PgpKey

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

DATA_KEY = bytes(range(32))
BATCH = """\
%no-protection
Key-Type: eddsa
Key-Curve: ed25519
Subkey-Type: ecdh
Subkey-Curve: cv25519
Name-Real: tests
Expire-Date: 0
"""


def gpg(*arguments: str, text: str = "") -> str:
    command = ["gpg", "--batch", "--quiet", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[pgp.OpenPgpKey]:
    if shutil.which("gpg") is None:
        pytest.skip("not here: no gpg")
    home = tmp_path / "g"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    gpg("--gen-key", text=BATCH)
    yield pgp.read_keys(gpg("--armor", "--export-secret-keys"))[0]
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=os.environ, check=False)


async def test_gpg_and_the_library_open_what_the_other_sealed(own: pgp.OpenPgpKey) -> None:
    program, library = GnuPgService(), pgp.PgpService((own,))
    key = PgpKey(own.fingerprints[0])
    for one, other in ((program, library), (library, program)):
        assert await other.open(PgpKey(key.fp, enc=await one.seal(key, DATA_KEY))) == DATA_KEY
    assert await program.holds(key.fp)
    assert not await program.holds("0" * 40)
    assert not await program.holds("--version")


async def test_gpg_refuses(own: pgp.OpenPgpKey) -> None:
    service = GnuPgService()
    with pytest.raises(sops.DataKeyError, match="gpg ended with 2"):
        await service.seal(PgpKey("0" * 40), DATA_KEY)
    with pytest.raises(sops.DataKeyError, match="gpg ended with 2"):
        await service.open(PgpKey(own.fingerprints[0], enc="nonsense"))
    with pytest.raises(sops.DataKeyError, match="named by its fingerprint"):
        await service.seal(PgpKey("--output=/x"), DATA_KEY)
    for work in (service.open(AgeKey("x")), service.seal(AgeKey("x"), DATA_KEY)):
        with pytest.raises(sops.DataKeyError):
            await work


async def test_without_gpg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sops.DataKeyError, match="gpg is not installed"):
        await GnuPgService().open(PgpKey("A" * 40))


@pytest.mark.looptime
async def test_a_gpg_that_waits_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    class Hanging:
        returncode: int | None = None

        async def communicate(self, _: bytes) -> tuple[bytes, bytes]:
            await asyncio.sleep(10_000)
            return b"", b""

        def kill(self) -> None:
            ended.set()

        async def wait(self) -> int:
            return -9

    async def start(*_: object, **__: object) -> Hanging:
        return Hanging()

    async def which(*_: object) -> str:
        return "gpg"

    monkeypatch.setattr("asyncio.create_subprocess_exec", start)
    monkeypatch.setattr("asyncio.to_thread", which)
    with pytest.raises(sops.DataKeyError, match="gave no answer in 120 s"):
        await GnuPgService().open(PgpKey("A" * 40))
    assert ended.is_set()
