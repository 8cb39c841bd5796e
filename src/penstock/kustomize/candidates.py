"""What names may refer to, and who asked for what.

Which fields of an object follow which names depends on the object and on the candidates for every name that it
mentions. So it is enough to remember the questions and the summaries of those who answered: as long as these are the
same, the outcome is.
"""

from collections.abc import Callable, Iterable

from penstock.kustomize.ids import CLUSTER
from penstock.kustomize.resource import Resource, Summary

Namespaces = frozenset[tuple[str, str, str]]  # original, effective and written namespace of all objects


class Followed:
    """What became of an object, and on what answers that depends."""

    __slots__ = ("key", "names", "namespaces", "summary")

    def __init__(
        self,
        key: int,
        summary: Summary,
        names: tuple[tuple[str, tuple[Summary, ...]], ...],
        namespaces: Namespaces | None,
    ) -> None:
        self.key = key
        self.summary = summary
        self.names = names
        self.namespaces = namespaces  # None: nobody asked


class Candidates:
    """The objects that had other names before."""

    def __init__(self, resources: list[Resource]) -> None:
        self.all = resources
        self.by_name: dict[str, list[Resource]] = {}
        for resource in resources:
            for previous in resource.previous:
                known = self.by_name.setdefault(previous.name, [])
                if not known or known[-1] is not resource:
                    known.append(resource)
        self._grouped: tuple[dict[str, list[Resource]], dict[str, list[Resource]]] | None = None
        self._summaries: dict[str, tuple[Summary, ...]] = {}
        self._namespaces: Namespaces | None = None
        self._asked: dict[str, None] = {}
        self._asked_namespaces = False

    def named(self, name: str) -> list[Resource]:
        """The objects that had the name."""
        self._asked[name] = None
        return self.by_name.get(name, [])

    def in_namespace(self, namespace: str, visible: Callable[[Resource], bool]) -> Callable[[Resource], bool]:
        """Whether an object counts for a reference with a namespace: the original, else the current one."""
        self._asked_namespaces = True
        original, current = self._by_namespace()
        if any(visible(resource) for resource in original.get(namespace, ())):
            return lambda resource: resource.original.namespace == namespace
        if namespace == CLUSTER or namespace not in current:
            return lambda _: False
        return lambda resource: resource.id.namespace == namespace

    def _by_namespace(self) -> tuple[dict[str, list[Resource]], dict[str, list[Resource]]]:
        if self._grouped is None:
            original: dict[str, list[Resource]] = {}
            current: dict[str, list[Resource]] = {}
            for resource in self.all:
                original.setdefault(resource.original.namespace, []).append(resource)
                current.setdefault(resource.id.namespace, []).append(resource)
            original.pop(CLUSTER, None)
            self._grouped = original, current
        return self._grouped

    def begin(self) -> None:
        """Note the questions from now on."""
        self._asked.clear()
        self._asked_namespaces = False

    def answers(self, key: int, summary: Summary) -> Followed:
        """The questions since `begin`, with their answers, as what led to a state."""
        names = tuple((name, self._answer(name)) for name in self._asked)
        return Followed(key, summary, names, self._all_namespaces() if self._asked_namespaces else None)

    def agree(self, followed: Followed) -> bool:
        """Whether the same questions would be answered in the same way now."""
        if followed.namespaces is not None and followed.namespaces != self._all_namespaces():
            return False
        return all(self._answer(name) == answer for name, answer in followed.names)

    def moved(self) -> None:
        """Say that following a name changed what others see of an object."""
        self._summaries.clear()
        self._namespaces = None

    def _answer(self, name: str) -> tuple[Summary, ...]:
        known = self._summaries.get(name)
        if known is None:
            found: Iterable[Resource] = self.by_name.get(name, ())
            known = self._summaries[name] = tuple(resource.summarized() for resource in found)
        return known

    def _all_namespaces(self) -> Namespaces:
        if self._namespaces is None:
            self._namespaces = frozenset(
                (resource.original.namespace, resource.id.namespace, resource.namespace) for resource in self.all
            )
        return self._namespaces
