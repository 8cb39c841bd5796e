"""The resources that only answer questions: who am I, may I, may they, what may I, whose token is this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.access.rules import Question
from penstock.embedded.access.token_requests import stamp
from penstock.embedded.access.tokens import BadToken, ForeignToken
from penstock.embedded.kinds.problems import invalid as invalid_value
from penstock.embedded.kinds.problems import required
from penstock.embedded.server.ports import User
from penstock.embedded.status import bad_request, invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.access.authentication import Authenticator
    from penstock.embedded.access.grants import Decision, Grants
    from penstock.embedded.kinds.problems import FieldProblem
    from penstock.embedded.server.ports import VirtualCall
    from penstock.kube.resources import Object

GROUP = "authorization.k8s.io"
_RULE_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames")


class AccessReviews:
    """SubjectAccessReview, and its `Self` and `Local` sisters."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def create(self, call: VirtualCall) -> Object:
        spec: Object = call.obj.get("spec") or {}
        kind = call.resource.kind
        own = kind == "SelfSubjectAccessReview"
        problems = _spec_problems(spec, own=own)
        if kind == "LocalSubjectAccessReview":
            problems += _local_problems(spec, call.namespace)
        if problem := _metadata_problem(call.obj.get("metadata") or {}, local=kind == "LocalSubjectAccessReview"):
            problems.append(problem)
        if problems:
            raise invalid("", "", problems, group=GROUP)
        metadata = call.obj.setdefault("metadata", {})
        if call.namespace:
            metadata["namespace"] = call.namespace
        user = call.user if own else _subject(spec)
        call.obj["status"] = _status(self._grants.decide(user, _question(spec)))
        return call.obj


class RulesReviews:
    """SelfSubjectRulesReview: everything that the asker may do in a namespace.

    Rules of the cluster come first, and those of a role in their order. The real server promises nothing about the
    order of bindings, and tells them in another one each time; here they are sorted by name.
    """

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def create(self, call: VirtualCall) -> Object:
        namespace = (call.obj.get("spec") or {}).get("namespace")
        if not namespace:
            raise bad_request("no namespace on request")
        rules, absent = self._grants.rules_for(call.user, namespace)
        status: Object = {
            "resourceRules": [_only(rule, _RULE_FIELDS) for rule in rules if rule.get("resources")],
            "nonResourceRules": [
                _only(rule, ("verbs", "nonResourceURLs")) for rule in rules if rule.get("nonResourceURLs")
            ],
            "incomplete": False,
        }
        if absent:
            told = list(dict.fromkeys(absent))
            status["evaluationError"] = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
        api_version = f"{GROUP}/v1"
        return {"kind": call.resource.kind, "apiVersion": api_version, "metadata": {}, "spec": {}, "status": status}


class SelfReviews:
    """SelfSubjectReview: who the server thinks the asker is."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def create(self, call: VirtualCall) -> Object:
        return {
            "kind": call.resource.kind,
            "apiVersion": call.resource.api_version,
            "metadata": {"creationTimestamp": stamp(self._now())},
            "status": {"userInfo": user_info(call.user)},
        }


class TokenReviews:
    """TokenReview: whose token this is."""

    def __init__(self, authenticator: Authenticator, issuer: str) -> None:
        self._authenticator = authenticator
        self._issuer = issuer

    def create(self, call: VirtualCall) -> Object:
        spec: Object = call.obj.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        call.obj.setdefault("metadata", {})
        call.obj["status"] = self._status(token, spec.get("audiences") or [self._issuer])
        return call.obj

    def _status(self, token: str, audiences: list[str]) -> Object:
        try:
            user, meant = self._authenticator.user(token, audiences)
        except ForeignToken:
            return {"user": {}, "error": "invalid bearer token"}
        except BadToken as error:
            return {"user": {}, "error": f"[invalid bearer token, {error}]"}
        return {"authenticated": True, "user": user_info(user), "audiences": meant}


def user_info(user: User) -> Object:
    parts: Object = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(said) for key, said in user.extra.items()},
    }
    return {key: value for key, value in parts.items() if value}


def _subject(spec: Object) -> User:
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), spec.get("extra") or {})


def _question(spec: Object) -> Question:
    if "nonResourceAttributes" in spec:
        about = spec["nonResourceAttributes"]
        return Question(about.get("verb", ""), path=about.get("path", ""))
    about = spec["resourceAttributes"]
    resource, subresource = about.get("resource", ""), about.get("subresource", "")
    return Question(
        about.get("verb", ""),
        about.get("group", ""),
        f"{resource}/{subresource}" if subresource else resource,
        about.get("name", ""),
        about.get("namespace", ""),
    )


def _status(decision: Decision) -> Object:
    return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _only(rule: Object, fields: tuple[str, ...]) -> Object:
    return {field: rule[field] for field in fields if rule.get(field)}


def _spec_problems(spec: Object, *, own: bool) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    resource, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and url is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        problems.append(invalid_value("spec.nonResourceAttributes", _go_names(url), detail))
    if resource is None and url is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        problems.append(invalid_value("spec.resourceAttributes", None, detail))
    if not own and not spec.get("user") and not spec.get("groups"):
        problems.append(invalid_value("spec.user", "", "at least one of user or group must be specified"))
    for selector in ("fieldSelector", "labelSelector"):
        problems += _selector_problems((resource or {}).get(selector), f"spec.resourceAttributes.{selector}")
    return problems


def _selector_problems(selector: Object | None, field: str) -> list[FieldProblem]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [invalid_value(f"{field}.rawSelector", raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        return [
            required(f"{field}.requirements", f"when {field} is specified, requirements or rawSelector is required")
        ]
    return []


def _local_problems(spec: Object, namespace: str) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    resource, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        field = "spec.resourceAttributes.namespace"
        problems.append(invalid_value(field, resource.get("namespace", ""), "must match metadata.namespace"))
    if url is not None:
        detail = "disallowed on this kind of request"
        problems.append(invalid_value("spec.nonResourceAttributes", _go_names(url), detail))
    return problems


def _metadata_problem(metadata: Object, *, local: bool) -> FieldProblem | None:
    allowed = {"managedFields", "namespace"} if local else {"managedFields"}
    if all(not value or key in allowed for key, value in metadata.items()):
        return None
    detail = "must be empty except for namespace" if local else "must be empty"
    return invalid_value("metadata", metadata, detail)


def _go_names(attributes: Object) -> dict[str, Any]:
    """The server prints its internal type here, whose fields have no JSON names."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}
