"""The real `sshd` of Debian, as an ordinary process on loopback that lets one key in."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.debian import environment, unpacked
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_NOBODY = 65534


@dataclass(frozen=True, slots=True)
class SshServer:
    """A running server."""

    port: int
    known_hosts: bytes
    authorized: Path
    """The file that names the keys to let in."""

    def url(self, path: Path, *, user: str = "git@") -> str:
        return f"ssh://{user}127.0.0.1:{self.port}{path}"

    def let_in(self, public_line: bytes) -> None:
        self.authorized.write_bytes(public_line + b"\n")


@contextmanager
def serving(folder: Path) -> Generator[SshServer]:
    """A server whose files lie in a folder; skips the test where it cannot be had."""
    if not shutil.which("ssh"):
        pytest.skip("not here: the program ssh of the Debian package openssh-client")
    root = unpacked("openssh-server", "libnss-wrapper", "libwrap0")
    key = Ed25519PrivateKey.generate()
    host = folder / "host"
    host.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    host.chmod(0o600)
    port = free_port()
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {host}\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder / 'authorized'}\nPasswordAuthentication no\nLogLevel INFO\n"
    )
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    with _running(root, folder):
        yield SshServer(port, f"[127.0.0.1]:{port} ".encode() + public + b"\n", folder / "authorized")


@contextmanager
def _running(root: Path, folder: Path) -> Generator[None]:
    # As root it would want a user and a folder of its own; in a user namespace it takes itself for an ordinary one.
    is_root = os.getuid() == 0
    user, group = (_NOBODY, _NOBODY) if is_root else (os.getuid(), os.getgid())
    (folder / "passwd").write_text(f"git:x:{user}:{group}::/:/bin/sh\n")
    (folder / "group").write_text(f"git:x:{group}:\n")
    variables = {
        **environment(root),
        "LD_PRELOAD": str(next(root.glob("usr/lib/*/libnss_wrapper.so"))),
        "NSS_WRAPPER_PASSWD": str(folder / "passwd"),
        "NSS_WRAPPER_GROUP": str(folder / "group"),
    }
    command = [str(root / "usr/sbin/sshd"), "-D", "-e", "-f", str(folder / "config")]
    if is_root:
        command = [shutil.which("unshare") or "unshare", "--user", *command]
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        try:
            _await_listening(process)
            yield
        finally:
            process.terminate()


def _await_listening(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    said = b""
    while b"Server listening" not in said:
        line = process.stderr.readline()
        if not line:
            pytest.skip(f"not here: sshd of the Debian package openssh-server does not start: {said.decode()}")
        said += line
