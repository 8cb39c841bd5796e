"""Owners that an object names twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_REPEATED = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)
_ADMITTED = " after mutating admission happens"


def once_each(obj: Object, warnings: list[str], *, admitted: bool = False) -> None:
    """Take references out that are there already, and warn of them; two that differ in anything stay.

    The server looks at new and replaced objects before it counts managed fields, and at all `admitted` ones.
    """
    references = obj["metadata"].get("ownerReferences") or ()
    if len(references) < 2:
        return
    kept: list[Object] = []
    repeated: list[str] = []
    for reference in references:
        if reference in kept:
            repeated.append(reference["uid"])
        else:
            kept.append(reference)
    if repeated:
        obj["metadata"]["ownerReferences"] = kept
        warnings.append(_REPEATED.format(_ADMITTED if admitted else "", ", ".join(repeated)))
