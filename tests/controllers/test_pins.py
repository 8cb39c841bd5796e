"""What Kustomizations hold on to, as their sources see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.controllers.pins import ANNOTATION, MOST, Pins
from penstock.kube import Change, ObjectRef

if TYPE_CHECKING:
    from penstock.kube import Object
    from penstock.kube.cache import ChangeType

SOURCE = ObjectRef("source.toolkit.fluxcd.io", "GitRepository", "team", "apps")
ONE, OTHER = (f"main@sha1:{digit * 40}" for digit in "12")


def kustomization(name: str, revision: str = "", *, namespace: str = "team", source: str = "team") -> Object:
    annotations = {"annotations": {ANNOTATION: revision}} if revision else {}
    reference: dict[str, Any] = {"kind": "GitRepository", "name": "apps", "namespace": source}
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": namespace, **annotations},
        "spec": {"sourceRef": reference},
    }


async def become(pins: Pins, old: Object | None, new: Object | None) -> None:
    some = new or old
    assert some is not None
    kind: ChangeType = "added" if old is None else "deleted" if new is None else "modified"
    await pins.follow(Change(kind, ObjectRef.of(some), old, new))


async def test_what_is_pinned_and_let_go() -> None:
    pins = Pins()
    free, held = kustomization("a"), kustomization("a", ONE)
    await become(pins, None, free)
    assert pins.of(SOURCE) == []
    await become(pins, free, held)
    await become(pins, None, kustomization("b", ONE))
    await become(pins, None, kustomization("c", OTHER))
    assert pins.of(SOURCE) == [ONE, OTHER], "each once"
    await become(pins, held, free)
    assert pins.of(SOURCE) == [ONE, OTHER], "somebody else still holds it"
    await become(pins, kustomization("b", ONE), None)
    assert pins.of(SOURCE) == [OTHER]


async def test_who_is_told() -> None:
    pins = Pins()
    pinned: list[str] = []
    settled: list[str] = []
    pins.when_pinned(lambda source, holder: pinned.append(holder.name))
    pins.when_settled(lambda holder, source: settled.append(holder.name))
    held = kustomization("a", ONE)
    await become(pins, None, held)
    await become(pins, held, {**held, "status": {}})
    assert pinned == ["a"], "a new status is no new pin"
    pins.settle(SOURCE, ONE, "no such commit")
    pins.settle(SOURCE, ONE, "no such commit")
    assert (settled, pins.trouble(SOURCE, ONE)) == (["a"], "no such commit")
    pins.settle(SOURCE, OTHER)
    assert settled == ["a"], "nobody holds that one"
    pins.settle(SOURCE, ONE)
    assert (settled, pins.trouble(SOURCE, ONE)) == (["a", "a"], "")


async def test_a_trouble_ends_with_its_pin() -> None:
    pins = Pins()
    await become(pins, None, kustomization("a", ONE))
    pins.settle(SOURCE, ONE, "no such commit")
    await become(pins, kustomization("a", ONE), kustomization("a", OTHER))
    assert pins.trouble(SOURCE, ONE) == ""


async def test_nobody_fills_the_disk() -> None:
    pins = Pins()
    for number in range(MOST + 5):
        await become(pins, None, kustomization(f"k{number}", f"main@sha1:{number:040x}"))
    assert len(pins.of(SOURCE)) == MOST


@pytest.mark.parametrize(("allowed", "expected"), [(True, [ONE]), (False, [])], ids=["allowed", "forbidden"])
async def test_from_another_namespace(allowed: bool, expected: list[str]) -> None:
    pins = Pins(cross_namespace=allowed)
    await become(pins, None, kustomization("a", ONE, namespace="other"))
    assert pins.of(SOURCE) == expected
