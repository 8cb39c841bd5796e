"""What the API server answers when it says no: one error class, worded as the real server words it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object


MOST_CAUSES = 1000


class Problem(Protocol):
    """One field that breaks a rule, as `penstock.embedded.kinds.FieldProblem` has it."""

    @property
    def reason(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def message(self) -> str: ...


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One reason inside a Status; empty parts are left out of the answer."""

    reason: str
    message: str
    field: str = ""

    def body(self) -> Object:
        parts = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in parts.items() if value}


class StatusError(PenstockError):
    """A failure that becomes an HTTP answer with a Status object."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        kind: str = "",
        name: str = "",
        group: str = "",
        uid: str = "",
        causes: Sequence[StatusCause] = (),
        retry_after: int = 0,
        details: bool = True,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.kind = kind
        self.name = name
        self.group = group
        self.uid = uid
        self.causes = tuple(causes)
        self.retry_after = retry_after
        self.details = details
        """False for the answers that carry no `details` at all."""
        self.continue_token = ""
        """What an expired continue token may be replaced by, in the metadata of the Status."""

    def body(self) -> Object:
        """The Status object of this failure."""
        answer: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self._details(),
            "code": self.code,
        }
        if not self.reason:
            del answer["reason"]
        if not self.details:
            del answer["details"]
        return answer

    def _details(self) -> Object:
        parts: Object = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": [cause.body() for cause in self.causes],
            "retryAfterSeconds": self.retry_after,
        }
        return {key: value for key, value in parts.items() if value}


def qualified(plural: str, group: str) -> str:
    """A resource (or kind) with its group, as messages name it: `deployments.apps`."""
    return f"{plural}.{group}" if group else plural


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message, details=False)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized", details=False)


def forbidden(plural: str, name: str, why: str, *, group: str = "", causes: Sequence[StatusCause] = ()) -> StatusError:
    """403 for one object, or for a whole resource when `name` is empty."""
    what = qualified(plural, group)
    message = f'{what} "{name}" is forbidden: {why}' if name else f"{what} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, kind=plural, name=name, group=group, causes=causes)


def not_found(plural: str, name: str, *, group: str = "") -> StatusError:
    message = f'{qualified(plural, group)} "{name}" not found'
    return StatusError(404, "NotFound", message, kind=plural, name=name, group=group)


def not_served() -> StatusError:
    """404 for a path inside a known group that leads nowhere."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed(message: str = "the server does not allow this method on the requested resource") -> StatusError:
    return StatusError(405, "MethodNotAllowed", message)


def method_not_supported(verb: str, plural: str, *, group: str = "") -> StatusError:
    message = f"{verb} is not supported on resources of kind {qualified(plural, group)!r}".replace("'", '"')
    return StatusError(405, "MethodNotAllowed", message, kind=plural, group=group)


def not_acceptable(types: Sequence[str]) -> StatusError:
    message = f"only the following media types are accepted: {', '.join(types)}"
    return StatusError(406, "NotAcceptable", message, details=False)


def already_exists(
    plural: str, name: str, *, group: str = "", going: bool = False, generated: bool = False
) -> StatusError:
    """409 for a name that is taken; `going` when its holder is being deleted, `generated` when it has a prefix too."""
    message = f'{"object is being deleted: " if going else ""}{qualified(plural, group)} "{name}" already exists'
    if not generated:
        return StatusError(409, "AlreadyExists", message, kind=plural, name=name, group=group)
    message += ", the server was not able to generate a unique name for the object"
    return StatusError(409, "AlreadyExists", message, kind=plural, name=name, group=group, retry_after=1)


def conflict(plural: str, name: str, why: str, *, group: str = "", causes: Sequence[StatusCause] = ()) -> StatusError:
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return StatusError(409, "Conflict", message, kind=plural, name=name, group=group, causes=causes)


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def modified(plural: str, name: str, *, group: str = "") -> StatusError:
    """409 because the resourceVersion sent is not the stored one."""
    return conflict(plural, name, MODIFIED, group=group)


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message, details=False)


def gone(message: str) -> StatusError:
    return StatusError(410, "Gone", message, details=False)


def too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", message, details=False)


def unsupported_media_type(types: Sequence[str]) -> StatusError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
    return StatusError(415, "UnsupportedMediaType", message, details=False)


def invalid(kind: str, name: str, problems: Sequence[Problem], *, group: str = "") -> StatusError:
    """422 with one cause for each problem; `kind` is the Kind, not the plural, as the real server has it.

    Of very many only the first are told: the real server would answer a hostile body with fifty times its size.
    """
    causes = tuple(StatusCause(problem.reason, problem.message, problem.field) for problem in problems[:MOST_CAUSES])
    told = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    message = f'{qualified(kind, group)} "{name}" is invalid: {text}'
    return StatusError(422, "Invalid", message, kind=kind, name=name, group=group, causes=causes)


def invalid_value(kind: str, name: str, field: str, message: str, reason: str, *, group: str = "") -> StatusError:
    """422 for one field."""
    return invalid(kind, name, (StatusCause(reason, message, field),), group=group)


def invalid_patch(quoted: str, why: str) -> StatusError:
    """422 for a patch whose result cannot be read; the real server quotes all of it, and names no kind."""
    message = f"Invalid value: {quoted}: {why}"
    cause = StatusCause("FieldValueInvalid", message, "patch")
    return StatusError(422, "Invalid", f' "" is invalid: patch: {message}', causes=(cause,))


def too_many_requests(message: str, retry_after: int) -> StatusError:
    return StatusError(429, "TooManyRequests", message, retry_after=retry_after)


def internal_error(why: str) -> StatusError:
    causes = (StatusCause("", why),)
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", causes=causes)


def plain_error(message: str) -> StatusError:
    """500 without a reason, which is how the real server words errors it did not expect."""
    return StatusError(500, "", message, details=False)


def unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message, details=False)


def timeout(message: str, *, causes: Sequence[StatusCause] = ()) -> StatusError:
    return StatusError(504, "Timeout", message, causes=causes)
