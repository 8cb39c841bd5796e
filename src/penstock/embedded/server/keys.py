"""The files of a cluster that are secret: its keys, and the kubeconfig of its admin."""

from __future__ import annotations

import base64
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import orjson

FILE = "keys.json"


@dataclass(frozen=True, slots=True)
class Keys:
    """PEM blocks; all but the certificates are secret."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    signing_key: bytes = field(repr=False)
    token: str = field(repr=False)
    """The bearer token of the admin."""


def keys_of(home: Path) -> Keys:
    """The keys that lie in a folder; made when there are none."""
    path = home / FILE
    if path.exists():
        told = orjson.loads(path.read_bytes())
        return Keys(**{name: value if name == "token" else value.encode() for name, value in told.items()})
    # What makes certificates is slow to import, and a cluster that starts again needs none.
    from penstock.embedded.server.certificates import issue

    keys = issue()
    parts = {name: getattr(keys, name) for name in Keys.__slots__}
    text = {name: value if isinstance(value, str) else value.decode() for name, value in parts.items()}
    write_private(path, orjson.dumps(text))
    return keys


def write_kubeconfig(path: Path, server: str, keys: Keys) -> None:
    """Write a kubeconfig for the admin; as JSON, which is YAML."""
    name = "penstock"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(keys.authority).decode(),
                },
            }
        ],
        "users": [{"name": name, "user": {"token": keys.token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    write_private(path, orjson.dumps(config, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def write_private(path: Path, content: bytes) -> None:
    """Replace a file by one that only this user can read; nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
