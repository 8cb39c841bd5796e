"""The objects of a build in their order, found by identity without searching."""

from collections.abc import Iterable, Iterator

from penstock.kustomize.errors import ResourceError
from penstock.kustomize.ids import Id
from penstock.kustomize.resource import Resource


class Collection:
    """Objects in the order in which they were added.

    Identities are indexed when they are first asked for. Whoever changes a name, namespace or type says so
    with `changed`, and the next question pays for a new index: the cost of a build stays linear.
    """

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.resources: list[Resource] = []
        self._current: set[Id] | None = set()
        self._any: dict[Id, list[Resource]] | None = None
        for resource in resources:
            self.append(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)

    def append(self, resource: Resource) -> None:
        """Add an object; ResourceError if one with its identity is there."""
        current = self._current
        if current is None:
            current = self._current = {other.id for other in self.resources}
        identity = resource.id
        if identity in current:
            where = f" (from '{resource.origin.path}')" if resource.origin and resource.origin.path else ""
            raise ResourceError(f"the object {identity}{where} is already there; every object may be added once")
        current.add(identity)
        self.resources.append(resource)
        self._any = None

    def extend(self, resources: Iterable[Resource]) -> None:
        for resource in resources:
            self.append(resource)

    def check(self) -> None:
        """ResourceError if two objects have one identity by now."""
        if self._current is None:
            seen: set[Id] = set()
            for resource in self.resources:
                if resource.id in seen:
                    raise ResourceError(f"two objects have the identity {resource.id}")
                seen.add(resource.id)
            self._current = seen

    def changed(self) -> None:
        """Forget the indexes, because an identity changed or an object went away."""
        self._current = None
        self._any = None

    def drop_empty(self) -> None:
        """Leave out the objects that a patch emptied."""
        kept = [resource for resource in self.resources if resource.object]
        if len(kept) != len(self.resources):
            self.resources = kept
            self.changed()

    def replace(self, old: Resource, new: Resource) -> None:
        self.resources[self.resources.index(old)] = new
        self.changed()

    def ever(self, identity: Id) -> list[Resource]:
        """The objects that have or had the identity."""
        if self._any is None:
            self._any = {}
            for resource in self.resources:
                if resource.object:
                    for known in dict.fromkeys(resource.ids):
                        self._any.setdefault(known, []).append(resource)
        return self._any.get(identity, [])
