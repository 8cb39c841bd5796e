"""Says yes or no to a request, in the words of the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.access.rules import Question
from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.status import StatusError, qualified

if TYPE_CHECKING:
    from penstock.embedded.access.grants import Grants
    from penstock.embedded.server.ports import RequestInfo, User


def question(info: RequestInfo) -> Question:
    """What a request asks leave for."""
    if not info.is_resource:
        return Question(info.verb, path=info.path)
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    return Question(info.verb, info.group, resource, info.name, info.namespace)


def authorize(grants: Grants, user: User, asked: Question) -> None:
    """StatusError 403 when the user may not."""
    decision = grants.decide(user, asked)
    if not decision.allowed:
        raise refused(user, asked, decision.reason)


def refused(user: User, asked: Question, reason: str = "") -> StatusError:
    """403 as the real server words it."""
    because = f": {reason}" if reason else ""
    who = f"User {go_quote(user.name)} cannot {asked.verb}"
    if asked.path:
        return StatusError(403, "Forbidden", f"forbidden: {who} path {go_quote(asked.path)}{because}")
    where = f"in the namespace {go_quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
    plural = asked.resource.partition("/")[0]
    what = qualified(plural, asked.group)
    named = f"{what} {go_quote(asked.name)}" if asked.name else what
    message = (
        f"{named} is forbidden: {who} resource {go_quote(asked.resource)} in API group "
        f"{go_quote(asked.group)} {where}{because}"
    )
    return StatusError(403, "Forbidden", message, kind=plural, name=asked.name, group=asked.group)
