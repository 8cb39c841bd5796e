"""Asks an engine as a user would: headers and a path in, an answer or a refusal out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.server.paths import request_info
from penstock.embedded.server.ports import User, VirtualCall
from tests.embedded.lifecycle.running import ADMIN_TOKEN, create, resource

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object

RBAC = "rbac.authorization.k8s.io"
Headers = list[tuple[bytes, bytes]]


def headers(token: str | None = ADMIN_TOKEN, **impersonate: str) -> Headers:
    """Headers with a token; `user="jane"` asks to act as jane."""
    made: Headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    made += [(f"impersonate-{key}".encode(), value.encode()) for key, value in impersonate.items()]
    return made


def who(engine: Engine, sent: Headers) -> User:
    assert engine.plugins.access is not None
    return engine.plugins.access.authenticate(sent)


def ask(engine: Engine, path: str, sent: Headers, method: str = "GET") -> User:
    """Who may ask for this path; StatusError when nobody may."""
    assert engine.plugins.access is not None
    user = who(engine, sent)
    engine.plugins.access.authorize(user, request_info(method, path, {}))
    return user


def answer(engine: Engine, kind: str, user: User, *, subresource: str = "", name: str = "", **obj: Any) -> Object:
    """What a review, or a token request, answers."""
    known = next(each for each in engine.catalog.resources() if each.kind == kind)
    virtual = engine.plugins.virtual[known.group, known.plural, subresource]
    namespace = "default" if known.namespaced else ""
    return virtual.create(VirtualCall(user, known, subresource, namespace, name, obj, dry_run=False))


async def grant(engine: Engine, role: str, user: str, *rules: Object) -> None:
    """A ClusterRole with these rules, bound to a user everywhere."""
    await create(engine, "ClusterRole", role, rules=list(rules))
    await bind(engine, role, {"apiGroup": RBAC, "kind": "User", "name": user})


async def bind(engine: Engine, role: str, subject: Object) -> None:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    await create(engine, "ClusterRoleBinding", role, roleRef=reference, subjects=[subject])


async def token(engine: Engine, account: str, **spec: Any) -> str:
    """A token of a service account in `default`, which is made when it is not there."""
    served = resource(engine, "ServiceAccount")
    if engine.get(served, account, "default") is None:
        await create(engine, "ServiceAccount", account)
    made = answer(engine, "ServiceAccount", User("admin"), subresource="token", name=account, spec=spec)
    text: str = made["status"]["token"]
    return text
