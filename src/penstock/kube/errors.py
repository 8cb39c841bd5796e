"""What can go wrong between us and an API server.

KubeError
├── ConfigError             a kubeconfig or credential that cannot be used
├── Unreachable             no answer: refused, reset, TLS, proxy
│   └── TimedOut            no answer in the time allowed
├── BadAnswer               an answer that is not what the API promises (cut off, not JSON)
├── NoMatch                 discovery is complete, and this kind is not in it
├── DiscoveryUnknown        the group could not be read: the kind may or may not exist
└── ApiError                the server answered, and it said no
    ├── BadRequest          400
    ├── Unauthorized        401
    ├── Forbidden           403
    │   └── NamespaceTerminating
    ├── NotFound            404, the object
    │   └── NotServed       404, the kind itself, or the path
    ├── Conflict            409
    │   └── AlreadyExists
    ├── Expired             410, or a resourceVersion from the future
    ├── Invalid             422
    │   └── Malformed       the server says 500, but the manifest is what is wrong
    ├── TooManyRequests     429
    └── ServerError         5xx
        └── Unavailable     503, 504, or any 5xx with Retry-After
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec

from penstock.errors import PenstockError


class KubeError(PenstockError):
    """Talking to a cluster failed."""

    exit_code = 2


class ConfigError(KubeError):
    """A kubeconfig or credential that cannot be used; the sentence names the file and the field."""


class Unreachable(KubeError):
    """The API server gave no answer. Whether it did what was asked is not known."""

    def __init__(self, message: str, *, sent: bool = True, retryable: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
        """False when the request certainly never reached the server."""
        self.retryable = retryable
        """False when it would end the same way again, as with a certificate that is not trusted."""


class TimedOut(Unreachable):
    """No answer in the time allowed."""

    exit_code = 124


class BadAnswer(KubeError):
    """The answer is not what the API promises: cut off, not JSON, of the wrong shape."""


class NoMatch(KubeError):
    """The cluster does not serve this kind; discovery was complete when it said so."""


class DiscoveryUnknown(KubeError):
    """The group could not be read, so nobody knows whether the kind exists. Never 'absent'."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason inside a Status, mostly one field that is wrong."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class Status:
    """The server's own account of a failure."""

    code: int
    reason: str = ""
    message: str = ""
    kind: str = ""
    name: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: float | None = None
    plain: bool = False
    """True when the body was no Status object at all, such as the text of an unknown path."""


class ApiError(KubeError):
    """The API server answered, and it said no."""

    exit_code = 1
    codes: ClassVar[tuple[int, ...]] = ()

    def __init__(self, status: Status, request: str = "") -> None:
        super().__init__(status.message or f"the API server answered {status.code} to {request}")
        self.status = status
        self.request = request

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason

    @property
    def causes(self) -> tuple[Cause, ...]:
        return self.status.causes


class BadRequest(ApiError):
    """400: the request makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the credentials are not (or no longer) good."""


class Forbidden(ApiError):
    """403: this identity may not, or admission refused."""


class NamespaceTerminating(Forbidden):
    """403 because the namespace is going away; later it will be a 404."""


class NotFound(ApiError):
    """404: the object, or something it needs, is not there."""


class NotServed(NotFound):
    """404 for the path itself: the kind is not served (or not in that scope)."""


class Conflict(ApiError):
    """409: somebody else was there first."""


class AlreadyExists(Conflict):
    """409 to a create."""


class Expired(ApiError):
    """410: the resourceVersion is no longer (or not yet) known; list again."""


class Invalid(ApiError):
    """422: the object breaks a rule; the causes name the fields."""

    @property
    def immutable(self) -> bool:
        """True when a field refused to change, as opposed to being wrong in itself.

        The uid does not count: it is a precondition that did not hold, and making the object anew is no cure.
        """
        return any("field is immutable" in cause.message for cause in self.causes if cause.field != "metadata.uid")


class Malformed(Invalid):
    """500 from the server, but the manifest is what is wrong (unknown field, wrong type, duplicate key).

    Never retried, and not a sign of overload.
    """


class TooManyRequests(ApiError):
    """429: slow down."""


class ServerError(ApiError):
    """5xx: the server, a webhook or etcd has a problem."""


class Unavailable(ServerError):
    """The server is there but cannot answer now."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
    503: Unavailable,
    504: Unavailable,
}


def api_error(status: Status, request: str = "") -> ApiError:
    """The error class for a Status: by code first, then by what the server let slip about the cause."""
    return _class_of(status)(status, request)


def _class_of(status: Status) -> type[ApiError]:
    match status.code:
        case 404 if status.plain or not status.name:
            return NotServed
        case 403 if any(cause.reason == "NamespaceTerminating" for cause in status.causes):
            return NamespaceTerminating
        case 409 if status.reason == "AlreadyExists":
            return AlreadyExists
        case 500 if not status.reason and "failed to create typed patch object" in status.message:
            return Malformed
        case 504 if any(cause.reason == "ResourceVersionTooLarge" for cause in status.causes):
            return Expired
        case _:
            pass
    if status.code in _BY_CODE:
        return _BY_CODE[status.code]
    if status.code >= 500:
        return Unavailable if status.retry_after is not None else ServerError
    return ApiError


class _WireCause(msgspec.Struct, frozen=True):
    reason: str | None = None
    message: str | None = None
    field: str | None = None


class _WireDetails(msgspec.Struct, frozen=True, rename="camel"):
    kind: str | None = None
    name: str | None = None
    causes: list[_WireCause] | None = None
    retry_after_seconds: float | None = None


class _WireStatus(msgspec.Struct, frozen=True):
    kind: Literal["Status"]
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _WireDetails | None = None


def parse_status(code: int, body: Any, retry_after: float | None = None) -> Status:
    """Read the body of a failed request; anything but a Status object is kept as (cut) text."""
    try:
        told = msgspec.convert(body, _WireStatus)
    except msgspec.ValidationError:
        text = body if isinstance(body, str) else ""
        return Status(code=code, message=text.strip()[:500], retry_after=retry_after, plain=True)
    details = told.details or _WireDetails()
    return Status(
        code=told.code or code,
        reason=told.reason or "",
        message=told.message or "",
        kind=details.kind or "",
        name=details.name or "",
        causes=tuple(Cause(one.reason or "", one.message or "", one.field or "") for one in details.causes or ()),
        retry_after=retry_after if retry_after is not None else details.retry_after_seconds,
    )
