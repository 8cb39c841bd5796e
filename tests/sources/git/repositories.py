"""Repositories for tests, made with the real `git` and nobody's configuration."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.com",
}


class Repository:
    """A bare repository, as servers have them; commits are made without a work tree."""

    def __init__(self, path: Path, *, form: str = "sha1") -> None:
        self.path = path
        self._seconds = 1_700_000_000
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run(
            "init", "--quiet", "--bare", "--template=", "--initial-branch=main", f"--object-format={form}", cwd="/"
        )
        self.run("config", "http.receivepack", "false")

    def run(
        self, *arguments: str, stdin: bytes = b"", cwd: str = "", variables: Mapping[str, str] | None = None
    ) -> str:
        """What a `git` command prints."""
        environment = {**_ENVIRONMENT, "GIT_DIR": str(self.path), **(variables or {})}
        done = subprocess.run(
            ["git", *arguments], input=stdin, capture_output=True, env=environment, cwd=cwd or self.path, check=False
        )
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr.decode()}"
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def blob(self, content: bytes | str) -> str:
        return self.run("hash-object", "-w", "--stdin", stdin=content.encode() if isinstance(content, str) else content)

    def tree(self, files: Mapping[str, bytes | str], *, extra: str = "") -> str:
        """A tree; a name that ends with `*` is executable, one with `@` is a link. `extra` are lines of ls-tree."""
        lines = []
        for name, content in files.items():
            mode = "100755" if name.endswith("*") else "120000" if name.endswith("@") else "100644"
            lines.append(f"{mode} {self.blob(content)} 0\t{name.rstrip('*@')}\n")
        index = {"GIT_INDEX_FILE": str(self.path / "scratch-index")}
        stdin = ("".join(lines) + extra).encode()
        self.run("read-tree", "--empty", variables=index)
        self.run("update-index", "--add", "--index-info", stdin=stdin, variables=index)
        return self.run("write-tree", "--missing-ok", variables=index)

    def commit(
        self,
        files: Mapping[str, bytes | str],
        message: str = "change",
        *,
        branch: str = "main",
        extra: str = "",
        options: tuple[str, ...] = (),
    ) -> str:
        """A commit on a branch with these files and no others; each is a minute later than the one before."""
        return self.commit_tree(self.tree(files, extra=extra), message, branch=branch, options=options)

    def commit_tree(self, tree: str, message: str, *, branch: str = "main", options: tuple[str, ...] = ()) -> str:
        self._seconds += 60
        date = f"{self._seconds} +0000"
        parents = self.run("for-each-ref", "--format=-p%(objectname)", f"refs/heads/{branch}").split()
        made = self.run(
            "commit-tree", *options, *parents, "-m", message, tree,
            variables={"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )  # fmt: skip
        self.run("update-ref", f"refs/heads/{branch}", made)
        return made

    def fast_commit(self, files: Mapping[str, bytes | str], *, branch: str = "main") -> str:
        """The same for thousands of files."""
        self._seconds += 60
        parts = [f"commit refs/heads/{branch}\ncommitter Ann <ann@example.com> {self._seconds} +0000\ndata 4\nmany\n"]
        if parent := self.run("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}"):
            parts.append(f"from {parent}\n")
        stream = bytearray("".join(parts).encode() + b"deleteall\n")
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            stream += f"M 100644 inline {name}\ndata {len(raw)}\n".encode() + raw + b"\n"
        self.run("fast-import", "--quiet", "--force", stdin=bytes(stream))
        return self.run("rev-parse", f"refs/heads/{branch}")

    def tag(self, name: str, target: str = "main", *, annotated: bool = False) -> str:
        """A tag; the hash of the tag object when it is annotated, else of its target."""
        self.run("tag", "--force", *(["-a", "-m", name] if annotated else []), name, target)
        return self.run("rev-parse", f"refs/tags/{name}")
