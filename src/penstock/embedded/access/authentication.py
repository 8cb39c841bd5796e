"""Who asks: the admin's token, service account tokens, or nobody in particular."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import TYPE_CHECKING

from penstock.embedded.access.tokens import BadToken, ForeignToken, Signer
from penstock.embedded.server.ports import User
from penstock.embedded.status import unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.embedded.server.ports import Api, RawHeaders
    from penstock.kube.resources import Object

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("admin", ("system:masters", AUTHENTICATED), uid="admin")
EXTRA = "authentication.kubernetes.io/"

_LEEWAY = 60.0
"""Seconds for which a token outlives its service account, and for which clocks may differ."""
_REMEMBERED = 1024


class Authenticator:
    """Turns a bearer token into a user. Signatures are checked once, everything else every time."""

    def __init__(self, api: Api, signer: Signer, *, admin_token: str, issuer: str, now: Callable[[], float]) -> None:
        self._api = api
        self._signer = signer
        self._admin_token = admin_token.encode()
        self._issuer = issuer
        self._now = now
        self._verified: dict[str, Object] = {}

    def authenticate(self, headers: RawHeaders) -> User:
        """The user of a request, before impersonation; StatusError 401 for a token that is not good."""
        token = _bearer(headers)
        if token is None:
            return ANONYMOUS
        try:
            return self.user(token, (self._issuer,))[0]
        except (BadToken, ForeignToken):
            raise unauthorized() from None

    def user(self, token: str, audiences: Sequence[str]) -> tuple[User, list[str]]:
        """Whose token this is, and for which of these audiences it is meant; BadToken or ForeignToken."""
        if hmac.compare_digest(token.encode(), self._admin_token):
            if self._issuer not in audiences:
                raise ForeignToken("the admin's token is for the API server only")
            return ADMIN, [self._issuer]
        claims = self._claims(token)
        known: list[str] = claims.get("aud") or [self._issuer]
        meant = [audience for audience in known if audience in audiences]
        if not meant:
            raise BadToken(f"token audiences {_listed(known)} is invalid for the target audiences {_listed(audiences)}")
        self._check_times(claims)
        return self._account(claims), meant

    def _claims(self, token: str) -> Object:
        claims = self._verified.get(token)
        if claims is None:
            claims = self._signer.verify(token)
            if len(self._verified) >= _REMEMBERED:
                self._verified.clear()
            self._verified[token] = claims
        return claims

    def _check_times(self, claims: Object) -> None:
        now = self._now()
        if claims.get("exp", 0) < now - _LEEWAY:
            raise BadToken("service account token has expired")
        if claims.get("nbf", 0) > now + _LEEWAY:
            raise BadToken("service account token is not valid yet")
        if claims.get("iat", 0) > now + _LEEWAY:
            raise BadToken("service account token is issued in the future")

    def _account(self, claims: Object) -> User:
        about: Object = claims["kubernetes.io"]
        namespace: str = about["namespace"]
        name, uid = about["serviceaccount"]["name"], about["serviceaccount"]["uid"]
        account = self._find("serviceaccounts", name, namespace)
        if account is None:
            raise BadToken(f'serviceaccounts "{name}" not found')
        live = account["metadata"]["uid"]
        if live != uid:
            raise BadToken(f"service account UID ({live}) does not match claim ({uid})")
        if self._is_past(account):
            raise BadToken(f"service account {namespace}/{name} has been deleted")
        for kind, plural in (("secret", "secrets"), ("pod", "pods")):
            self._check_bound(kind, plural, about.get(kind), namespace)
        if "pod" not in about:
            self._check_bound("node", "nodes", about.get("node"), "")
        return User(
            f"system:serviceaccount:{namespace}:{name}",
            (*service_account_groups(namespace), AUTHENTICATED),
            uid,
            _extra(claims, about),
        )

    def _check_bound(self, kind: str, plural: str, bound: Object | None, namespace: str) -> None:
        if bound is None:
            return
        found = self._find(plural, bound["name"], namespace)
        if found is None or self._is_past(found):
            raise BadToken("service account token has been invalidated")
        live = found["metadata"]["uid"]
        if live != bound["uid"]:
            raise BadToken(f"{kind} UID ({live}) does not match service account {kind} ref claim ({bound['uid']})")

    def _find(self, plural: str, name: str, namespace: str) -> Object | None:
        resource = self._api.catalog.find("", "v1", plural)
        return None if resource is None else self._api.get(resource, name, namespace)

    def _is_past(self, obj: Object) -> bool:
        stamp = obj["metadata"].get("deletionTimestamp")
        return stamp is not None and datetime.fromisoformat(stamp).timestamp() < self._now() - _LEEWAY


def service_account_groups(namespace: str) -> tuple[str, str]:
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def values(headers: RawHeaders, name: bytes) -> list[str]:
    """All values of a header, in order."""
    return [value.decode("utf-8", "replace").strip() for key, value in headers if key == name]


def _bearer(headers: RawHeaders) -> str | None:
    """The token of the Authorization header; None when there is no bearer token at all."""
    sent = values(headers, b"authorization")
    scheme, space, token = sent[0].partition(" ") if sent else ("", "", "")
    if not space or scheme.lower() != "bearer":
        return None
    return token.strip() or None


def _extra(claims: Object, about: Object) -> dict[str, list[str]]:
    extra: dict[str, list[str]] = {}
    if "jti" in claims:
        extra[EXTRA + "credential-id"] = [f"JTI={claims['jti']}"]
    for kind in ("node", "pod"):
        if bound := about.get(kind):
            extra[f"{EXTRA}{kind}-name"] = [bound["name"]]
            if bound.get("uid"):
                extra[f"{EXTRA}{kind}-uid"] = [bound["uid"]]
    return extra


def _listed(texts: Iterable[str]) -> str:
    return "[" + " ".join(f'"{text}"' for text in texts) + "]"
