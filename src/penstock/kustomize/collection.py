"""The objects of a build in their order, found by identity without searching."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from penstock.kustomize import memory
from penstock.kustomize.cache import Cache
from penstock.kustomize.candidates import Candidates
from penstock.kustomize.errors import ResourceError
from penstock.kustomize.ids import Id
from penstock.kustomize.resource import Object, Resource, Work

T = TypeVar("T")


class Collection:
    """Objects in the order in which they were added.

    Identities are indexed when they are first asked for. Whoever changes a name, namespace or type says so
    with `changed`, and the next question pays for a new index: the cost of a build stays linear.
    """

    def __init__(self, resources: Iterable[Resource] = (), cache: Cache | None = None) -> None:
        self._cache = cache
        self.resources: list[Resource] = []
        self._current: set[Id] | None = set()
        self._any: dict[str, list[Resource]] | None = None  # by name
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

    def extend(self, resources: "Iterable[Resource] | Collection") -> None:
        if isinstance(resources, Collection) and not self.resources and resources.twice() is None:
            self.resources = list(resources)
            self.changed()
            return
        for resource in resources:
            self.append(resource)

    def check(self) -> None:
        """ResourceError if two objects have one identity by now."""
        if (twice := self.twice()) is not None:
            raise ResourceError(f"two objects have the identity {twice}")

    def twice(self) -> Id | None:
        """An identity that two objects have by now."""
        if self._current is not None:
            return None
        identities = [resource.id for resource in self.resources]
        current = set(identities)
        if len(current) == len(identities):
            self._current = current
            return None
        for identity in identities:
            if identity not in current:
                return identity
            current.remove(identity)
        return None

    def changed(self) -> None:
        """Forget the indexes, because an identity changed or an object went away."""
        self._current = None
        self._any = None

    def drop_empty(self) -> None:
        """Leave out the objects that a patch emptied."""
        kept = [resource for resource in self.resources if not resource.is_empty]
        if len(kept) != len(self.resources):
            self.resources = kept
            self.changed()

    def remember(self, resource: Resource) -> None:
        """Number the state of an object that was made by this build, by its content."""
        if self._cache is not None:
            memory.remember(self._cache, resource)

    def replace(self, old: Resource, new: Resource) -> None:
        self.resources[self.resources.index(old)] = new
        self.changed()

    def ever(self, identity: Id) -> list[Resource]:
        """The objects that have or had the identity."""
        if self._any is None:
            self._any = defaultdict(list)
            for resource in self.resources:
                name = resource.id.name
                self._any[name].append(resource)
                if resource.previous:
                    for other in {previous.name for previous in resource.previous if previous.name != name}:
                        self._any[other].append(resource)
        found = self._any.get(identity.name, ())
        return [resource for resource in found if not resource.is_empty and identity in resource.ids]

    def each(self, step: Hashable, work: Work, *, renames: bool = False) -> None:
        """Do the work of a step on every object; `renames` says that their identities may change."""
        run = self.step(step, work, renames=renames)
        for resource in self.resources:
            run(resource)
        if renames:
            self.changed()

    def step(self, step: Hashable, work: Work, *, renames: bool = True) -> Work:
        """Work on single objects that is not done again where its outcome is remembered.

        What it makes of an object may depend on nothing but the object's state and what `step` names. It may be done
        later than it is called for, on the same object, or never.
        """
        return work if self._cache is None else memory.step(self._cache, step, work, renames=renames)

    def question(self, question: Hashable, answer: Callable[[Resource], T]) -> Callable[[Resource], T]:
        """Something to be found out about single objects, which changes none of them and is never None."""
        return answer if self._cache is None else memory.question(self._cache, question, answer)

    def following(self, step: Hashable, work: Work, candidates: Candidates) -> Work:
        """Like `step`, for work that also depends on the candidates it asks for."""
        return work if self._cache is None else memory.following(self._cache, step, work, candidates)

    def last(self, value: Callable[[Resource], Object]) -> Callable[[Resource], Object]:
        """What objects come to at the end of a build, as values that belong to the caller."""
        return value if self._cache is None else memory.last(self._cache, value)
