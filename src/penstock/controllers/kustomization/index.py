"""Who is to be woken when something changes: Kustomizations by what they name."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from penstock.api import InvalidObject, decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization import dependencies, source
from penstock.kube import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube import Change, Object


class Index:
    """Follows the cache of Kustomizations, and answers who names an object."""

    def __init__(self) -> None:
        self._named: dict[ObjectRef, frozenset[ObjectRef]] = {}
        self._by_name: defaultdict[ObjectRef, set[ObjectRef]] = defaultdict(set)
        self._kustomizations: dict[ObjectRef, Kustomization] = {}

    def __len__(self) -> int:
        return len(self._kustomizations)

    def get(self, ref: ObjectRef) -> Kustomization | None:
        return self._kustomizations.get(ref)

    def naming(self, ref: ObjectRef) -> list[Kustomization]:
        """All that name this object: as source, as dependency, or for its data."""
        return [self._kustomizations[one] for one in sorted(self._by_name.get(ref, ()))]

    async def follow(self, change: Change[Object]) -> None:
        """Take note of a Kustomization that came, changed or went."""
        for ref in self._named.pop(change.ref, ()):
            self._by_name[ref].discard(change.ref)
            if not self._by_name[ref]:
                del self._by_name[ref]
        self._kustomizations.pop(change.ref, None)
        if change.new is None:
            return
        try:
            kustomization = decode(change.new, Kustomization)
        except InvalidObject:
            return  # its own run says what is wrong with it
        self._kustomizations[change.ref] = kustomization
        self._named[change.ref] = frozenset(_names(kustomization))
        for ref in self._named[change.ref]:
            self._by_name[ref].add(change.ref)


def _names(kustomization: Kustomization) -> Iterable[ObjectRef]:
    spec, namespace = kustomization.spec, kustomization.metadata.namespace
    yield source.reference(kustomization)
    yield from dependencies.refs(kustomization)
    if spec.kube_config is not None:
        if spec.kube_config.secret_ref is not None:
            yield ObjectRef("", "Secret", namespace, spec.kube_config.secret_ref.name)
        if spec.kube_config.config_map_ref is not None:
            yield ObjectRef("", "ConfigMap", namespace, spec.kube_config.config_map_ref.name)
    if spec.decryption is not None and spec.decryption.secret_ref is not None:
        yield ObjectRef("", "Secret", namespace, spec.decryption.secret_ref.name)
    for reference in spec.post_build.substitute_from if spec.post_build else ():
        yield ObjectRef("", reference.kind, namespace, reference.name)
