"""Whether a LabelSelector, as objects carry it, chooses an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube.resources import Object


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """True when the labels fulfil all of it; an empty selector chooses everything."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_fulfils(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _fulfils(requirement: Object, labels: Mapping[str, str]) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
