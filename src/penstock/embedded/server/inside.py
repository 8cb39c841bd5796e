"""What the server offers to code that lives inside it: its verbs, and what is served at this moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from penstock.embedded.server.ports import SYSTEM

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from penstock.embedded.server.ports import DeleteOptions, ServedResource, User
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object


class Catalog(Protocol):
    """What is served at this moment; definitions add and remove, discovery and routing read."""

    def find(self, group: str, version: str, plural: str) -> ServedResource | None: ...
    def find_kind(self, group: str, kind: str, version: str = "") -> ServedResource | None:
        """By kind; without a version, the preferred one."""
        ...

    def resources(self) -> Sequence[ServedResource]: ...
    def add(self, resources: Sequence[ServedResource]) -> None:
        """Serve these from now on; replaces those of the same group, version and plural.

        The first version that is added for a group is not special: versions are ordered by Kubernetes' priority.
        """
        ...

    def remove(self, group: str, plural: str) -> None:
        """Serve no version of this resource any more."""
        ...


class Api(Protocol):
    """The verbs of the server for code that lives inside it: no HTTP, no authorisation, same rules.

    Reads are synchronous and see the newest state. Writes return when the change is durable. Objects that are
    returned are fresh copies. Errors are StatusError.
    """

    @property
    def catalog(self) -> Catalog: ...

    def get(self, resource: ServedResource, name: str, namespace: str = "") -> Object | None: ...

    def list(self, resource: ServedResource, namespace: str = "") -> list[Object]: ...

    def watch(self, *collections: str, initial: bool = True) -> AsyncGenerator[Change]:
        """Every change of these collections (`ServedResource.stored_in`), or of all when none is named.

        With `initial`, first an ADDED for every object there is. Never ends and never drops: the reader must keep
        up. Changes arrive in the order of their revisions.
        """
        ...

    async def create(
        self,
        resource: ServedResource,
        obj: Object,
        *,
        namespace: str = "",
        manager: str = "",
        user: User = SYSTEM,
        dry_run: bool = False,
    ) -> Object: ...

    async def update(
        self,
        resource: ServedResource,
        obj: Object,
        *,
        subresource: str = "",
        manager: str = "",
        user: User = SYSTEM,
        dry_run: bool = False,
    ) -> Object:
        """PUT: the object's own metadata says which one; with a resourceVersion it is optimistic."""
        ...

    async def apply(
        self,
        resource: ServedResource,
        obj: Object,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
        user: User = SYSTEM,
    ) -> Object: ...

    async def merge(
        self,
        resource: ServedResource,
        name: str,
        namespace: str,
        patch: Object,
        *,
        subresource: str = "",
        manager: str = "",
        user: User = SYSTEM,
    ) -> Object:
        """A merge patch; the way to write a status without racing others."""
        ...

    async def delete(
        self,
        resource: ServedResource,
        name: str,
        namespace: str = "",
        options: DeleteOptions | None = None,
        user: User = SYSTEM,
    ) -> None:
        """Delete as a client would; NotFound is an error here too."""
        ...

    async def store(self, resource: ServedResource, obj: Object) -> Object:
        """Write the object past all rules and admission (bootstrap objects, status of terminating namespaces).

        metadata.resourceVersion, when there, must match; uid and creationTimestamp are filled in when missing.
        """
        ...

    async def store_all(self, objs: Iterable[tuple[ServedResource, Object]]) -> None:
        """The same for many objects, in their order, with one wait for all."""
        ...

    async def remove(self, resource: ServedResource, name: str, namespace: str = "", uid: str = "") -> None:
        """Take the object out of the store whatever its finalizers say; nothing happens when it is not there."""
        ...
