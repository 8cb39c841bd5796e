"""The objects of a build in their order, found by identity without searching."""

import marshal
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from penstock.kustomize.cache import Cache
from penstock.kustomize.candidates import Candidates, Followed
from penstock.kustomize.errors import ResourceError
from penstock.kustomize.ids import Id
from penstock.kustomize.resource import Object, Resource, Summary, Work

_FOLLOWED = 500  # bytes of questions and answers
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
        if self._cache is None:
            return
        try:
            content = marshal.dumps(resource.object)
        except ValueError:  # some key remembers its text
            return
        made = ("made", content, resource.id, resource.hashed, resource.behavior)
        resource.settle(self._cache.number(made))

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
        cache = self._cache
        if cache is None:
            return work
        number = cache.number(step)

        def run(resource: Resource) -> None:
            key = resource.key
            if key is None:
                resource.wake()
                work(resource)
                return
            known: tuple[int, Summary] | None = cache.get((key, number))
            if known is not None:
                resource.advance(known[0], known[1], work)
                return
            resource.release()
            work(resource)
            after = resource.key = cache.new_state()
            cache.put((key, number), (after, resource.settle(after) if renames else resource.summary))

        return run

    def question(self, question: Hashable, answer: Callable[[Resource], T]) -> Callable[[Resource], T]:
        """Something to be found out about single objects, which changes none of them and is never None."""
        cache = self._cache
        if cache is None:
            return answer
        number = cache.number(question)

        def ask(resource: Resource) -> T:
            key = resource.key
            if key is None:
                return answer(resource)
            known: T | None = cache.get((key, number))
            if known is None:
                known = answer(resource)
                cache.put((key, number), known)
            return known

        return ask

    def following(self, step: Hashable, work: Work, candidates: Candidates) -> Work:
        """Like `step`, for work that also depends on the candidates it asks for."""
        cache = self._cache
        if cache is None:
            return work
        number = cache.number(step)

        def run(resource: Resource) -> None:
            key = resource.key
            known: Followed | None = None if key is None else cache.get((key, number))
            if known is not None and candidates.agree(known):
                resource.advance(known.key, known.summary, work)
                return
            before = resource.summarized() if key is None or resource.summary is None else resource.summary
            candidates.begin()
            resource.release()
            work(resource)
            after = cache.new_state()
            summary = resource.settle(after)
            if key is not None and summary == before:
                cache.put((key, number), candidates.answers(after, summary), weight=_FOLLOWED)
                return
            resource.release()
            if summary != before:
                candidates.moved()

        return run

    def last(self, value: Callable[[Resource], Object]) -> Callable[[Resource], Object]:
        """What objects come to at the end of a build, as values that belong to the caller."""
        cache = self._cache
        if cache is None:
            return value
        number = cache.number("last")
        from msgspec import msgpack  # a command that builds once has no use for it

        encode, decode = msgpack.Encoder().encode, msgpack.Decoder().decode

        def get(resource: Resource) -> Object:
            key = resource.key
            if key is None:
                return value(resource)
            known: bytes | None = cache.get((key, number))
            if known is not None:
                thawed: Object = decode(known)
                return thawed
            found = value(resource)
            try:
                content = encode(found)
            except (TypeError, ValueError, OverflowError):  # not plain after all
                return found
            cache.put((key, number), content, weight=len(content))
            return found

        return get
