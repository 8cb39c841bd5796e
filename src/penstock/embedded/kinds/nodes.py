"""Nodes, which come with their status: kubelets register themselves like that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.ips import check_cidr, parse_cidr
from penstock.embedded.kinds.names import label_value, qualified_name
from penstock.embedded.kinds.problems import (
    FieldProblem,
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    go_quote,
    invalid,
    required,
    unsupported,
)
from penstock.embedded.kinds.resources import check_amount
from penstock.embedded.kinds.rules import ClusterRules

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_LIMIT = 253


@defaults("core/v1.NodeSpec")
def _spec_defaults(spec: Object) -> None:
    """The one range of old and the list of ranges say the same; where they differ, the old one counts."""
    one, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not several or several[0] != one):
        spec["podCIDRs"] = [one]
    elif several and several[0]:
        spec["podCIDR"] = several[0]


@defaults("core/v1.NodeStatus")
def _status_defaults(status: Object) -> None:
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


class NodeRules(ClusterRules):
    """Status and spec are checked together, whichever of them is written."""

    status: ClassVar[bool] = True

    def prepare_create(self, obj: Object) -> None:
        """A node may bring all of its status but for the configuration that kubelets once had here."""
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def prepare_change(self, new: Object, old: Object) -> None:
        super().prepare_change(new, old)
        if "configSource" not in old["spec"]:
            new["spec"].pop("configSource", None)

    def prepare_status(self, new: Object, old: Object) -> None:
        super().prepare_status(new, old)
        if "config" not in old["status"]:
            new["status"].pop("config", None)

    def check(self, problems: Problems, obj: Object) -> None:
        _check_taints(problems, obj)
        _check_amounts(problems, obj)
        swap = obj["status"]["nodeInfo"].get("swap", {}).get("capacity")
        if swap is not None and swap <= 0:
            problems.append(invalid("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero"))
        _check_features(problems, obj["status"].get("declaredFeatures", []))
        _check_ranges(problems, obj["spec"].get("podCIDRs", []))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        self.check_status(problems, new, old)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        _check_amounts(problems, new)
        _check_features(problems, new["status"].get("declaredFeatures", []))
        _check_addresses(problems, new["status"].get("addresses", []))
        _check_fixed(problems, new["spec"], old["spec"])
        _check_taints(problems, new)
        if new["spec"].get("externalID", "") != old["spec"].get("externalID", ""):
            problems.append(forbidden("spec.externalID", "may not be updated"))


def _check_taints(problems: Problems, obj: Object) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(obj["spec"].get("taints", ())):
        at, key, effect = f"metadata.taints[{index}]", taint["key"], taint["effect"]
        problems += each_invalid(f"{at}.key", key, qualified_name(key))
        value = taint.get("value", "")
        if words := label_value(value):
            problems.append(invalid(f"{at}.value", value, ";".join(words)))
        if not effect:
            problems.append(required(f"{at}.effect"))
        elif effect not in _EFFECTS:
            problems.append(unsupported(f"{at}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            form = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            found = duplicate(at, form)
            told = f"{found.message}: taints must be unique by key and effect pair"
            problems.append(FieldProblem(found.reason, at, told))
        seen.add((key, effect))


def _check_amounts(problems: Problems, obj: Object) -> None:
    for part in ("capacity", "allocatable"):
        for name, amount in obj["status"].get(part, {}).items():
            check_amount(problems, name, amount, f"status.{part}.{name}")


def _check_features(problems: Problems, features: list[str]) -> None:
    for index, name in enumerate(features):
        at = f"status.declaredFeatures[{index}]"
        if len(name) > _FEATURE_LIMIT:
            words = f"invalid feature name {go_quote(name)}: must be no more than {_FEATURE_LIMIT} characters"
            problems.append(invalid(at, name, words))
        elif not _FEATURE.fullmatch(name):
            words = (
                f"invalid feature name {go_quote(name)}: must start with an UpperCamelCase segment, with subsequent "
                "segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric "
                "characters and slashes"
            )
            problems.append(invalid(at, name, words))
        follower = features[index + 1] if index + 1 < len(features) else None
        if follower is None or name < follower:
            continue
        next_at = f"status.declaredFeatures[{index + 1}]"
        repeated = duplicate(next_at, follower)
        problems.append(
            repeated if name == follower else invalid(next_at, follower, "list must be sorted alphabetically")
        )


def _check_ranges(problems: Problems, ranges: list[str]) -> None:
    for index, text in enumerate(ranges):
        check_cidr(problems, text, f"spec.podCIDRs[{index}]")
    parsed = [parse_cidr(text) for text in ranges]
    families = {network.version for network in parsed if network is not None}
    if len(ranges) > 1 and None not in parsed and (len(families) != 2 or len(ranges) > 2):
        problems.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))


def _check_addresses(problems: Problems, addresses: list[Object]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(addresses):
        pair = (each["type"], each["address"])
        if pair in seen:
            problems.append(duplicate(f"status.addresses[{index}]", {"Type": pair[0], "Address": pair[1]}))
        seen.add(pair)


def _check_fixed(problems: Problems, new: Object, old: Object) -> None:
    ranges, before = new.get("podCIDRs", []), old.get("podCIDRs", [])
    moved = forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before and len(ranges) != len(before):
        problems.append(moved)
    elif before:
        problems += [moved for one, other in zip(ranges, before, strict=True) if one != other]
    provider = old.get("providerID", "")
    if provider and new.get("providerID", "") != provider:
        detail = 'node updates may not change providerID except from "" to valid'
        problems.append(forbidden("spec.providerID", detail))
