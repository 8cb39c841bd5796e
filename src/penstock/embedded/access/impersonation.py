"""Acting as somebody else: what the `Impersonate-*` headers ask for, and whether the asker may.

There are two ways to be allowed. The old right is the verb `impersonate` on `users`, `groups` and so on, and is good
for every request. The constrained ones name a mode and need two rights: `impersonate:user-info` (or `serviceaccount`,
`arbitrary-node`, `associated-node`) on who is impersonated, and `impersonate-on:user-info:list` (with the verb of the
request) on what is done. The real server tries them all, that which last worked for this user first; its refusal is
that of the first try.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from penstock.embedded.access.authentication import (
    ANONYMOUS,
    AUTHENTICATED,
    EXTRA,
    UNAUTHENTICATED,
    service_account_groups,
    values,
)
from penstock.embedded.access.authorization import refused
from penstock.embedded.access.rules import Question
from penstock.embedded.kinds.names import dns_label, dns_subdomain
from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.server.ports import User
from penstock.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.embedded.access.grants import Grants
    from penstock.embedded.server.ports import RawHeaders

_USER, _GROUP, _UID, _EXTRA = b"impersonate-user", b"impersonate-group", b"impersonate-uid", b"impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"
_ACCOUNT, _NODE = "system:serviceaccount:", "system:node:"
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class ActingAs(User):
    """Somebody whom another user claims to act as; `Impersonation.check` says whether they may."""

    by: User = ANONYMOUS
    wanted: User = ANONYMOUS
    """As the headers say, with no group added."""


class Mode(NamedTuple):
    """One way in which impersonation can be allowed; the old one has no name."""

    name: str

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    def fits(self, requestor: User, wanted: User) -> bool:
        """Whether this mode is for such a request at all."""
        plain = not (wanted.uid or wanted.groups or wanted.extra)
        node, account = node_name(wanted.name), account_name(wanted.name)
        match self.name:
            case "associated-node":
                of = requestor.extra.get(EXTRA + "node-name", ())
                return plain and node is not None and account_name(requestor.name) is not None and list(of) == [node]
            case "arbitrary-node":
                return plain and node is not None
            case "serviceaccount":
                return plain and account is not None
            case "user-info":
                return node is None and account is None
            case _:
                return True


_MODES = tuple(Mode(name) for name in ("associated-node", "arbitrary-node", "serviceaccount", "user-info", ""))


class Impersonation:
    """Checks whether users may act as those whom their headers name."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants
        self._worked: dict[str, Mode] = {}

    def check(self, acting: ActingAs, asked: Question) -> None:
        """StatusError 403 when no mode allows it."""
        refusals: list[StatusError] = []
        for mode in self._in_order(acting.by.name):
            if not mode.fits(acting.by, acting.wanted):
                continue
            try:
                self._try(mode, acting, asked)
            except StatusError as refusal:
                refusals.append(refusal)
                continue
            self._remember(acting.by.name, mode)
            return
        raise refusals[0]

    def _in_order(self, requestor: str) -> Iterator[Mode]:
        first = self._worked.get(requestor)
        if first is not None:
            yield first
        yield from (mode for mode in _MODES if mode != first)

    def _remember(self, requestor: str, mode: Mode) -> None:
        if len(self._worked) >= _REMEMBERED:
            self._worked.clear()
        self._worked[requestor] = mode

    def _try(self, mode: Mode, acting: ActingAs, asked: Question) -> None:
        if mode.name:
            self._need(acting.by, asked._replace(verb=f"impersonate-on:{mode.name}:{asked.verb}"))
        for needed in _needed(mode, acting.wanted):
            self._need(acting.by, needed)

    def _need(self, requestor: User, asked: Question) -> None:
        decision = self._grants.decide(requestor, asked)
        if not decision.allowed:
            raise refused(requestor, asked, decision.reason)
        if (
            asked.verb == "impersonate:user-info"
            and asked.resource == "groups"
            and asked.name in ("", "system:masters")
        ):
            which = "empty string" if not asked.name else asked.name
            raise refused(requestor, asked, f"impersonating the {which} group is not allowed")


def _needed(mode: Mode, wanted: User) -> Iterator[Question]:
    """The rights on who is impersonated, in the order in which they are checked."""
    group = _AUTHENTICATION if mode.name else ""
    account, node = account_name(wanted.name), node_name(wanted.name)
    if account is not None:
        yield Question(mode.verb, group, "serviceaccounts", account[1], account[0])
    elif node is not None and mode.name:
        yield Question(mode.verb, group, "nodes", "*" if mode.name == "associated-node" else node)
    else:
        yield Question(mode.verb, group, "users", wanted.name)
    if wanted.uid:
        yield Question(mode.verb, _AUTHENTICATION, "uids", wanted.uid)
    for each in wanted.groups:
        yield Question(mode.verb, group, "groups", each)
    for key, said in wanted.extra.items():
        for value in said:
            yield Question(mode.verb, _AUTHENTICATION, f"userextras/{key}", value)


def acting_as(requestor: User, headers: RawHeaders) -> User:
    """The user whom the headers ask for, or the requestor when they ask for nobody; StatusError 400.

    An empty user name asks for nobody, unless something else is asked for with it.
    """
    if not any(key.startswith(b"impersonate-") for key, _ in headers):
        return requestor
    wanted = _wanted(headers)
    if not wanted.name:
        if not (wanted.uid or wanted.groups or wanted.extra):
            return requestor
        raise bad_request(f"requested {_go_syntax(wanted)} without impersonating a user name")
    return ActingAs(wanted.name, _groups(wanted), wanted.uid, wanted.extra, by=requestor, wanted=wanted)


def _wanted(headers: RawHeaders) -> User:
    extra: dict[str, list[str]] = {}
    for key, value in headers:
        if key.startswith(_EXTRA):
            name = unquote(key[len(_EXTRA) :].decode("latin-1"))
            extra.setdefault(name, []).append(value.decode("utf-8", "replace").strip())
    name, uid = ([*values(headers, header), ""][0] for header in (_USER, _UID))
    return User(name, tuple(values(headers, _GROUP)), uid, extra)


def _groups(wanted: User) -> tuple[str, ...]:
    """The groups that the impersonated user has in the end."""
    groups = wanted.groups
    account = account_name(wanted.name)
    if account is not None and not groups:
        groups = service_account_groups(account[0])
    if wanted.name == ANONYMOUS.name:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    if UNAUTHENTICATED in groups or AUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)


def account_name(username: str) -> tuple[str, str] | None:
    """Namespace and name of the service account with this user name; None for other users."""
    if not username.startswith(_ACCOUNT):
        return None
    namespace, colon, name = username[len(_ACCOUNT) :].partition(":")
    if not colon or dns_label(namespace) or dns_subdomain(name):
        return None
    return namespace, name


def node_name(username: str) -> str | None:
    name = username.removeprefix(_NODE)
    return None if name == username or dns_subdomain(name) else name


def _go_syntax(user: User) -> str:
    """A user as Go prints the struct it keeps one in."""
    extra = ", ".join(f"{go_quote(key)}:{_go_strings(said)}" for key, said in sorted(user.extra.items()))
    shown = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
    return (
        f"&user.DefaultInfo{{Name:{go_quote(user.name)}, UID:{go_quote(user.uid)}, "
        f"Groups:{_go_strings(user.groups)}, Extra:{shown}}}"
    )


def _go_strings(texts: Sequence[str]) -> str:
    return f"[]string{{{', '.join(go_quote(text) for text in texts)}}}" if texts else "[]string(nil)"
