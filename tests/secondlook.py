"""Runs pytest and gives what failed a second look, alone: `python -m tests.secondlook -n auto -- -m 'not real'`.

Tests of processes and control planes share two cores with each other; one that starved there is no news about the code.
What fails alone too fails the run, more than `FEW` failures do without a second look, and whatever wavered is told in
plain sight: it is to be mended, only not by whoever changed something else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAILED = 1
"""What pytest ends with when it ran all tests, and some failed."""
FEW = 3


def framed(sentence: str) -> str:
    """The sentence in a box of its own, so that nobody overlooks it at the end of a long log."""
    edge = "+" + "-" * (len(sentence) + 2) + "+"
    return f"{edge}\n| {sentence} |\n{edge}"


def _tell(sentence: str) -> None:
    print(framed(sentence), flush=True)  # noqa: T201 - for a person


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments select, with those before `--` only at first."""
    here = arguments.index("--")
    return run(arguments[:here], arguments[here + 1 :])


def run(together: Sequence[str], arguments: Sequence[str], *, tell: Callable[[str], None] = _tell) -> int:
    """Run the tests with both; then those that failed without `together`. The answer is pytest's exit code."""
    with tempfile.TemporaryDirectory() as memory:
        kept = [*arguments, "-o", f"cache_dir={memory}"]
        status = _pytest([*kept, *together])
        failed = _failed(Path(memory))
        if status != FAILED or len(failed) > FEW:
            return status
        status = _pytest([*kept, "--last-failed", "--last-failed-no-failures=none"])
    if status == 0:
        tell(f"WAVERED, failed together and passed alone: {', '.join(failed)}")
    return status


def _failed(memory: Path) -> list[str]:
    told = memory / "v/cache/lastfailed"
    return sorted(json.loads(told.read_text())) if told.exists() else []


def _pytest(arguments: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
