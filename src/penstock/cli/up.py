"""`penstock up`: the main job. So far it says what it will do and what already works."""

from __future__ import annotations

from penstock.cli.output import say

NOT_YET = """\
penstock up will start an embedded cluster and all controllers on a Git repository and keep the one in the state
of the other. That is not put together yet. What works today:

  penstock controller        sources and Kustomizations of a cluster, reconciled as Flux does
  penstock build DIR         what `kustomize build` prints, faster
  penstock secrets           SOPS files without the sops program
  penstock cluster start     a Kubernetes API server in a process, for rehearsal
  penstock kinds             the custom resources that Penstock knows
  penstock crds              their definitions: penstock crds | kubectl apply -f -
  penstock version --server  whether a cluster can be reached

and, from Python, every part of it by itself: penstock.kustomize, penstock.sops, penstock.kube and the others."""


def up() -> int:
    """Until the cluster and the controllers are put together here, it says what works today."""
    for line in NOT_YET.splitlines():
        say(line)
    return 0
