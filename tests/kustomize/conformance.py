"""Run a folder of conformance cases: directories to build, and what the real kustomize printed.

    python -m tests.kustomize.conformance DIR [NAME...]

A case is a folder with `case.json` (root, flags, result), `input/` and `expected.yaml`. With names, the
differences of those cases are shown. The exit code is 0 when every case agrees, and enough of them byte for
byte.
"""

import argparse
import difflib
import json
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.kustomize import Options, build_result
from penstock.yaml import documents, plain

BYTES = 0.97  # of the cases that must agree byte for byte


@dataclass(frozen=True)
class Outcome:
    name: str
    agrees: bool
    same_bytes: bool
    detail: str = ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="conformance")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    cases = sorted(path.parent for path in chosen.folder.glob("**/case.json"))
    if chosen.names:
        cases = [case for case in cases if any(name in case.name for name in chosen.names)]
    outcomes = [run(case) for case in cases]
    for outcome in outcomes:
        if not outcome.agrees or (chosen.names and not outcome.same_bytes):
            sys.stdout.write(f"{'differs' if not outcome.agrees else 'bytes'}: {outcome.name}\n{outcome.detail}\n")
        elif not outcome.same_bytes:
            sys.stdout.write(f"bytes:   {outcome.name}\n")
    return summary(outcomes)


def summary(outcomes: list[Outcome]) -> int:
    agreeing = sum(outcome.agrees for outcome in outcomes)
    same = sum(outcome.same_bytes for outcome in outcomes)
    total = len(outcomes)
    sys.stdout.write(f"{total} cases: {agreeing} agree, {same} byte for byte\n")
    return 0 if total and agreeing == total and same >= BYTES * total else 1


def run(folder: Path) -> Outcome:
    """Build one case and compare."""
    case = json.loads((folder / "case.json").read_text())
    for name in case.get("empty_dirs", ()):
        (folder / "input" / name).mkdir(parents=True, exist_ok=True)
    try:
        output = build_result(folder / "input" / case["root"], options=options(case["flags"])).as_yaml()
    except PenstockError as error:
        return Outcome(folder.name, case["result"] == "error", case["result"] == "error", f"  error: {error}")
    except Exception:  # noqa: BLE001  -- a crash is one more way to differ
        return Outcome(folder.name, agrees=False, same_bytes=False, detail=traceback.format_exc())
    if case["result"] == "error":
        note = folder / "error.txt"
        wanted = note.read_text() if note.exists() else "the real one does"
        return Outcome(folder.name, agrees=False, same_bytes=False, detail=f"  should fail: {wanted}")
    return compare(folder.name, output, (folder / "expected.yaml").read_text())


def options(flags: list[str]) -> Options:
    given = {name: value for name, _, value in (flag.lstrip("-").partition("=") for flag in flags)}
    reorder: Any = given.get("reorder", "unspecified")
    return Options(
        reorder=reorder,
        restrict=given.get("load-restrictor") != "LoadRestrictionsNone",
        managed_by="enable-managedby-label" in given,
    )


def compare(name: str, output: str, expected: str) -> Outcome:
    version = re.compile(r"(managed-by: kustomize-).*")
    output, expected = version.sub(r"\1", output), version.sub(r"\1", expected)
    detail = "".join(difflib.unified_diff(expected.splitlines(True), output.splitlines(True), "real", "ours"))
    return Outcome(name, _parsed(output) == _parsed(expected), output == expected, detail)


def _parsed(text: str) -> list[Any]:
    return [_typed(plain(document.value)) for document in documents(text)]


def _typed(value: Any) -> Any:
    """The value with its types: in Python, True equals 1."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value).__name__, value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
