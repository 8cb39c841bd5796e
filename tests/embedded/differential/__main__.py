"""`python -m tests.embedded.differential [count] [first seed]`: compare, print every mismatch, keep its case."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter

from penstock.embedded import cluster
from tests.embedded.differential.cases import keep
from tests.embedded.differential.compare import findings
from tests.embedded.differential.drive import backend
from tests.embedded.fields.record import real_backend


async def main(count: int, first: int) -> int:
    async with (
        real_backend() as real,
        cluster(controllers=False, workloads=False) as running,
        backend(running.server, token=running.token, authority=running.authority) as embedded,
    ):
        started = time.monotonic()
        found = await findings(real, embedded, range(first, first + count))
        took = time.monotonic() - started
    for mismatch in found.mismatches:
        sys.stdout.write(f"{mismatch}\n  kept as {keep(mismatch).name}\n")
    kinds = Counter(mismatch.sequence.kind.kind for mismatch in found.mismatches)
    sys.stdout.write(
        f"seeds {first} to {first + count - 1}: {len(found.mismatches)} mismatches in {took:.0f} s {dict(kinds)}\n"
        f"the real server wavers at {found.wavering}\n"
    )
    return 1 if found.mismatches else 0


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:]]
    sys.exit(asyncio.run(main(*([*asked, *[200, 0][len(asked) :]][:2]))))
