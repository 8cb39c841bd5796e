"""Whose signature a commit or tag carries: made with the real `git`, `gpg` and `ssh-keygen`."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from penstock.sources import SourceError, Stalled
from penstock.sources.git import Address, Git, GitRemote, Reference, Verification, objects, sshsig

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer


@dataclass(frozen=True)
class Signer:
    """Somebody with a key."""

    options: tuple[str, ...]
    environment: dict[str, str]
    public: bytes
    name: str
    """The key in a Secret."""
    shown: str
    """How texts call the key."""

    def commit(self, repository: Repository, files: dict[str, str], branch: str = "main") -> str:
        tree = repository.tree(files)
        parents = repository.run("for-each-ref", "--format=-p%(objectname)", f"refs/heads/{branch}").split()
        made = repository.run(
            *self.options, "commit-tree", "-S", *parents, "-m", "signed", tree, variables=self.environment
        )
        repository.run("update-ref", f"refs/heads/{branch}", made)
        return made

    def tag(self, repository: Repository, name: str) -> str:
        repository.run(*self.options, "tag", "-s", "-m", f"{name}\n\nnotes", name, "main", variables=self.environment)
        return repository.run("rev-parse", f"refs/tags/{name}")


def ssh_signer(folder: Path, kind: str = "ed25519") -> Signer:
    if not shutil.which("ssh-keygen"):
        pytest.skip("not here: the program ssh-keygen of the Debian package openssh-client")
    folder.mkdir()
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "ann", "-f", key], check=True)
    printed = subprocess.run(["ssh-keygen", "-l", "-f", key], check=True, capture_output=True, text=True).stdout
    options = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={key}")
    return Signer(options, {}, (folder / "key.pub").read_bytes(), "ann.sshpub", printed.split()[1])


def pgp_signer(folder: Path, *, with_subkey: bool = False) -> Signer:
    folder.mkdir(mode=0o700)
    environment = {"GNUPGHOME": str(folder), "PATH": os.environ["PATH"]}

    def gpg(*arguments: str) -> str:
        command = ["gpg", "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback", *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    gpg("--quick-generate-key", "Ann <ann@example.com>", "ed25519", "cert" if with_subkey else "sign", "never")
    listed = gpg("--list-keys", "--with-colons")
    fingerprint = next(line for line in listed.splitlines() if line.startswith("fpr")).split(":")[9]
    if with_subkey:
        gpg("--quick-add-key", fingerprint, "ed25519", "sign", "never")
    public = gpg("--armor", "--export", fingerprint).encode()
    return Signer(("-c", f"user.signingKey={fingerprint}"), environment, public, "ann.asc", fingerprint[-16:])


@pytest.fixture(scope="module")
def signers(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Signer]]:
    if not shutil.which("gpg"):
        pytest.skip("not here: the program gpg of the Debian package gnupg")
    folder = tmp_path_factory.mktemp("keys")
    yield {
        "PGP": pgp_signer(folder / "pgp"),
        "PGP with a subkey": pgp_signer(folder / "subkey", with_subkey=True),
        "SSH": ssh_signer(folder / "ssh"),
        "SSH with RSA": ssh_signer(folder / "rsa", "rsa"),
        "SSH with ECDSA": ssh_signer(folder / "ecdsa", "ecdsa"),
    }
    for name in ("pgp", "subkey"):
        subprocess.run(["gpgconf", "--homedir", str(folder / name), "--kill", "all"], check=False)


def remote(git: Git, server: GitServer, reference: Reference, verification: Verification) -> GitRemote:
    return GitRemote(git, Address.parse(server.url("app.git")), reference, verification=verification)


MAIN = Reference(branch="main")
KINDS = ["PGP", "PGP with a subkey", "SSH", "SSH with RSA", "SSH with ECDSA"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.scenario("sources-24")
async def test_a_signed_commit(
    git: Git, server: GitServer, repository: Repository, into: Path, signers: dict[str, Signer], kind: str
) -> None:
    signer = signers[kind]
    commit = signer.commit(repository, {"a": "1"})
    keys = {signer.name: signer.public, "others.sshpub": b"# nobody\n\n"}
    fetched = await remote(git, server, MAIN, Verification.of_secret("head", keys)).fetch(into)
    assert fetched.verified == f"verified signature of\n\t- commit '{commit}' with key '{signer.shown}'"


@pytest.mark.parametrize("kind", ["PGP", "SSH"])
@pytest.mark.parametrize(
    "reference", [Reference(tag="v1.0.0"), Reference(semver="1.x"), Reference(name="refs/tags/v1.0.0")]
)
@pytest.mark.scenario("sources-24")
async def test_a_signed_tag(
    git: Git, server: GitServer, repository: Repository, into: Path, signers: dict[str, Signer], kind: str,
    reference: Reference,
) -> None:  # fmt: skip
    signer = signers[kind]
    commit = signer.commit(repository, {"a": "1"})
    tag = signer.tag(repository, "v1.0.0")
    keys = {signer.name: signer.public}
    for mode, extra in (("Tag", ""), ("TagAndHEAD", f"\n\t- commit '{commit}' with key '{signer.shown}'")):
        folder = into / mode
        folder.mkdir()
        fetched = await remote(git, server, reference, Verification.of_secret(mode, keys)).fetch(folder)
        assert fetched.verified == f"verified signature of\n\t- tag 'v1.0.0@{tag}' with key '{signer.shown}'{extra}"


@pytest.mark.parametrize("kind", ["PGP", "SSH"])
@pytest.mark.scenario("sources-24")
async def test_another_key(
    git: Git, server: GitServer, repository: Repository, into: Path, signers: dict[str, Signer], kind: str
) -> None:
    """A41: nothing is written, however good the signature of somebody else is."""
    commit = signers[kind].commit(repository, {"a": "1"})
    other = signers["PGP with a subkey" if kind == "PGP" else "SSH with RSA"]
    with pytest.raises(SourceError, match=f"signature verification of commit '{commit}' failed") as caught:
        await remote(git, server, MAIN, Verification.of_secret("HEAD", {other.name: other.public})).fetch(into)
    assert (caught.value.condition, caught.value.reason) == ("SourceVerified", "InvalidCommitSignature")
    assert not (into / "a").exists()


@pytest.mark.scenario("sources-24")
async def test_key_rotation(
    git: Git, server: GitServer, repository: Repository, tmp_path: Path, signers: dict[str, Signer]
) -> None:
    """A41: while both keys are in the Secret both count, and the old one not a moment longer."""
    old, new = signers["PGP"], signers["SSH"]
    old.commit(repository, {"a": "1"})
    both = Verification.of_secret("HEAD", {old.name: old.public, new.name: new.public})
    only_new = Verification.of_secret("HEAD", {new.name: new.public})
    for number, verification in enumerate((both, both, only_new)):
        (tmp_path / str(number)).mkdir()
        if number == 1:
            new.commit(repository, {"a": "2"})
        assert (await remote(git, server, MAIN, verification).fetch(tmp_path / str(number))).verified
    old.commit(repository, {"a": "3"})
    (tmp_path / "3").mkdir()
    with pytest.raises(SourceError, match="failed"):
        await remote(git, server, MAIN, only_new).fetch(tmp_path / "3")


@pytest.mark.parametrize(
    ("mode", "reference", "words", "reason"),
    [
        pytest.param("HEAD", MAIN, "it is not signed", "InvalidCommitSignature", id="a commit"),
        pytest.param("Tag", Reference(tag="light"), "cannot verify signature of tag 'light' since it is not signed",
                     "InvalidGitObject", id="a light tag"),
        pytest.param("Tag", Reference(tag="plain"), "since it is not signed", "InvalidGitObject", id="a plain tag"),
        pytest.param("TagAndHEAD", Reference(tag="signed"), "it is not signed", "InvalidCommitSignature",
                     id="a signed tag on a commit that is not"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-24")
async def test_not_signed(
    git: Git, server: GitServer, repository: Repository, into: Path, signers: dict[str, Signer], mode: str,
    reference: Reference, words: str, reason: str,
) -> None:  # fmt: skip
    repository.commit({"a": "1"})
    repository.tag("light")
    repository.tag("plain", annotated=True)
    signer = signers["SSH"]
    signer.tag(repository, "signed")
    with pytest.raises(SourceError) as caught:
        await remote(git, server, reference, Verification.of_secret(mode, {signer.name: signer.public})).fetch(into)
    assert words in str(caught.value)
    assert (caught.value.condition, caught.value.reason) == ("SourceVerified", reason)
    assert not isinstance(caught.value, Stalled)


@pytest.mark.scenario("sources-24")
async def test_a_tag_is_wanted_and_the_reference_is_none(
    git: Git, server: GitServer, repository: Repository, into: Path
) -> None:
    repository.commit({"a": "1"})
    with pytest.raises(Stalled, match="if a tag reference is not specified") as caught:
        await remote(git, server, MAIN, Verification("Tag")).fetch(into)
    assert caught.value.reason == "InvalidVerificationMode"


async def test_a_signed_tag_under_another_name(
    git: Git, server: GitServer, repository: Repository, into: Path, signers: dict[str, Signer]
) -> None:
    """A41: an old release cannot be passed off as a new one."""
    signer = signers["SSH"]
    signer.commit(repository, {"a": "1"})
    old = signer.tag(repository, "v1.0.0")
    repository.run("update-ref", "refs/tags/v2.0.0", old)
    verification = Verification.of_secret("Tag", {signer.name: signer.public})
    with pytest.raises(SourceError, match=r"calls itself 'v1\.0\.0'") as caught:
        await remote(git, server, Reference(semver=">=1"), verification).fetch(into)
    assert caught.value.reason == "InvalidTagSignature"


@pytest.mark.parametrize("kind", ["PGP", "SSH"])
def test_changed_bytes(repository: Repository, signers: dict[str, Signer], kind: str) -> None:
    signer = signers[kind]
    name = signer.commit(repository, {"a": "1"})
    raw = subprocess.run(
        ["git", "--git-dir", repository.path, "cat-file", "commit", name], check=True, capture_output=True
    ).stdout
    verification = Verification.of_secret("HEAD", {signer.name: signer.public})
    assert verification.check(objects.commit(name, raw), None, tag_name="")
    with pytest.raises(SourceError):
        verification.check(objects.commit(name, raw.replace(b"signed", b"resigned")), None, tag_name="")


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        pytest.param({"a.sshpub": b"nonsense"}, "a line of the Secret is not an SSH public key", id="no SSH key"),
        pytest.param({}, "any of the given authorized keys", id="no key at all"),
    ],
)
def test_a_secret_without_keys(
    repository: Repository, signers: dict[str, Signer], secret: dict[str, bytes], words: str
) -> None:
    name = signers["SSH"].commit(repository, {"a": "1"})
    raw = repository.run("cat-file", "commit", name).encode() + b"\n"
    with pytest.raises(SourceError, match=words):
        Verification.of_secret("HEAD", secret).check(objects.commit(name, raw), None, tag_name="")


def test_for_another_purpose(tmp_path: Path, signers: dict[str, Signer]) -> None:
    """A signature of a file or of a login is none of a commit."""
    signer = signers["SSH"]
    (tmp_path / "payload").write_bytes(b"payload")
    key = signer.options[-1].partition("=")[2]
    for namespace in ("file", "git"):
        (tmp_path / "payload.sig").unlink(missing_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, tmp_path / "payload"],
            check=True,
            capture_output=True,
        )
        signature = (tmp_path / "payload.sig").read_bytes()
        if namespace == "git":
            keys = signer.public.decode()
            assert sshsig.signer(signature, b"payload", keys, namespace="git") == signer.shown
            continue
        with pytest.raises(sshsig.InvalidSignature, match="another purpose"):
            sshsig.signer(signature, b"payload", signer.public.decode(), namespace="git")


@pytest.mark.parametrize("cut", range(0, 300, 17))
def test_a_damaged_signature_is_none(
    tmp_path: Path, signers: dict[str, Signer], repository: Repository, cut: int
) -> None:
    signer = signers["SSH"]
    name = signer.commit(repository, {"a": "1"})
    signed = objects.commit(name, repository.run("cat-file", "commit", name).encode() + b"\n")
    damaged = signed.signature[:cut] + signed.signature[cut + 1 :]
    with pytest.raises(sshsig.InvalidSignature):
        sshsig.signer(damaged, signed.payload, signer.public.decode(), namespace="git")
