"""Which names a definition gets, and the conditions that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.problems import go_quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube.resources import Object


def settled(definition: Object, others: Iterable[Object], now: str) -> Object | None:
    """The status with accepted names and conditions; None when it is as it should be.

    `others` are the other definitions of the same group: what they were granted is taken.
    """
    names: Object = definition["spec"]["names"]
    status: Object = definition.get("status") or {}
    accepted: Object = status.get("acceptedNames") or {}
    found = {condition["type"]: condition for condition in status.get("conditions") or ()}
    if names == accepted and found.get("Established", {}).get("status") == "True":
        return None
    granted, conflict = _grant(names, accepted, list(others))
    naming = _naming(conflict)
    conditions = dict(found)
    _put(conditions, naming, now)
    established = found.get("Established", {}).get("status") == "True"
    if not established:
        _put(conditions, _establishing(accepted=not conflict), now)
    made = {**status, "acceptedNames": granted, "conditions": list(conditions.values())}
    return None if made == status else made


def clashes(definition: Object, others: Iterable[Object]) -> bool:
    """Whether the definition wants a name that is somebody else's."""
    accepted: Object = (definition.get("status") or {}).get("acceptedNames") or {}
    return _grant(definition["spec"]["names"], accepted, list(others))[1] is not None


def _grant(names: Object, accepted: Object, others: list[Object]) -> tuple[Object, tuple[str, str] | None]:
    """The names that are free or were granted before, and the last conflict: reason and message."""
    resources, kinds = _taken(others)
    granted: Object = {"plural": accepted.get("plural", ""), "kind": accepted.get("kind", "")}
    granted |= {key: accepted[key] for key in ("singular", "listKind", "shortNames") if key in accepted}
    conflict: tuple[str, str] | None = None
    checks = (
        ("plural", resources),
        ("singular", resources),
        ("shortNames", resources),
        ("kind", kinds),
        ("listKind", kinds),
    )
    for key, taken in checks:
        wanted = names.get(key)
        if wanted in (None, "", []):
            granted.pop(key, None)
            continue
        asked = wanted if isinstance(wanted, list) else [wanted]
        before = accepted.get(key) or []
        taken_now = [
            name for name in asked if name in taken and name not in (before if isinstance(before, list) else [before])
        ]
        if not taken_now:
            granted[key] = wanted
            continue
        told = [f"{go_quote(name)} is already in use" for name in taken_now]
        reason = f"{key[0].upper()}{key[1:]}Conflict"
        conflict = (reason, told[0] if len(told) == 1 else f"[{', '.join(told)}]")
    if names.get("categories"):
        granted["categories"] = names["categories"]
    return granted, conflict


def _taken(others: list[Object]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names: Object = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources - {""}, kinds - {""}


def _naming(conflict: tuple[str, str] | None) -> Object:
    if conflict is not None:
        return {"type": "NamesAccepted", "status": "False", "reason": conflict[0], "message": conflict[1]}
    return {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"}


def _establishing(*, accepted: bool) -> Object:
    if not accepted:
        return {
            "type": "Established",
            "status": "False",
            "reason": "NotAccepted",
            "message": "not all names are accepted",
        }
    return {
        "type": "Established",
        "status": "True",
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }


def _put(conditions: dict[str, Object], condition: Object, now: str) -> None:
    """Set a condition; the time is that of the last change of its status."""
    old = conditions.get(condition["type"])
    since = old["lastTransitionTime"] if old and old["status"] == condition["status"] else now
    conditions[condition["type"]] = {
        "type": condition["type"],
        "status": condition["status"],
        "lastTransitionTime": since,
        "reason": condition["reason"],
        "message": condition["message"],
    }


def with_condition(status: Object, condition: Object, now: str) -> Object:
    """The status with one more condition, or another state of one."""
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    _put(conditions, condition, now)
    return {**status, "conditions": list(conditions.values())}
