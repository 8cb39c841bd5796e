"""Annotations of ours that say what Flux's kinds have no field for."""

from __future__ import annotations

REVISION = "penstock.dev/revision"
"""Holds a Kustomization at this revision while its source moves on."""

SUSPEND_REASON = "penstock.dev/suspend-reason"
"""Why an object is suspended, in the words of whoever did it."""

SUSPEND_UNTIL = "penstock.dev/suspend-until"
"""An RFC 3339 time after which `spec.suspend` of a Kustomization no longer counts."""
