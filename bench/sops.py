"""200 encrypted Secrets in one tree: all of them decrypted here, and by the real `sops`, one run a file.

Both read the same files, check the MACs and print the plain text; the outputs are compared. The real one is built from
the Go module proxy (or named by PENSTOCK_SOPS).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from penstock import sops
from penstock.sops import Format
from tests.controlplane.build import NoGo
from tests.sops.real_sops import RealSops, program
from tests.sops.rings import Ring, new_ring

SECRETS = 200
RUNS = 3


def main() -> None:
    ring = new_ring()
    with tempfile.TemporaryDirectory() as folder:
        files = asyncio.run(_tree(Path(folder), ring))
        measured = [_ours(files, ring) for _ in range(RUNS)]
        ours, plain = sum(seconds for seconds, _ in measured) / RUNS, measured[0][1]
        _print(f"penstock.sops, {SECRETS} files in one process", ours)
        try:
            real = RealSops(program(), Path(folder), {"SOPS_AGE_KEY": ring.text})
        except NoGo as error:
            print(f"  the real sops was NOT RUN: {error}", file=sys.stderr)
            return
        theirs, expected = _theirs(files, real)
    assert plain == expected, "the two do not agree, so their times mean nothing"
    _print("sops decrypt, one run a file", theirs)
    print(f"  {'ratio':<45}{theirs / ours:8.1f} x   (target: at least 5 x)")


def _print(what: str, seconds: float) -> None:
    print(f"  {what:<45}{seconds * 1000:8.0f} ms   {seconds / SECRETS * 1000:6.2f} ms each")


async def _tree(folder: Path, ring: Ring) -> list[Path]:
    files: list[Path] = []
    for number in range(SECRETS):
        plain = f"""\
apiVersion: v1
kind: Secret
metadata:
    name: secret-{number}
    namespace: apps
stringData:
    username: user-{number}
    password: p4ssw0rd-{number}
    url: postgres://user-{number}@db.example.com:5432/app
    token: {"x" * 64}
    config.yaml: |
        retries: {number}
        endpoints:
            - https://one.example.com
            - https://two.example.com
"""
        file = folder / f"secret-{number}.yaml"
        file.write_bytes(await ring.encrypt(plain.encode(), Format.YAML, encrypted_regex="^(data|stringData)$"))
        files.append(file)
    return files


def _ours(files: list[Path], ring: Ring) -> tuple[float, list[bytes]]:
    async def decrypted() -> list[bytes]:
        keyring = ring.keyring
        return [await sops.decrypt(file.read_bytes(), keyring, form=Format.YAML) for file in files]

    begun = time.perf_counter()
    plain = asyncio.run(decrypted())
    return time.perf_counter() - begun, plain


def _theirs(files: list[Path], real: RealSops) -> tuple[float, list[bytes]]:
    begun = time.perf_counter()
    plain = [real.run("decrypt", file).stdout for file in files]
    return time.perf_counter() - begun, plain


if __name__ == "__main__":
    main()
