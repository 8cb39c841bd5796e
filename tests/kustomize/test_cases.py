"""Every folder under `tests/cases/kustomize` builds to what the real kustomize printed."""

from pathlib import Path

import pytest

from tests.kustomize import conformance

CASES = sorted(path.parent for path in (Path(__file__).parent.parent / "cases" / "kustomize").glob("*/case.json"))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path) -> None:
    outcome = conformance.run(folder)
    assert outcome.agrees, outcome.detail
    assert outcome.same_bytes, outcome.detail


def test_there_are_cases() -> None:
    assert len(CASES) > 40
