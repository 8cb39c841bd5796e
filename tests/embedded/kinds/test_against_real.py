"""Almost right objects, sent to a real API server and to our rules: the answers must be the same.

`PENSTOCK_KINDS_CASES` is how many mutations of each sample are tried (`all` for every one of them, which takes
minutes), `PENSTOCK_KINDS_SEED` chooses which; the names of the tests tell the seed.
"""

from __future__ import annotations

import asyncio
import copy
import os
import random
from typing import TYPE_CHECKING

import pytest

from penstock.embedded.kinds import rules
from tests.embedded.kinds.answers import created, updated
from tests.embedded.kinds.mutations import Mutation, Path, mutations, pairs, samples, sparse
from tests.embedded.kinds.plane import plane

if TYPE_CHECKING:
    from penstock.kube.resources import Object

CASES = os.environ.get("PENSTOCK_KINDS_CASES", "12")
SEED = int(os.environ.get("PENSTOCK_KINDS_SEED", "1"))
PAIRS = 4
"""How many objects with two changes each are tried besides."""
SAMPLES, SPARSE = samples(), sparse()

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

FIXED: frozenset[Path] = frozenset(("metadata", name) for name in ("name", "uid", "resourceVersion", "managedFields"))


def chosen(obj: Object, choose: random.Random, skip: frozenset[Path] = frozenset()) -> list[Mutation]:
    found = list(mutations(obj, skip))
    return found if CASES == "all" else choose.sample(found, min(int(CASES), len(found)))


@pytest.mark.parametrize("seed", [SEED])
async def test_new_objects_get_the_same_answer(seed: int) -> None:
    choose = random.Random(seed)
    differences: list[str] = []
    async with plane() as asked:

        async def compare(told: str, obj: Object) -> None:
            answer = await asked.create(obj)
            if answer is not None and (words := answer.differs(created(obj))):
                differences.append(f"{obj['kind']} {told}: {words}")

        await asyncio.gather(*(compare("as it is", obj) for obj in SPARSE))
        for sample in SAMPLES:
            objects = [("as it is", sample), *((str(one), one(sample)) for one in chosen(sample, choose))]
            objects += pairs(sample, choose, PAIRS)
            await asyncio.gather(*(compare(told, obj) for told, obj in objects))
    assert not differences, "\n".join(differences[:20])


@pytest.mark.parametrize("seed", [SEED])
async def test_changed_objects_get_the_same_answer(seed: int) -> None:
    choose = random.Random(seed)
    differences: list[str] = []
    async with plane() as asked:

        async def compare(mutation: Mutation, stored: Object, subresource: str) -> None:
            sent = mutation(stored)
            answer = await asked.replace(sent, stored["metadata"]["name"], subresource)
            if answer is not None and (words := answer.differs(updated(sent, stored, subresource))):
                differences.append(f"{stored['kind']}/{subresource} {mutation}: {words}")

        for index, sample in enumerate(SAMPLES):
            if sample["kind"] == "APIService":
                continue  # its controller is part of the API server, and writes too
            stored = await asked.store(_named(sample, index))
            stored["metadata"].pop("managedFields", None)
            has_status = rules(sample["apiVersion"].rpartition("/")[0], sample["kind"]).status
            for subresource in ("", "status") if has_status else ("",):
                found = chosen(stored, choose, FIXED)
                await asyncio.gather(*(compare(mutation, stored, subresource) for mutation in found))
    assert not differences, "\n".join(differences[:20])


def _named(sample: Object, index: int) -> Object:
    obj = copy.deepcopy(sample)
    obj["metadata"]["name"] = f"sample{index}"
    return obj
