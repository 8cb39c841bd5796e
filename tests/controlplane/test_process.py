from __future__ import annotations

import asyncio
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import process as module
from tests.controlplane.process import Process, ProcessError

ROOT = Path(__file__).parents[2]
WAITS = "import signal; signal.pause()"
IGNORES_STOP = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
PARENT = """
import signal, subprocess, sys
from tests.controlplane import tether
subprocess.Popen(tether.command([sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]))
signal.pause()
"""


async def always() -> bool:
    return True


async def never() -> bool:
    return False


def python(code: str, folder: Path, ready: module.Probe = always) -> Process:
    return Process("program", [sys.executable, "-c", code], log=folder / "program.log", ready=ready)


async def test_start_stop_and_start_again(tmp_path: Path) -> None:
    process = python(WAITS, tmp_path)
    assert not process.running
    await process.start()
    first = process.pid
    await process.stop()
    assert not process.running
    await process.start()
    assert process.pid != first
    await process.kill()
    await process.kill()
    assert not process.running


async def test_a_program_that_dies_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    process = python("import sys; print('what went wrong'); sys.exit(3)", tmp_path, never)
    with pytest.raises(ProcessError, match=r"(?s)program ended with exit code 3.*program\.log:\n  what went wrong"):
        await process.start()


async def test_a_program_that_never_gets_ready_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READY_WITHIN", 0.01)
    process = python(WAITS, tmp_path, never)
    with pytest.raises(ProcessError, match="was not ready after"):
        await process.start()
    await process.kill()


async def test_a_program_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_WITHIN", 0.01)

    async def deaf() -> bool:
        return "deaf" in await asyncio.to_thread((tmp_path / "program.log").read_text)

    process = python(IGNORES_STOP, tmp_path, deaf)
    await process.start()
    await process.stop()
    assert not process.running


async def test_starting_twice_is_refused(tmp_path: Path) -> None:
    process = python(WAITS, tmp_path)
    await process.start()
    with pytest.raises(ProcessError, match="program runs already"):
        await process.start()
    await process.kill()


async def test_the_id_of_a_program_that_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="program does not run"):
        _ = python(WAITS, tmp_path).pid


@pytest.mark.skipif(sys.platform != "linux", reason="not here: only Linux ends a program with its parent")
def test_a_program_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.kill()
        # The program holds the other end of the pipe: the pipe ends when the program does.
        ended, _, _ = select.select([parent.stdout], [], [], 10)
        assert ended, "the program lived on"
        assert parent.stdout.read() == b""
