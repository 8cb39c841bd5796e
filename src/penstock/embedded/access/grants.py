"""Who holds which RBAC rules: roles and bindings, kept ready for questions as they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock.embedded.access.rules import Question, allows
from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.status import qualified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.embedded.server.ports import Api, User
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
KINDS = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")

Subject = tuple[str, str]
"""`User` or `Group`, and its name; service accounts are users."""


class Binding(NamedTuple):
    """A RoleBinding, or with no namespace a ClusterRoleBinding."""

    namespace: str
    name: str
    role_kind: str
    role_name: str
    subjects: tuple[tuple[Subject, str], ...]
    """Each with the words that name it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Yes or no, and why: the binding that allows it, or the roles that could not be found."""

    allowed: bool
    reason: str = ""


class Grants:
    """All roles and bindings, by subject. `changed` keeps them up to date."""

    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], Sequence[Object]] = {}
        self._bindings: dict[tuple[str, str], Binding] = {}
        self._by_subject: dict[Subject, dict[tuple[str, str], Binding]] = {}

    def load(self, api: Api) -> None:
        """Take over what is stored."""
        for plural in KINDS:
            resource = api.catalog.find(GROUP, "v1", plural)
            if resource is None:
                continue
            for obj in api.list(resource):
                self._put(plural, obj)

    def changed(self, change: Change) -> None:
        """Follow one change of the store."""
        group, _, plural = change.record.collection.partition("/")
        if group != GROUP or plural not in KINDS:
            return
        if change.type == "DELETED":
            self._drop(plural, (change.record.namespace, change.record.name))
        else:
            self._put(plural, change.object())

    def decide(self, user: User, asked: Question) -> Decision:
        """Whether RBAC allows it. Members of system:masters may do anything."""
        if MASTERS in user.groups:
            return Decision(allowed=True)
        absent: list[str] = []
        for binding, subject, rules in self._held(user, asked.namespace, absent):
            if any(allows(rule, asked) for rule in rules):
                return Decision(allowed=True, reason=f"RBAC: allowed by {_described(binding, subject)}")
        return Decision(allowed=False, reason=f"RBAC: {_together(absent)}" if absent else "")

    def rules_for(self, user: User, namespace: str) -> tuple[list[Object], list[str]]:
        """The rules that a user holds in a namespace (and everywhere), and the bound roles that are not there.

        The missing roles are told as `clusterrole.rbac.authorization.k8s.io "name" not found`.
        """
        absent: list[str] = []
        rules = [rule for _, _, found in self._held(user, namespace, absent) for rule in found]
        return rules, absent

    def role_rules(self, role_ref: Object, namespace: str) -> Sequence[Object] | None:
        """The rules that a binding in this namespace would hand out; None when its role is not there."""
        return self._roles.get((namespace if role_ref.get("kind") == "Role" else "", role_ref.get("name", "")))

    def _held(self, user: User, namespace: str, absent: list[str]) -> Iterator[tuple[Binding, str, Sequence[Object]]]:
        """Bindings that apply, those of the cluster first; what they refer to in vain goes to `absent`."""
        found: dict[tuple[str, str], Binding] = dict(self._by_subject.get(("User", user.name), {}))
        for group in user.groups:
            found.update(self._by_subject.get(("Group", group), {}))
        for binding in sorted(each for key, each in found.items() if key[0] in ("", namespace)):
            rules = self._roles.get((binding.namespace if binding.role_kind == "Role" else "", binding.role_name))
            if rules is None:
                what = qualified(binding.role_kind.lower(), GROUP)
                absent.append(f"{what} {go_quote(binding.role_name)} not found")
                continue
            yield binding, _first_match(binding, user), rules

    def _put(self, plural: str, obj: Object) -> None:
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if plural.endswith("roles"):
            self._roles[key] = obj.get("rules") or ()
            return
        self._drop(plural, key)
        binding = _binding(obj, *key)
        self._bindings[key] = binding
        for subject, _ in binding.subjects:
            self._by_subject.setdefault(subject, {})[key] = binding

    def _drop(self, plural: str, key: tuple[str, str]) -> None:
        if plural.endswith("roles"):
            self._roles.pop(key, None)
            return
        binding = self._bindings.pop(key, None)
        for subject, _ in binding.subjects if binding else ():
            known = self._by_subject.get(subject, {})
            known.pop(key, None)
            if not known:
                self._by_subject.pop(subject, None)


def _binding(obj: Object, namespace: str, name: str) -> Binding:
    role = obj.get("roleRef") or {}
    subjects = (_subject(each, namespace) for each in obj.get("subjects") or ())
    return Binding(
        namespace,
        name,
        role.get("kind", ""),
        role.get("name", ""),
        tuple(subject for subject in subjects if subject is not None),
    )


def _subject(subject: Object, namespace: str) -> tuple[Subject, str] | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group"):
        return (kind, name), f"{kind} {go_quote(name)}"
    home = subject.get("namespace") or namespace
    if kind != "ServiceAccount" or not home:
        return None
    return ("User", f"system:serviceaccount:{home}:{name}"), f"{kind} {go_quote(f'{name}/{home}')}"


def _first_match(binding: Binding, user: User) -> str:
    for (kind, name), words in binding.subjects:
        if (kind == "User" and name == user.name) or (kind == "Group" and name in user.groups):
            return words
    return ""


def _described(binding: Binding, subject: str) -> str:
    if binding.namespace:
        kind, name = "RoleBinding", f"{binding.name}/{binding.namespace}"
    else:
        kind, name = "ClusterRoleBinding", binding.name
    return f"{kind} {go_quote(name)} of {binding.role_kind} {go_quote(binding.role_name)} to {subject}"


def _together(errors: Sequence[str]) -> str:
    """Several errors as Go aggregates them: each once."""
    told = list(dict.fromkeys(errors))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"
