"""Short ways to name objects in tests."""

from __future__ import annotations

from penstock.kube.resources import ObjectRef

GROUP = "kustomize.toolkit.fluxcd.io"


def key(name: str, namespace: str = "default", kind: str = "Kustomization") -> ObjectRef:
    return ObjectRef(GROUP, kind, namespace, name)


def keys(text: str) -> list[ObjectRef]:
    """`a/x b/y` is x in namespace a and y in namespace b."""
    return [key(word.partition("/")[2], word.partition("/")[0]) for word in text.split()]


def words(refs: list[ObjectRef]) -> str:
    return " ".join(f"{ref.namespace}/{ref.name}" for ref in refs)
