"""`python -m tests.embedded.differential [count] [first seed]`: compare, print every mismatch, keep its case."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter

from penstock.embedded import cluster
from tests.embedded.differential.compare import keep, mismatches
from tests.embedded.differential.drive import backend
from tests.embedded.fields.record import real_backend


async def main(count: int, first: int) -> int:
    started = time.monotonic()
    async with (
        real_backend() as real,
        cluster(controllers=False, workloads=False) as running,
        backend(running.server, token=running.token, authority=running.authority) as embedded,
    ):
        found = await mismatches(real, embedded, range(first, first + count))
    for mismatch in found:
        sys.stdout.write(f"{mismatch}\n  kept as {keep(mismatch).name}\n")
    kinds = Counter(mismatch.sequence.kind.kind for mismatch in found)
    took = time.monotonic() - started
    sys.stdout.write(f"seeds {first} to {first + count - 1}: {len(found)} mismatches in {took:.0f} s {dict(kinds)}\n")
    return 1 if found else 0


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:]]
    sys.exit(asyncio.run(main(*([*asked, *[200, 0][len(asked) :]][:2]))))
