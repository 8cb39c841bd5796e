"""Rules for `metadata`, the same for every kind: names, labels, annotations, owners, finalizers, managed fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.kinds.names import (
    Words,
    dns_label,
    label_value,
    masked,
    path_segment,
    path_segment_prefix,
    qualified_name,
)
from penstock.embedded.kinds.problems import (
    IMMUTABLE,
    NOT_NEGATIVE,
    FieldProblem,
    Problems,
    each_invalid,
    forbidden,
    go_quote,
    invalid,
    required,
    same,
    too_long,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.kube.resources import Object

ANNOTATIONS_LIMIT = 256 * 1024
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN, FOREGROUND})


def check_metadata(
    problems: Problems,
    metadata: Object,
    *,
    namespaced: bool,
    name_rule: Callable[[str], Words],
    field: str = "metadata",
) -> None:
    """What every new object must fulfil; `name_rule` is the kind's own."""
    if prefix := metadata.get("generateName"):
        problems += each_invalid(f"{field}.generateName", prefix, _prefix_words(name_rule, prefix))
    if name := metadata.get("name"):
        problems += each_invalid(f"{field}.name", name, name_rule(name))
    else:
        problems.append(required(f"{field}.name", "name or generateName is required"))
    namespace = metadata.get("namespace", "")
    if namespaced:
        if not namespace:
            problems.append(required(f"{field}.namespace"))
        else:
            problems += each_invalid(f"{field}.namespace", namespace, dns_label(namespace))
    elif namespace:
        problems.append(forbidden(f"{field}.namespace", "not allowed on this type"))
    if metadata.get("generation", 0) < 0:
        problems.append(invalid(f"{field}.generation", metadata["generation"], NOT_NEGATIVE))
    _check_shared(problems, metadata, field)
    if finalizers := metadata.get("finalizers"):
        check_finalizers(problems, finalizers, f"{field}.finalizers")


def check_kube_finalizers(problems: Problems, metadata: Object, field: str = "metadata") -> None:
    """Most built-in kinds want finalizers with a domain, but for the three well-known ones."""
    for index, name in enumerate(metadata.get("finalizers") or ()):
        check_finalizer_domain(problems, name, f"{field}.finalizers[{index}]")


def check_finalizer_domain(problems: Problems, name: str, field: str) -> None:
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        problems.append(invalid(field, name, detail))


def custom_finalizer_warnings(new: Object, old: Object) -> list[str]:
    """What the writer of a custom object hears about finalizers without a domain that are new."""
    added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    return [
        f"metadata.finalizers: {go_quote(name)}: prefer a domain-qualified finalizer name "
        f"{'including a path (/) ' if '.' in name else ''}to avoid accidental conflicts with other finalizer writers"
        for name in added
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _prefix_words(name_rule: Callable[[str], Words], prefix: str) -> Words:
    return path_segment_prefix(prefix) if name_rule is path_segment else name_rule(masked(prefix))


def _check_shared(problems: Problems, metadata: Object, field: str) -> None:
    if labels := metadata.get("labels"):
        check_labels(problems, labels, f"{field}.labels")
    if annotations := metadata.get("annotations"):
        check_annotations(problems, annotations, f"{field}.annotations")
    if owners := metadata.get("ownerReferences"):
        check_owners(problems, owners, f"{field}.ownerReferences")
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        _check_managed_fields(problems, entry, f"{field}.managedFields[{index}]")


def keep_system_fields(new: Object, old: Object) -> None:
    """Take over what no write can change; what the old metadata has not is for the checks to find."""
    for field in ("creationTimestamp", "deletionTimestamp"):
        if field in old:
            new[field] = old[field]
    if "deletionGracePeriodSeconds" in old:
        new.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    if not new.get("uid") and "uid" in old:
        new["uid"] = old["uid"]


def check_metadata_update(problems: Problems, new: Object, old: Object, field: str = "metadata") -> None:
    """What every changed object must fulfil, whatever its kind."""
    if "deletionTimestamp" in old:
        added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
        if added:
            listed = ", ".join(go_quote(name) for name in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}"
            )
            problems.append(forbidden(f"{field}.finalizers", detail))
    if not new.get("resourceVersion"):
        problems.append(invalid(f"{field}.resourceVersion", "", "must be specified for an update"))
    if new.get("generation", 0) < old.get("generation", 0):
        problems.append(invalid(f"{field}.generation", new.get("generation", 0), "must not be decremented"))
    for name, zero in _FIXED:
        same(problems, new.get(name, zero), old.get(name, zero), f"{field}.{name}")
    seconds = new.get("deletionGracePeriodSeconds")
    if seconds != old.get("deletionGracePeriodSeconds"):  # here 0 and nothing are not the same
        problems.append(invalid(f"{field}.deletionGracePeriodSeconds", seconds, IMMUTABLE))
    _check_shared(problems, new, field)


_FIXED: tuple[tuple[str, Any], ...] = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
)


def check_labels(problems: Problems, labels: Mapping[str, str], field: str) -> None:
    for key, value in labels.items():
        if words := qualified_name(key):
            problems += each_invalid(field, key, words)
        if words := label_value(value):
            problems += each_invalid(field, value, words)


def check_annotations(problems: Problems, annotations: Mapping[str, str], field: str) -> None:
    size = 0
    for key, value in annotations.items():
        if words := qualified_name(key.lower()):
            problems += each_invalid(field, key, words)
        size += len(key) + len(value)
    # Characters are counted above; bytes only where that could matter.
    if size * 4 > ANNOTATIONS_LIMIT:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        problems.append(too_long(field, ANNOTATIONS_LIMIT))


def check_owners(problems: Problems, owners: Sequence[Object], field: str) -> None:
    controller = ""
    for owner in owners:
        problems += _owner_problems(owner, field)
        if not owner.get("controller"):
            continue
        current = f"{owner['kind']}/{owner['name']}"
        if not controller:
            controller = current
            continue
        detail = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controller} and {current}"
        )
        problems.append(invalid(field, [_told(each) for each in owners], detail))


def _told(owner: Object) -> Object:
    """An owner with its fields in the order in which Go has them."""
    return {key: owner[key] for key in _OWNER_FIELDS if key in owner}


def _owner_problems(owner: Object, field: str) -> Problems:
    problems: list[FieldProblem] = []
    api_version = owner["apiVersion"]
    if not api_version or api_version.count("/") > 1 or api_version.endswith("/"):
        problems.append(invalid(f"{field}.apiVersion", api_version, "version must not be empty"))
    problems += [
        invalid(f"{field}.{key}", "", "must not be empty") for key in ("kind", "name", "uid") if not owner[key]
    ]
    if api_version == "v1" and owner["kind"] == "Event":
        problems.append(invalid(field, _told(owner), "/v1, Kind=Event is disallowed from being an owner"))
    return problems


def check_finalizers(problems: Problems, finalizers: Sequence[str], field: str) -> None:
    for name in finalizers:
        problems += each_invalid(field, name, qualified_name(name))
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        problems.append(invalid(field, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))


def _check_managed_fields(problems: Problems, entry: Object, field: str) -> None:
    operation = entry.get("operation", "")
    if operation not in ("Apply", "Update"):
        problems.append(invalid(f"{field}.operation", operation, "must be `Apply` or `Update`"))
    if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
        problems.append(invalid(f"{field}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
    if len(entry.get("manager", "")) > 128:
        problems.append(too_long(f"{field}.manager", 128))
    if len(entry.get("subresource", "")) > 256:
        problems.append(too_long(f"{field}.subresource", 256))
