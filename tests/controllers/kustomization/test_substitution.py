"""Variables, from the spec and from objects: scenarios of section 22.5."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Settings
    from tests.controllers.kustomization.world import World

ACCOUNT = """
apiVersion: v1
kind: ServiceAccount
metadata:
  name: test
  labels:
    environment: ${env:=dev}
    region: "${_Region}"
    zone: "${zone}"
---
apiVersion: v1
kind: Secret
metadata:
  name: test
stringData:
  zone: ${zone}
"""


async def variables(world: World, name: str, data: dict[str, str]) -> None:
    """A ConfigMap and a Secret of one name, the Secret's value being the later one."""
    for resource, suffix in ((CONFIG_MAPS, "a"), (SECRETS, "b")):
        field = "data" if resource is CONFIG_MAPS else "stringData"
        body = {"metadata": {"name": name}, field: {key: value.replace("?", suffix) for key, value in data.items()}}
        await world.client.create(resource, body, namespace=world.namespace)


def references(name: str, **more: Any) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, **more} for kind in ("ConfigMap", "Secret")]


@pytest.mark.scenario("22.5 Varsub")
async def test_later_objects_win_and_newlines_go(world: World) -> None:
    await variables(world, "vars", {"zone": "\naz-1?\n"})
    await world.source("v1", {"account.yaml": ACCOUNT})
    check = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "test", "namespace": world.namespace}
    await world.kustomization(
        healthChecks=[check],
        postBuild={"substitute": {"_Region": "eu-central-1"}, "substituteFrom": references("vars")},
    )
    await world.until_applied("v1")
    assert world.condition("Healthy")["status"] == "True"
    labels = (await world.client.get(SERVICE_ACCOUNTS, "test", world.namespace))["metadata"]["labels"]
    assert labels == {
        "environment": "dev",
        "region": "eu-central-1",
        "zone": "az-1b",
        "kustomize.toolkit.fluxcd.io/name": "apps",
        "kustomize.toolkit.fluxcd.io/namespace": world.namespace,
    }
    assert (await world.client.get(SECRETS, "test", world.namespace))["data"] == {"zone": "YXotMWI="}


OPTIONAL = """
apiVersion: v1
kind: ServiceAccount
metadata:
  name: test
  labels:
    color: "${color:=blue}"
    shape: "${shape:=square}"
"""


@pytest.mark.scenario("22.5 VarsubOptional/1", "22.5 VarsubOptional/2")
async def test_objects_that_need_not_be_there(world: World) -> None:
    await variables(world, "vars", {"color": "red-?"})
    await world.source("v1", {"account.yaml": OPTIONAL})
    await world.kustomization(
        interval="1s", postBuild={"substitute": {"x": "y"}, "substituteFrom": references("vars", optional=True)}
    )
    await world.until_applied("v1")
    assert await _label(world, "color") == "red-b"
    for resource in (CONFIG_MAPS, SECRETS):
        await world.client.delete(resource, "vars", world.namespace)
    await world.ask("now")
    await world.until(lambda: world.status().get("lastHandledReconcileAt") == "now")
    assert await _label(world, "color") == "blue"


async def test_objects_that_have_to_be_there(world: World) -> None:
    await world.source("v1", {"account.yaml": OPTIONAL})
    await world.kustomization(postBuild={"substituteFrom": references("vars")}, retryInterval="1h")
    await world.until_failed("BuildFailed", says="substitute from 'ConfigMap/vars' error")


@pytest.mark.scenario("22.5 VarsubAlways/1", "22.5 VarsubAlways/2")
async def test_without_variables_texts_are_touched_only_on_request(world: World) -> None:
    await world.source("v1", {"account.yaml": OPTIONAL})
    await world.kustomization(postBuild={}, retryInterval="1h")
    await world.until_failed("ReconciliationFailed")
    await world.change({"postBuild": {"substituteStrategy": "Always"}})
    await world.until_applied("v1")
    assert await _label(world, "color") == "blue"


NUMBERS = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: numbers
  labels:
    id: ${q}${number}${q}
    enabled: ${q}${boolean}${q}
  annotations:
    id: ${q}${number}${q}
    enabled: ${booleanStr}
data:
  id: ${numberStr}
  text: |
    $${var} and \\? and a line that is long enough to be folded by a writer who folds lines at eighty characters
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: numbers
spec:
  interval: ${number}m
  url: https://example.com/repo
"""


@pytest.mark.scenario("22.5 VarsubNumberBool")
async def test_numbers_and_truths_stay_texts_where_they_should(world: World) -> None:
    await world.source("v1", {"numbers.yaml": NUMBERS})
    substitute = {
        "q": '"',
        "number": "123",
        "numberStr": "!!str 123",
        "boolean": "true",
        "booleanStr": "!!str true",
    }
    await world.kustomization(postBuild={"substitute": substitute})
    await world.until_applied("v1")
    found = await world.client.get(CONFIG_MAPS, "numbers", world.namespace)
    assert found["metadata"]["labels"].items() >= {"id": "123", "enabled": "true"}.items()
    assert found["metadata"]["annotations"] == {"id": "123", "enabled": "true"}
    assert found["data"]["id"] == "123"
    assert found["data"]["text"].startswith("${var} and \\? and a line")
    assert found["data"]["text"].endswith("characters\n")


class TestStrictly:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, gates=replace(settings.gates, strict_post_build_substitutions=True))

    @pytest.mark.scenario("22.5 VarsubStrict")
    async def test_a_variable_that_nobody_sets_fails_the_build(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a", {"key": "${missing}"})})
        await world.kustomization(postBuild={"substitute": {"x": "y"}}, retryInterval="1h")
        await world.until_failed("BuildFailed", says="variable not set")


async def _label(world: World, name: str) -> str:
    found = await world.client.get(SERVICE_ACCOUNTS, "test", world.namespace)
    return str(found["metadata"]["labels"][name])
