"""The command as a person runs it, in a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.up.repositories import CONFIG, LIMIT, WITHIN, kustomization, small, write
from tests.terminal import terminal

if TYPE_CHECKING:
    from pathlib import Path

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


@pytest.mark.timeout(LIMIT)
async def test_from_the_first_picture_to_the_last(tmp_path: Path) -> None:
    root = write(small(tmp_path), {"clusters/prod/apps.yaml": kustomization("settings")})
    config = root / "apps/settings/config.yaml"
    async with terminal(sys.executable, "-m", "penstock", "up", str(root)) as shown:
        await shown.until("1  clusters/dev", within=WITHIN)
        await shown.until("Which cluster: ", within=WITHIN)
        shown.type("1\n")
        await shown.until(f"penstock up: clusters/dev of {root}", within=WITHIN)
        await shown.until("export KUBECONFIG=/", within=WITHIN)
        await shown.until("4/4 Ready", within=WITHIN)

        config.write_text(CONFIG.replace("blue", "[1]"))
        await shown.until("(see apps/settings/config.yaml)", within=WITHIN)
        await shown.until("2/4 Ready", within=WITHIN)

        config.write_text(CONFIG.replace("blue", "green"))
        await shown.until("4/4 Ready", within=WITHIN)

        shown.interrupt()
        last = await shown.until("stopped", within=WITHIN)
        assert SHOW_CURSOR in last, "the cursor is back"
        assert HIDE_CURSOR not in last.rpartition(SHOW_CURSOR)[2]
        assert await shown.ended(within=WITHIN) == 0
