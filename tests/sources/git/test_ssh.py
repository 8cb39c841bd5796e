"""Git over SSH, with the real `sshd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from penstock.sources import SourceError
from penstock.sources.git import Address, Algorithms, Git, GitRemote, Reference, of_secret
from tests.sources.git.sshd import SshServer, serving

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from tests.sources.git.repositories import Repository

MAIN = Reference(branch="main")
PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Generator[SshServer]:
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


def public(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


def private(key: PrivateKey, passphrase: str = "", form: PrivateFormat = PrivateFormat.OpenSSH) -> bytes:
    lock = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, lock)


def remote(git: Git, url: str, secret: Mapping[str, bytes]) -> GitRemote:
    address = Address.parse(url)
    return GitRemote(git, address, MAIN, of_secret(url, address, secret, secret="tenant/login"))


KEYS: dict[str, PrivateKey] = {
    "ed25519": ed25519.Ed25519PrivateKey.generate(),
    "nistp256": ec.generate_private_key(ec.SECP256R1()),
    "nistp521": ec.generate_private_key(ec.SECP521R1()),
    "rsa": rsa.generate_private_key(65537, 2048),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.scenario("sources-20")
async def test_login(git: Git, sshd: SshServer, repository: Repository, into: Path, kind: str) -> None:
    commit = repository.commit({"a": "1"})
    sshd.let_in(public(KEYS[kind]))
    secret = {"identity": private(KEYS[kind]), "known_hosts": sshd.known_hosts}
    place = remote(git, sshd.url(repository.path), secret)
    assert await place.resolve() == f"main@sha1:{commit}"
    assert (await place.fetch(into)).revision == f"main@sha1:{commit}"
    assert (into / "a").read_text() == "1"


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        pytest.param(PrivateFormat.OpenSSH, "ed25519", id="OpenSSH"),
        pytest.param(PrivateFormat.PKCS8, "rsa", id="PKCS8"),
        pytest.param(PrivateFormat.TraditionalOpenSSL, "rsa", id="as OpenSSL wrote it"),
    ],
)
@pytest.mark.scenario("sources-20")
async def test_passphrase(git: Git, sshd: SshServer, repository: Repository, form: PrivateFormat, kind: str) -> None:
    repository.commit({"a": "1"})
    sshd.let_in(public(KEYS[kind]))
    identity = private(KEYS[kind], "sesame", form)
    secret = {"identity": identity, "known_hosts": sshd.known_hosts, "password": b"sesame"}
    assert await remote(git, sshd.url(repository.path, user=""), secret).resolve()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"password": b"wrong"}, "'password' is not its passphrase", id="a wrong passphrase"),
        pytest.param({"password": b""}, "SSH identity key is encrypted but no 'password' field was provided in the "
                     "secret 'tenant/login'", id="no passphrase"),
        pytest.param({"identity": b"nonsense"}, "'identity' is not a private key", id="no key"),
        pytest.param({"identity": b""}, "'identity' is required", id="nothing in place of a key"),
        pytest.param({"known_hosts": b""}, "'known_hosts' is required", id="no known hosts"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-20")
async def test_secret_that_cannot_be_used(
    git: Git, sshd: SshServer, repository: Repository, change: dict[str, bytes], words: str
) -> None:
    identity = private(KEYS["ed25519"], "sesame")
    secret = {"identity": identity, "known_hosts": sshd.known_hosts, "password": b"sesame", **change}
    with pytest.raises(SourceError) as caught:
        await remote(git, sshd.url(repository.path), secret).resolve()
    assert words in str(caught.value)
    assert caught.value.reason == "AuthenticationFailed"
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("hosts", ["another key", "another host"])
async def test_a_host_that_nobody_knows_is_not_talked_to(
    git: Git, sshd: SshServer, repository: Repository, hosts: str
) -> None:
    name = b"other.example" if hosts == "another host" else f"[127.0.0.1]:{sshd.port}".encode()
    secret = {"identity": private(KEYS["ed25519"]), "known_hosts": name + b" " + public(KEYS["nistp256"])}
    with pytest.raises(SourceError, match="its host key is not among the known_hosts"):
        await remote(git, sshd.url(repository.path), secret).resolve()


async def test_a_key_that_is_not_let_in(git: Git, sshd: SshServer, repository: Repository) -> None:
    sshd.let_in(public(KEYS["nistp256"]))
    secret = {"identity": private(KEYS["ed25519"]), "known_hosts": sshd.known_hosts}
    with pytest.raises(SourceError, match="does not accept the key"):
        await remote(git, sshd.url(repository.path), secret).resolve()


async def test_a_repository_that_is_not_there(git: Git, sshd: SshServer, tmp_path: Path, into: Path) -> None:
    sshd.let_in(public(KEYS["ed25519"]))
    secret = {"identity": private(KEYS["ed25519"]), "known_hosts": sshd.known_hosts}
    with pytest.raises(SourceError, match="unable to clone: repository not found: git repository: 'ssh://127"):
        await remote(git, sshd.url(tmp_path / "absent"), secret).fetch(into)


@pytest.mark.parametrize(
    ("algorithms", "works"),
    [
        pytest.param(Algorithms(key_exchange=("curve25519-sha256",), host_key=("ssh-ed25519",)), True, id="known"),
        pytest.param(Algorithms(key_exchange=("diffie-hellman-group14-sha1",)), False, id="another key exchange"),
        pytest.param(Algorithms(host_key=("rsa-sha2-512",)), False, id="another host key"),
    ],
)
async def test_algorithms(
    tmp_path: Path, sshd: SshServer, repository: Repository, algorithms: Algorithms, *, works: bool
) -> None:
    """`--ssh-kex-algos` and `--ssh-hostkey-algos`."""
    repository.commit({"a": "1"})
    sshd.let_in(public(KEYS["ed25519"]))
    secret = {"identity": private(KEYS["ed25519"]), "known_hosts": sshd.known_hosts}
    async with Git.open(tmp_path / "mirrors", algorithms=algorithms) as git:
        place = remote(git, sshd.url(repository.path), secret)
        if works:
            assert await place.resolve()
            return
        with pytest.raises(SourceError, match="server and client have no algorithm in common"):
            await place.resolve()
