"""Answers that a real API server gave once; our rules give the same, without one at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.embedded.kinds.answers import Answer, created
from tests.embedded.kinds.mutations import Mutation, samples, sparse

SAMPLES, SPARSE = samples(), sparse()
PLAIN: list[dict[str, Any]] = []
CASES: dict[int, list[dict[str, Any]]] = {}
for line in (Path(__file__).parent / "recorded.jsonl").read_bytes().splitlines():
    recorded = orjson.loads(line)
    if "sample" in recorded:
        CASES.setdefault(recorded["sample"], []).append(recorded)
    else:
        PLAIN.append(recorded)


def _mutation(case: dict[str, Any]) -> Mutation | None:
    if "path" not in case:
        return None
    path = tuple(case["path"])
    return Mutation(path, case["value"]) if "value" in case else Mutation(path)


@pytest.mark.parametrize("index", CASES, ids=lambda index: f"{SAMPLES[index]['kind']} {index}")
def test_answers(index: int) -> None:
    sample = SAMPLES[index]
    differences: list[str] = []
    for case in CASES[index]:
        mutation = _mutation(case)
        answer = created(sample if mutation is None else mutation(sample))
        if words := Answer(case["code"], case["told"]).differs(answer):
            differences.append(f"{mutation or 'as it is'}: {words}")
    assert differences == []


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: SPARSE[case["sparse"]]["kind"])
def test_kinds_with_few_rules(case: dict[str, Any]) -> None:
    assert Answer(case["code"], case["told"]).differs(created(SPARSE[case["sparse"]])) == ""
