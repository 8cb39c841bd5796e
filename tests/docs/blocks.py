"""The fenced code blocks of a guide, run one after the other as somebody would who follows it.

The words behind the fence say what a block is: `sh` is run by bash; `sh fails` must end with an error; `python` is run
with `await` allowed at the top, as in `python -m asyncio`; a file name behind any language (`yaml deployment.yaml`)
makes the block that file. Everything else is only shown. All blocks share one folder, and those of the shell one
environment.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.build import NoGo, find_go, program_path

WITHIN = 50.0
_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"[\w-]+\.\w+")
_AWAITING = """\
import ast, asyncio, inspect, sys
source = open(sys.argv[1], encoding="utf-8").read()
made = eval(compile(source, sys.argv[1], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {"__name__": "__main__"})
if inspect.iscoroutine(made):
    asyncio.run(made)
"""


@dataclass(frozen=True, slots=True)
class Block:
    """One block, and where it stands."""

    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str:
        """The file that it is; empty when it is none."""
        return self.words[1] if len(self.words) == 2 and _FILE.fullmatch(self.words[1]) else ""


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [
        Block(tuple(match["info"].split()), match["text"], text.count("\n", 0, match.start()) + 2)
        for match in _BLOCK.finditer(text)
    ]


async def follow(page: Path, folder: Path, *, without: tuple[str, ...] = (), within: float = WITHIN) -> tuple[int, str]:
    """Run the blocks of a page in a folder; the exit code, and all that was printed.

    Lines that begin with a program in `without` are left out; it may take `within` seconds.
    """
    script = await asyncio.to_thread(_prepare, page, folder, without)
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", str(script)),
        cwd=folder,
        env=environment(folder),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(within):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode()


def environment(folder: Path) -> dict[str, str]:
    """The environment of a guide: its own home, and the programs of this installation first."""
    path = os.pathsep.join((str(folder / ".bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "KUBE", "XDG"))}
    return {**kept, "PATH": path, "HOME": str(folder / ".home")}


def kubectl() -> list[str]:
    """The command line that is kubectl here: its own program, or the one in the control plane, if that was built."""
    if found := shutil.which("kubectl"):
        return [found]
    try:
        program = program_path(find_go())
    except NoGo:
        return []
    return [str(program), "kubectl"] if program.exists() else []


def _prepare(page: Path, folder: Path, without: tuple[str, ...]) -> Path:
    for name in (".bin", ".home"):
        (folder / name).mkdir()
    if command := kubectl():
        shim = folder / ".bin" / "kubectl"
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        shim.chmod(0o755)
    (folder / ".awaiting.py").write_text(_AWAITING)
    steps = [step for block in blocks(page.read_text(encoding="utf-8")) if (step := _step(block, folder, without))]
    script = folder / ".script.sh"
    script.write_text("\n".join(steps))
    return script


def _step(block: Block, folder: Path, without: tuple[str, ...]) -> str:
    if block.file:
        (folder / block.file).write_text(block.text)
        return ""
    said = f"echo '--- line {block.line}'"
    match block.words:
        case ("sh",):
            kept = [line for line in block.text.splitlines() if not line.startswith(without)]
            return "\n".join((said, *kept))
        case ("sh", "fails"):
            kept = [line for line in block.text.splitlines() if not line.startswith(without)]
            return "\n".join((said, *(f"if {line}; then exit 99; fi" for line in kept)))
        case ("python",):
            path = folder / f".block-{block.line}.py"
            path.write_text(block.text)
            return f"{said}\npython .awaiting.py {path.name}"
        case _:
            return ""
