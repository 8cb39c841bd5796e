"""Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers and the revisions they keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.names import label_value, percent, qualified_name
from penstock.embedded.kinds.problems import (
    IMMUTABLE,
    Problems,
    each_invalid,
    forbidden,
    invalid,
    non_negative,
    required,
    unsupported,
)
from penstock.embedded.kinds.selectors import check_selector, is_empty
from penstock.labels import selects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

NO_MATCH = "`selector` does not match template `labels`"
_LABEL_SELECTOR = "apis/meta/v1.LabelSelector"


def check_number(problems: Problems, spec: Object, name: str, field: str = "spec") -> None:
    value = spec.get(name)
    if value is not None:
        non_negative(problems, value, f"{field}.{name}")


def check_int_or_percent(problems: Problems, value: int | str, field: str) -> None:
    if isinstance(value, str):
        problems += each_invalid(field, value, percent(value))
    else:
        non_negative(problems, value, field)


def amount(value: int | str) -> int:
    """The number of an integer or a percentage; other text counts as what Go makes of it."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    return int(digits) if re.fullmatch(r"[+-]?[0-9]+", digits) else 0


def check_not_above_all(problems: Problems, value: int | str, field: str) -> None:
    if isinstance(value, str) and not percent(value) and amount(value) > 100:
        problems.append(invalid(field, value, "must not be greater than 100%"))


def is_sound(selector: Object) -> bool:
    """Whether the API server can make a query of this selector."""
    for key, value in selector.get("matchLabels", {}).items():
        if qualified_name(key) or label_value(value):
            return False
    for one in selector.get("matchExpressions", ()):
        values = one.get("values", ())
        if one["operator"] in ("In", "NotIn"):
            fits = bool(values)
        else:
            fits = one["operator"] in ("Exists", "DoesNotExist") and not values
        if not fits or qualified_name(one["key"]) or any(label_value(value) for value in values):
            return False
    return True


def check_own_selector(problems: Problems, spec: Object, kind: str) -> None:
    """A selector that must be there and must not be empty."""
    selector = spec.get("selector")
    if selector is None:
        problems.append(required("spec.selector"))
        return
    check_selector(problems, selector, "spec.selector")
    if is_empty(selector):
        detail = f"empty selector is invalid for {kind}"
        problems.append(invalid("spec.selector", internal_form(_LABEL_SELECTOR, selector), detail))


def check_selected(problems: Problems, spec: Object) -> None:
    """The labels of the template must be selected; no selector at all selects nothing."""
    selector = spec.get("selector")
    labels = spec["template"]["metadata"].get("labels")
    if selector is not None and is_empty(selector):
        return
    if selector is None or not selects(selector, labels or {}):
        value = None if labels is None else dict(sorted(labels.items()))
        problems.append(invalid("spec.template.metadata.labels", value, NO_MATCH))


def check_always(problems: Problems, spec: Object, kind: str) -> None:
    """Pods that run for ever have no other restart policy and no deadline."""
    pod = spec["template"]["spec"]
    if pod["restartPolicy"] != "Always":
        problems.append(unsupported("spec.template.spec.restartPolicy", pod["restartPolicy"], ("Always",)))
    if "activeDeadlineSeconds" in pod:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        problems.append(forbidden("spec.template.spec.activeDeadlineSeconds", detail))


def check_same_selector(problems: Problems, new: Object, old: Object) -> None:
    selector = new["spec"].get("selector")
    if selector != old["spec"].get("selector"):
        value = None if selector is None else internal_form(_LABEL_SELECTOR, selector)
        problems.append(invalid("spec.selector", value, IMMUTABLE))


def check_counts(
    problems: Problems, status: Object, names: Sequence[str], limits: Sequence[tuple[str, str, str]] = ()
) -> None:
    """Numbers of a status that may not be negative, and pairs of which one may not exceed the other."""
    for name in names:
        check_number(problems, status, name, "status")
    for name, limit, words in limits:
        if status.get(name, 0) > status.get(limit, 0):
            problems.append(invalid(f"status.{name}", status.get(name, 0), f"cannot be greater than {words}"))


def check_collisions(problems: Problems, new: Object, old: Object) -> None:
    now, before = new["status"].get("collisionCount"), old["status"].get("collisionCount")
    if before is not None and (now is None or now < before):
        problems.append(invalid("status.collisionCount", now or 0, "cannot be decremented"))


def take_labels(obj: Object) -> None:
    """Give an object without labels those of its template, as it gets them when it is read back from the store.

    What goes with this write is not read back.
    """
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
        return
    if labels := (obj["spec"].get("template") or {}).get("metadata", {}).get("labels"):
        metadata.setdefault("labels", dict(labels))
