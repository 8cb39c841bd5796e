"""Name references: when an object got a new name, those who mention it follow.

Candidates are looked up by the names they had before, so the cost grows with the number of references, not
with the product of referrers and objects.
"""

from typing import Any

from penstock.kustomize import fieldtrie
from penstock.kustomize.candidates import Candidates
from penstock.kustomize.collection import Collection
from penstock.kustomize.config import NameReferences, TransformerConfig
from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldtrie import Trie
from penstock.kustomize.ids import CLUSTER, Gvk
from penstock.kustomize.resource import Resource
from penstock.yaml import text_of


def update(collection: Collection, config: TransformerConfig) -> None:
    """Write the current names into every field that refers to an object by an earlier one."""
    _check_subjects(collection)
    candidates = Candidates(collection.resources)
    if not candidates.by_name:
        return

    def work(resource: Resource) -> None:
        _follow_all(resource, config, candidates)

    follow = collection.following(("references", config.name_references), work, candidates)
    for resource in collection:
        follow(resource)


def _follow_all(resource: Resource, config: TransformerConfig, candidates: Candidates) -> None:
    original = resource.original
    gvk = Gvk(original.group, original.version, original.kind)
    trie = config.tries.get(gvk)
    if trie is None:
        trie = config.tries[gvk] = _trie(config.name_references, gvk)
    try:
        found = sorted(fieldtrie.hits(resource.object, trie), key=lambda hit: hit[0][0])
    except FieldError as error:
        raise FieldError(f"{resource.id}: looking for names of other objects: {error}") from error
    for (_, target, path), container, key in found:
        _Referrer(resource, target, path, candidates).follow(container, key)


def _check_subjects(collection: Collection) -> None:
    """A ServiceAccount among the subjects of a RoleBinding may leave its namespace out, but not blank."""
    has_blank = collection.question("blank subjects", _has_blank_subject)
    for resource in collection:
        if resource.kind == "RoleBinding" and has_blank(resource):
            raise FieldError(f"{resource.id}: the namespace of a ServiceAccount among the subjects is blank")


def _has_blank_subject(resource: Resource) -> bool:
    subjects = resource.object.get("subjects")
    return isinstance(subjects, list) and any(
        isinstance(one, dict) and one.get("kind") == "ServiceAccount" and one.get("namespace", "") is None
        for one in subjects
    )


def _trie(references: NameReferences, original: Gvk) -> Trie:
    """All fields of a type in which names may stand, numbered in the order in which they are followed."""
    numbered = enumerate((target, spec) for target, specs in references for spec in specs)
    return fieldtrie.build(
        (spec.path, (number, target, spec.path)) for number, (target, spec) in numbered if spec.matches(original)
    )


class _Referrer:
    """One field of one object, with what it may refer to."""

    def __init__(self, resource: Resource, target: Gvk, path: str, candidates: Candidates) -> None:
        self._resource = resource
        self._target = target
        self._path = path
        self._candidates = candidates
        self._namespace = resource.id.namespace

    def follow(self, container: Any, key: Any) -> None:
        value = container[key]
        if value is None:
            return
        if isinstance(value, dict):
            self._follow_mapping(value)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    self._follow_mapping(item)
                elif isinstance(item, list):
                    raise FieldError(f"{self._resource.id}: '{self._path}' holds a list of lists")
                elif item is not None:
                    self._follow_scalar(value, index)
        else:
            self._follow_scalar(container, key)

    def _follow_scalar(self, container: Any, key: Any) -> None:
        name = text_of(container[key])
        known = self._candidates.named(name)
        if not known:
            return
        found = self._choose([one for one in known if self._is_visible(one)], same_namespace=False)
        if found is not None and found.name != name:
            container[key] = found.name

    def _follow_mapping(self, value: dict[str, Any]) -> None:
        if "name" not in value:
            raise FieldError(f"{self._resource.id}: '{self._path}' refers to an object without a name")
        name = text_of(value["name"])
        known = self._candidates.named(name)
        if not known:
            return
        known = [one for one in known if self._is_visible(one)]
        if "namespace" in value and known:
            counts = self._candidates.in_namespace(text_of(value["namespace"]), self._is_visible)
            known = [one for one in known if counts(one)]
        found = self._choose(known, same_namespace=True)
        if found is None or (found.name == name and not found.namespace):
            return
        value["name"] = found.name
        if found.namespace:
            value["namespace"] = found.namespace

    def _is_visible(self, candidate: Resource) -> bool:
        """Whether the object could be referred to at all, by where it lives."""
        if self._namespace == CLUSTER:
            return True
        namespace = candidate.id.namespace
        return namespace in (CLUSTER, self._namespace) or candidate.namespace in self._account_namespaces()

    def _account_namespaces(self) -> set[str]:
        """A RoleBinding may also name ServiceAccounts of other namespaces."""
        subjects = self._resource.object.get("subjects")
        if self._resource.kind != "RoleBinding" or not isinstance(subjects, list):
            return set()
        return {
            text_of(one["namespace"])
            for one in subjects
            if isinstance(one, dict) and one.get("kind") == "ServiceAccount" and "namespace" in one
        }

    def _choose(self, candidates: list[Resource], *, same_namespace: bool) -> Resource | None:
        candidates = [one for one in candidates if self._fits(one)]
        if len(candidates) <= 1:
            return candidates[0] if candidates else None
        candidates = [one for one in candidates if self._same_overlay(one, lenient=True)]
        if len(candidates) > 1:
            candidates = [one for one in candidates if self._same_overlay(one, lenient=False)]
        if not candidates:
            return None
        if len({(one.name, one.namespace if same_namespace else "") for one in candidates}) > 1:
            names = ", ".join(str(one.id) for one in candidates)
            raise FieldError(f"{self._resource.id}: '{self._path}' could refer to any of {names}")
        return candidates[0]

    def _fits(self, candidate: Resource) -> bool:
        current = candidate.gvk
        kinds = [Gvk(current.group, current.version, previous.kind) for previous in candidate.previous]
        if not any(kind.selected_by(self._target) for kind in kinds):
            return False
        role = self._role()
        if role is not None and not any(kind.selected_by(role) for kind in kinds):
            return False
        if self._namespace == CLUSTER:
            return True
        namespace = candidate.id.namespace
        return namespace in (CLUSTER, self._namespace) or candidate.kind == "ServiceAccount"

    def _role(self) -> Gvk | None:
        """What a `roleRef` says its target is."""
        role = self._resource.object.get("roleRef") if self._path.endswith("roleRef/name") else None
        if not isinstance(role, dict) or role.get("apiGroup") is None or role.get("kind") is None:
            return None
        return Gvk(text_of(role["apiGroup"]), "", text_of(role["kind"]))

    def _same_overlay(self, candidate: Resource, *, lenient: bool) -> bool:
        """Whether both got their prefixes and suffixes from the same kustomizations."""
        return all(
            (lenient and (not ours or not theirs)) or _same_ending(ours, theirs)
            for ours, theirs in (
                (self._resource.prefixes, candidate.prefixes),
                (self._resource.suffixes, candidate.suffixes),
            )
        )


def _same_ending(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return not longer if not shorter else longer[-len(shorter) :] == shorter
