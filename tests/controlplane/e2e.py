"""What `make e2e` runs: the integration tests on a real control plane, or on the cluster that was named.

`PENSTOCK_E2E_KUBECONFIG` names a cluster to use. Without it the control plane is built, where there is Go; where there
is neither, nothing is run, and that is said in plain sight. Arguments go to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests import secondlook
from tests.clusters import GIVEN
from tests.controlplane.build import BuildError, NoGo, build, kubernetes_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORKERS = "2"
"""Two share the one control plane: more would only wait for it on a small machine."""


def main(arguments: Sequence[str]) -> int:
    given = os.environ.get(GIVEN)
    if given and not Path(given).is_file():
        _say(f"error: {GIVEN} names {given}, and there is no such file")
        return 2
    if given:
        return _run(f"the cluster of {given}", arguments)
    try:
        build()
        _build_peers()
    except NoGo as error:
        _say(secondlook.framed(f"e2e NOT RUN: {error}, and {GIVEN} names no cluster"))
        return 0
    except BuildError as error:
        _say(f"error: {error}")
        return 1
    return _run(f"Kubernetes {kubernetes_version()}", arguments)


def _build_peers() -> None:
    """Build every real program that a test compares us with: a build takes longer than a test may."""
    from tests import peers
    from tests.controllers.sources.flux import VERSIONS
    from tests.health import real_kstatus
    from tests.kustomize import differential
    from tests.semver import test_real
    from tests.sops import real_sops

    controllers = {name: partial(peers.flux_controller, name, version) for name, version in VERSIONS.items()}
    programs: dict[str, Callable[[], Path]] = {
        "kustomize": differential.real,
        "sops": real_sops.program,
        "flux": peers.flux,
        **controllers,
        "the libraries of Flux": peers.flux_libraries,
        "the health rules of Flux": real_kstatus.program,
        "the versions of Helm": test_real.peer,
    }
    for name, program in programs.items():
        started = time.monotonic()
        try:
            program()
        except subprocess.CalledProcessError as error:
            raise BuildError(f"the real {name} cannot be built: {error}") from error
        if (took := time.monotonic() - started) > 1:
            _say(f"built {name} in {took:.0f} s")


def _run(where: str, arguments: Sequence[str]) -> int:
    started = time.monotonic()
    # A module stays with one worker: some start a control plane of their own for all their tests.
    # Left to itself xdist hands out modules with few tests last, and the longest tests are alone in theirs.
    spread = ["-n", WORKERS, "--dist=loadscope", "--no-loadscope-reorder"]
    selected = ["--backend=real", "-m", "real", *arguments]
    status = secondlook.run(spread, selected)
    verdict = "fine" if status == 0 else f"FAILED (pytest ended with {status})"
    _say(f"e2e: {verdict} on {where} in {time.monotonic() - started:.0f} s")
    return status


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - the verdict, for a person


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
