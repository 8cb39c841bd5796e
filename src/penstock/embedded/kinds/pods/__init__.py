"""Pods and the pod templates of everything that makes pods: one set of rules for both."""

from penstock.embedded.kinds.pods.spec import check_pod_spec, check_template

__all__ = ["check_pod_spec", "check_template"]
