"""Label selectors: whether they are well-formed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.metadata import check_labels
from penstock.embedded.kinds.names import label_value, qualified_name
from penstock.embedded.kinds.problems import Problems, each_invalid, forbidden, invalid, required

if TYPE_CHECKING:
    from penstock.kube.resources import Object


def check_selector(problems: Problems, selector: Object | None, field: str) -> None:
    """Add what is wrong with a label selector; a missing one is fine."""
    if not selector:
        return
    if labels := selector.get("matchLabels"):
        check_labels(problems, labels, f"{field}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        check_requirement(problems, requirement, f"{field}.matchExpressions[{index}]")


def check_requirement(problems: Problems, requirement: Object, field: str) -> None:
    operator, values = requirement["operator"], requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            problems.append(required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            problems.append(forbidden(f"{field}.values", detail))
    else:
        problems.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    problems += each_invalid(f"{field}.key", requirement["key"], qualified_name(requirement["key"]))
    for index, value in enumerate(values):
        problems += each_invalid(f"{field}.values[{index}]", value, label_value(value))


def is_empty(selector: Object) -> bool:
    """Whether a selector selects everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")
