"""Nothing new in a namespace that is not there or on its way out, and some namespaces are here to stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.status import StatusCause, forbidden, not_found

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Api, Attempt

IMMORTAL = frozenset({"default", "kube-public", "kube-system"})
_ANSWERS_ONLY = frozenset({"localsubjectaccessreviews"})


class NamespaceLifecycle:
    """The real server's admission of this name."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def admit(self, attempt: Attempt) -> None:
        resource = attempt.resource
        if resource.plural == "namespaces" and not resource.group:
            if attempt.operation == "DELETE" and attempt.name in IMMORTAL:
                raise forbidden("namespaces", attempt.name, "this namespace may not be deleted")
            return
        if not attempt.namespace or attempt.operation != "CREATE" or resource.plural in _ANSWERS_ONLY:
            return
        self._admit_content(attempt)

    def _admit_content(self, attempt: Attempt) -> None:
        name = attempt.namespace
        namespaces = self._api.catalog.find("", "v1", "namespaces")
        namespace = self._api.get(namespaces, name) if namespaces is not None else None
        if namespace is None:
            raise not_found("namespaces", name)
        if (namespace.get("status") or {}).get("phase") != "Terminating":
            return
        why = f"unable to create new content in namespace {name} because it is being terminated"
        cause = StatusCause("NamespaceTerminating", f"namespace {name} is being terminated", "metadata.namespace")
        resource = attempt.resource
        raise forbidden(resource.plural, attempt.name, why, group=resource.group, causes=(cause,))
