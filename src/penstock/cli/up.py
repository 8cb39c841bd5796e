"""`penstock up`: the main job. So far it says what it will do and what already works."""

from __future__ import annotations

from penstock.cli.output import say

NOT_YET = """\
penstock up will start an embedded cluster and all controllers on a Git repository and keep the one in the state
of the other. That part is not built yet. What works today:

  penstock build DIR         what `kustomize build` prints, faster
  penstock secrets           SOPS files without the sops program
  penstock cluster start     a Kubernetes API server in a process, not complete yet
  penstock kinds             the custom resources that Penstock knows
  penstock crds              their definitions: penstock crds | kubectl apply -f -
  penstock version --server  whether a cluster can be reached

and, from Python, penstock.kube (a Kubernetes client) and penstock.runtime (what controllers are made of)."""


def up() -> int:
    """Until the embedded cluster and the controllers are there, it says what works today."""
    for line in NOT_YET.splitlines():
        say(line)
    return 0
