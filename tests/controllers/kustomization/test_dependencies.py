"""Which Kustomizations come first, and what the annotation for other kinds may say."""

from __future__ import annotations

import pytest

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization.dependencies import (
    ANNOTATION,
    BadDependency,
    CircularDependency,
    Target,
    order,
    own_ref,
    targets,
)


def kustomization(
    name: str, *needs: str, namespace: str = "flux", annotations: dict[str, str] | None = None
) -> Kustomization:
    """One that depends on others, each `name` or `namespace/name`."""
    depends = [
        {"name": need.rpartition("/")[2]} | ({"namespace": need.partition("/")[0]} if "/" in need else {})
        for need in needs
    ]
    return decode(
        {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
            "spec": {
                "interval": "1m",
                "prune": True,
                "sourceRef": {"kind": "GitRepository", "name": "repo"},
                "dependsOn": depends,
            },
        },
        Kustomization,
    )


def ordered(*all_of_them: Kustomization, wanted: tuple[str, ...] = ()) -> list[str]:
    known = {own_ref(one): one for one in all_of_them}
    chosen = [one for one in all_of_them if not wanted or one.metadata.name in wanted]
    return [f"{ref.namespace}/{ref.name}" for ref in order(chosen, known.get)]


@pytest.mark.scenario("22.11 Topological sort")
class TestOrder:
    def test_a_chain(self) -> None:
        chain = [kustomization("c", "b"), kustomization("b", "a"), kustomization("a")]
        assert ordered(*chain) == ["flux/a", "flux/b", "flux/c"]

    def test_what_was_not_asked_for_comes_too(self) -> None:
        chain = [kustomization("c", "b"), kustomization("b", "a"), kustomization("a"), kustomization("other")]
        assert ordered(*chain, wanted=("c",)) == ["flux/a", "flux/b", "flux/c"]

    def test_a_dependency_that_does_not_exist_is_named_too(self) -> None:
        assert ordered(kustomization("b", "a")) == ["flux/a", "flux/b"]

    def test_the_namespace_is_that_of_the_dependent(self) -> None:
        pair = [kustomization("b", "a", namespace="apps"), kustomization("a", namespace="apps")]
        assert ordered(*pair) == ["apps/a", "apps/b"]
        across = [kustomization("b", "infra/a", namespace="apps"), kustomization("a", namespace="infra")]
        assert ordered(*across) == ["infra/a", "apps/b"]

    def test_a_circle_is_named(self) -> None:
        circle = [kustomization("a", "b"), kustomization("b", "c"), kustomization("c", "a")]
        with pytest.raises(CircularDependency) as caught:
            ordered(*circle)
        assert str(caught.value) == "circular dependency detected: flux/a -> flux/b -> flux/c -> flux/a"

    def test_one_that_needs_itself_is_a_circle(self) -> None:
        with pytest.raises(CircularDependency, match="flux/a -> flux/a"):
            ordered(kustomization("a", "a"))

    def test_a_diamond_has_everyone_once(self) -> None:
        diamond = [kustomization("top", "l", "r"), kustomization("l", "base"), kustomization("r", "base")]
        assert ordered(*diamond, kustomization("base")) == ["flux/base", "flux/l", "flux/r", "flux/top"]

    def test_a_chain_of_thousands_is_no_trouble(self) -> None:
        count = 5000
        chain = [kustomization(str(number), str(number + 1)) for number in range(count)]
        assert ordered(*chain, wanted=("0",))[0] == f"flux/{count}"


class TestOtherKinds:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("", [], id="none"),
            pytest.param(
                "HelmRelease/apps/db, Deployment.apps/web/api",
                [Target("HelmRelease", None, "apps", "db"), Target("Deployment", "apps", "web", "api")],
                id="two, one with its group",
            ),
            pytest.param("Namespace//web,", [Target("Namespace", None, "", "web")], id="cluster-scoped"),
        ],
    )
    def test_are_read(self, text: str, expected: list[Target]) -> None:
        assert targets(kustomization("a", annotations={ANNOTATION: text})) == expected

    @pytest.mark.parametrize("text", ["db", "HelmRelease/db", "a/b/c/d", "Helm Release/a/b", "HelmRelease/apps/"])
    def test_are_refused_by_name(self, text: str) -> None:
        with pytest.raises(BadDependency, match=ANNOTATION):
            targets(kustomization("a", annotations={ANNOTATION: text}))
