"""Nobody hands out rights that they do not hold: the check on roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.access.grants import GROUP, MASTERS, Grants
from penstock.embedded.access.rules import Question, describe, go_list, missing
from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.status import bad_request, forbidden, not_found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.embedded.server.ports import Attempt, User
    from penstock.kube.resources import Object

EVERYTHING: Sequence[Object] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")


class EscalationCheck:
    """An admission that refuses roles and bindings which grant more than their author holds."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def admit(self, attempt: Attempt) -> None:
        if attempt.resource.group != GROUP or attempt.obj is None or MASTERS in attempt.user.groups:
            return
        if attempt.old is not None and _only_lifecycle(attempt.obj, attempt.old):
            return
        if attempt.resource.plural in _ROLES:
            self._check_role(attempt, attempt.obj)
        elif attempt.resource.plural in _BINDINGS:
            self._check_binding(attempt, attempt.obj)

    def _check_role(self, attempt: Attempt, role: Object) -> None:
        plural = attempt.resource.plural
        # A create names nothing yet: the right to escalate one role by name does not help there.
        name = attempt.name if attempt.operation == "UPDATE" else ""
        escalate = Question("escalate", GROUP, plural, name, attempt.namespace)
        if self._grants.decide(attempt.user, escalate).allowed:
            return
        self._confirm(attempt, role.get("rules") or ())
        if not (_aggregates(role) or _aggregates(attempt.old)):
            return
        held, _ = self._grants.rules_for(attempt.user, attempt.namespace)
        if missing(held, EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden(plural, attempt.name, why, group=GROUP)

    def _check_binding(self, attempt: Attempt, binding: Object) -> None:
        role: Object = binding.get("roleRef") or {}
        kind, name = role.get("kind", ""), role.get("name", "")
        namespace = attempt.namespace
        bind = Question("bind", role.get("apiGroup", ""), f"{kind.lower()}s", name, namespace)
        if kind in ("Role", "ClusterRole") and self._grants.decide(attempt.user, bind).allowed:
            return
        if kind == "Role" and not namespace:
            raise bad_request("Namespace parameter required.")
        rules = self._grants.role_rules(role, namespace)
        if rules is None:
            # The real server names the role, but with the resource of the binding.
            raise not_found(attempt.resource.plural, name, group=GROUP)
        self._confirm(attempt, rules)

    def _confirm(self, attempt: Attempt, wanted: Sequence[Object]) -> None:
        held, absent = self._grants.rules_for(attempt.user, attempt.namespace)
        lacking = missing(held, wanted)
        if not lacking:
            return
        why = f"{_who(attempt.user)} is attempting to grant RBAC permissions not currently held:\n"
        why += "\n".join(describe(lacking))
        if absent:
            told = [words.replace(f".{GROUP}", f"s.{GROUP}", 1) for words in dict.fromkeys(absent)]
            why += f"; resolution errors: [{told[0] if len(told) == 1 else '[' + ', '.join(told) + ']'}]"
        raise forbidden(attempt.resource.plural, attempt.name, why, group=GROUP)


def _who(user: User) -> str:
    return f"user {go_quote(user.name)} (groups={go_list(user.groups)})"


def _aggregates(role: Object | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_lifecycle(new: Object, old: Object) -> bool:
    """True when only what a garbage collector touches has changed."""
    return _without_lifecycle(new) == _without_lifecycle(old)


def _without_lifecycle(obj: Object) -> dict[str, Any]:
    ignored = ("ownerReferences", "finalizers", "managedFields", "selfLink", "resourceVersion")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ignored}
    return {**obj, "metadata": metadata}
