"""Where a render of 1,000 objects spends its time: the build, and everything around it.

    python -m bench render

Library calls in a warm process, the best of several; there is no peer that could be asked for one stage alone.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench import kustomize_trees as trees
from penstock import cel
from penstock.kustomize import Options, build_result
from penstock.kustomize.cache import SHARED
from penstock.render import Overlay, Recipe, prepare, render

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 1000
RUNS = 9


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "plain"
        top = trees.overlay(root, SIZE)
        path, overlay = str(top.relative_to(root)), Overlay(target_namespace="team")
        options = Options(restrict=False, reorder="none")
        plain = Recipe(path=path, overlay=overlay)
        unused = Recipe(path=path, overlay=overlay, variables={"unused": "1"})
        used = Recipe(path=path, overlay=Overlay(target_namespace="${team}"), variables={"team": "blue"})
        _row("build, first", lambda: build_result(top, options=options), before=SHARED.clear)
        _row("build, again", lambda: build_result(top, options=options))
        _row("render", lambda: render(root, plain))
        _row("render, a variable that nobody uses", lambda: render(root, unused))
        _row("render, a variable in every object", lambda: render(root, used))
        objects = render(root, used).objects
        _row("prepare", lambda: prepare(objects, name="apps", namespace="flux-system"))
    _expressions()


def _expressions() -> None:
    text = "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')"
    variables = {"status": {"conditions": [{"type": "Synced"}, {"type": "Ready", "status": "True"}]}}
    program = cel.compile(text)
    _row("1,000 expressions read", lambda: [cel.compile(text) for _ in range(SIZE)])
    _row("1,000 expressions evaluated", lambda: [program.is_true(variables) for _ in range(SIZE)])


def _row(name: str, call: Callable[[], object], *, before: Callable[[], object] = lambda: None) -> None:
    best = min(_seconds(call, before) for _ in range(RUNS))
    print(f"  {name:<38}{best * 1000:8.1f} ms")


def _seconds(call: Callable[[], object], before: Callable[[], object]) -> float:
    before()
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun
