"""`python -m bench [NAME ...]`: run the benchmarks, all of them or the named ones."""

from __future__ import annotations

import importlib
import subprocess
import sys

from tests.controlplane.build import NoGo

BENCHMARKS = {
    "start": "how long the command takes to start",
    "client": "server-side applies through penstock.kube, against bare aiohttp",
    "cache": "memory of a watch cache over 10,000 objects",
    "kustomize": "kustomize build, against the real kustomize",
    "render": "where a render of 1,000 objects spends its time",
    "sops": "200 encrypted Secrets, against the real sops run once a file",
    "git": "first fetch and polls of Git sources, against git itself",
    "embedded": "the embedded cluster, against the real API server",
    "kustomizations": "1,000 Kustomizations to Ready, against a bare client that sends the same requests",
    "sources": "polls without a change, packing, and memory over many fetches",
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    if len(names) == 1:
        return _run(names[0])
    # Each in a process of its own: what one leaves in memory would slow down the programs that the next one starts.
    commands = [[sys.executable, "-m", "bench", name] for name in names or BENCHMARKS]
    return max(subprocess.run(command, check=False).returncode for command in commands)


def _run(name: str) -> int:
    print(f"== {name}: {BENCHMARKS[name]}", flush=True)
    try:
        importlib.import_module(f"bench.{name}").main()
    except NoGo as error:
        print(f"  NOT RUN: {error}, so there is no peer to compare with")
    return 0


sys.exit(main(sys.argv[1:]))
