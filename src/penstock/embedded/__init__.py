"""What stands in for a cluster where there is none.

`simulate_pods` plays the kubelets of an API server that has no nodes.
"""

from penstock.embedded.pods import simulate_pods

__all__ = ["simulate_pods"]
