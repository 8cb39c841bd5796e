"""The command `penstock`: one module a group of verbs, imported only when it is called.

Data goes to stdout, words to stderr. Exit codes: 0 fine, 1 found something or failed, 2 wrong use or a cluster that
cannot be reached, 124 out of time. What goes wrong is one sentence; a traceback shows only when PENSTOCK_TRACEBACK
is set.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from penstock.cli.verbs import FAST, VERBS, hoist, overview
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

TIMED_OUT = 124
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    try:
        code = _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except PenstockError as error:
        return _failed(str(error), error.exit_code)
    except TimeoutError as error:
        return _failed(f"out of time: {error}" if str(error) else "out of time", TIMED_OUT)
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python would complain once more on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the last door: a person sees a sentence, not a traceback
        return _failed(f"this is a defect of penstock: {type(error).__name__}: {error}", 1)
    return code


def _dispatch(arguments: list[str]) -> int:
    arguments = hoist(arguments)
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(overview())
        return 0 if arguments else 2
    verb, *rest = arguments
    if verb == "--version":
        verb = "version"
    if verb in FAST:
        return _fast(verb, rest)
    if verb == "cluster" and rest[:1] == ["start"] and not {"-h", "--help"} & {*rest}:
        from penstock.cli.foreground import main as start

        return start(rest[1:])
    from penstock.cli.app import run

    return run(verb, rest)


def _fast(verb: str, arguments: list[str]) -> int:
    try:
        return int(importlib.import_module(VERBS[verb].module).main(arguments))
    except SystemExit as end:  # argparse ends the process itself after --help
        return int(end.code or 0)


def _failed(sentence: str, code: int) -> int:
    if os.environ.get("PENSTOCK_TRACEBACK"):
        import traceback

        traceback.print_exc()
    print(f"✗ {sentence}", file=sys.stderr)
    return code
