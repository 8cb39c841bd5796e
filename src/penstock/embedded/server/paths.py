"""What a request is about, read from its method and path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.server.ports import RequestInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
FALSE = frozenset(("false", "0"))


def truth(values: Sequence[str] | None) -> bool:
    """A boolean of a query as the API server reads it: anything that is not plainly false is true."""
    return values is not None and values[0].lower() not in FALSE


def request_info(method: str, path: str, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    """Split a path into what it names; whether such a thing is served is for others to say."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return RequestInfo(verb=method.lower(), path=path, is_resource=False)
    verb = _VERBS.get(method, method.lower())
    namespace = ""
    if rest[0] == "watch" and len(rest) > 1:
        verb, rest = "watch", rest[1:]
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    return RequestInfo(
        verb=_collection_verb(verb, name, query),
        path=path,
        is_resource=True,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def _collection_verb(verb: str, name: str, query: Mapping[str, Sequence[str]]) -> str:
    if name:
        return verb
    if verb == "get":
        return "watch" if truth(query.get("watch")) else "list"
    return "deletecollection" if verb == "delete" else verb
