"""Writes `recorded.jsonl`: what a real API server answers to samples and some mutations of them.

`python -m tests.embedded.kinds.record`, whenever samples or the version of Kubernetes change.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import orjson

from tests.embedded.kinds.mutations import mutations, samples, sparse
from tests.embedded.kinds.plane import plane
from tests.embedded.kinds.test_against_real import KNOWN

RECORDED = Path(__file__).parent / "recorded.jsonl"
EACH = 14
SEED = 7


async def record() -> list[bytes]:
    choose = random.Random(SEED)
    lines: list[bytes] = []
    async with plane() as asked:
        for index, obj in enumerate(sparse()):
            answer = await asked.create(obj)
            assert answer is not None
            lines.append(orjson.dumps({"sparse": index, "code": answer.code, "told": answer.told}))
        for index, sample in enumerate(samples()):
            answer = await asked.create(sample)
            assert answer is not None
            lines.append(orjson.dumps({"sample": index, "code": answer.code, "told": answer.told}))
            known = KNOWN.get(sample["kind"], ())
            found = [one for one in mutations(sample) if not any(one.path[: len(path)] == path for path in known)]
            kept = 0
            for mutation in choose.sample(found, len(found)):
                answer = await asked.create(mutation(sample))
                if answer is None or answer.code == 201 or len(str(answer.told)) > 1500:
                    continue
                case = {"sample": index, "path": mutation.path, "code": answer.code, "told": answer.told}
                if not mutation.removes:
                    case["value"] = mutation.value
                lines.append(orjson.dumps(case))
                kept += 1
                if kept == EACH:
                    break
    return lines


if __name__ == "__main__":
    RECORDED.write_bytes(b"\n".join(asyncio.run(record())) + b"\n")
