"""The command as a person runs it, in a terminal."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.cli.up.repositories import CONFIG, LIMIT, WITHIN, kustomization, small, write

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


@contextmanager
def terminal(*arguments: str, height: int = 40) -> Generator[pexpect.spawn[str]]:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "penstock", "up", *arguments],
        encoding="utf-8",
        timeout=WITHIN,
        dimensions=(height, 200),
        env={**os.environ, "TERM": "xterm-256color"},
    )
    try:
        yield child
    finally:
        child.close(force=True)


@pytest.mark.timeout(LIMIT)
def test_from_the_first_picture_to_the_last(tmp_path: Path) -> None:
    root = write(small(tmp_path), {"clusters/prod/apps.yaml": kustomization("settings")})
    with terminal(str(root)) as child:
        child.expect("1  clusters/dev")
        child.expect("Which cluster: ")
        child.sendline("1")
        child.expect_exact(f"penstock up: clusters/dev of {root}")
        child.expect("export KUBECONFIG=(/[^\x1b\r\n]+)")
        child.expect("4/4 Ready")

        (root / "apps/settings/config.yaml").write_text(CONFIG.replace("blue", "[1]"))
        child.expect_exact("(see apps/settings/config.yaml)")
        child.expect("2/4 Ready")

        (root / "apps/settings/config.yaml").write_text(CONFIG.replace("blue", "green"))
        child.expect("4/4 Ready")

        child.sendintr()
        child.expect_exact("stopped")
        last = str(child.before)
        assert SHOW_CURSOR in last, "the cursor is back"
        assert HIDE_CURSOR not in last.rpartition(SHOW_CURSOR)[2]
        child.expect(pexpect.EOF)
        child.wait()
        assert (child.exitstatus, child.signalstatus) == (0, None)
