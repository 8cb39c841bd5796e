"""Apply, drift, force and whose rights count: scenarios of section 22.7."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube import GroupKind
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from tests.controllers.kustomization.identities import RBAC, ROLE_BINDINGS, ROLES, make_account, make_kubeconfig
from tests.controllers.kustomization.manifests import config_map, secret

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Settings
    from tests.controllers.kustomization.world import World

EVERYDAY = ("get", "list", "watch", "create", "update", "patch", "delete")


@pytest.mark.scenario("22.7 Force/1", "22.7 Force/2", "22.7 Force/3")
async def test_an_immutable_object_is_replaced_only_by_force(world: World) -> None:
    immutable = "immutable: true\n"
    check = {"apiVersion": "v1", "kind": "Secret", "name": "a", "namespace": world.namespace}
    await world.source("v1.0.0", {"secret.yaml": secret("a", more=immutable)})
    await world.kustomization(healthChecks=[check], retryInterval="1h")
    await world.until_applied("v1.0.0")

    await world.source("v2.0.0", {"secret.yaml": secret("a", {"key": "other"}, more=immutable)})
    await world.until_failed("ReconciliationFailed")
    told = await world.until_told(1, revision="v2.0.0")
    assert told[0]["type"] == "Warning"
    assert "field is immutable" in told[0]["message"]
    assert "other" not in told[0]["message"]

    await world.source("v3.0.0", {"secret.yaml": secret("a", {"key": "other"}, more=immutable)})
    await world.change({"force": True})
    await world.until_applied("v3.0.0")
    assert world.condition("Healthy")["status"] == "True"
    found = await world.client.get(SECRETS, "a", world.namespace)
    assert base64.b64decode(found["data"]["key"]) == b"other"


@pytest.mark.scenario("22.7 DisallowedManagers")
async def test_what_some_managers_write_is_taken_back(world: World) -> None:
    await world.source("v1", {"config.yaml": config_map("a")})
    await world.kustomization()
    await world.until_applied("v1")
    for manager, key in (("node-fetch", "bad-key"), ("good-name", "key2")):
        await world.client.patch(CONFIG_MAPS, "a", world.namespace, {"data": {key: "x"}}, manager=manager)
    await world.ask("now")
    await world.until(lambda: world.status().get("lastHandledReconcileAt") == "now")
    await world.until_applied("v1")
    assert (await world.client.get(CONFIG_MAPS, "a", world.namespace))["data"] == {"key": "value", "key2": "x"}


@pytest.mark.scenario("22.7 DriftIgnoreRules/1", "22.7 DriftIgnoreRules/2", "22.7 DriftIgnoreRules/3")
async def test_fields_in_which_the_cluster_may_differ(world: World) -> None:
    def config(managed: str) -> dict[str, str]:
        return {"config.yaml": config_map("a", {"managed-key": managed, "ignored-key": "initial"})}

    async def data() -> Any:
        return (await world.client.get(CONFIG_MAPS, "a", world.namespace))["data"]

    await world.source("v1", config("v1"))
    await world.kustomization(ignore=[{"paths": ["/data/ignored-key"]}])
    await world.until_applied("v1")
    assert await data() == {"managed-key": "v1", "ignored-key": "initial"}

    await world.client.patch(CONFIG_MAPS, "a", world.namespace, {"data": {"ignored-key": "outside"}}, manager="other")
    await world.source("v2", config("v2"))
    await world.until_applied("v2")
    assert await data() == {"managed-key": "v2", "ignored-key": "outside"}

    await world.client.patch(CONFIG_MAPS, "a", world.namespace, {"data": {"managed-key": "bad"}}, manager="other")
    await world.source("v3", config("v3"))
    await world.until_applied("v3")
    assert await data() == {"managed-key": "v3", "ignored-key": "outside"}


class TestRolesAndTheirBindings:
    @pytest.fixture
    def settings(self, settings: Settings, request: pytest.FixtureRequest) -> Settings:
        staged = (GroupKind(RBAC, "Role"),) if "staged" in request.node.name else ()
        return replace(settings, stage_kinds=staged)

    def files(self, name: str) -> dict[str, str]:
        return {
            "role.yaml": f"""
apiVersion: {RBAC}/v1
kind: Role
metadata: {{name: {name}-role}}
rules: [{{apiGroups: [""], resources: [configmaps], verbs: [get]}}]
""",
            "binding.yaml": f"""
apiVersion: {RBAC}/v1
kind: RoleBinding
metadata: {{name: {name}-rolebinding}}
roleRef: {{apiGroup: {RBAC}, kind: Role, name: {name}-role}}
subjects: [{{kind: ServiceAccount, name: default, namespace: {name}}}]
""",
        }

    async def limited(self, world: World) -> str:
        """An account that may bind only roles that are there: it has what they give, and no right to escalate."""
        rules = [
            {
                "apiGroups": [RBAC],
                "resources": ["roles", "rolebindings"],
                "verbs": [*EVERYDAY],
            },  # neither bind nor escalate
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
        ]
        return await make_account(world.cluster, "limited", rules=rules)

    @pytest.mark.scenario("22.7 RBAC/1")
    async def test_in_one_stage_a_limited_account_cannot_bind_what_is_not_there(self, world: World) -> None:
        place = world.namespace
        await world.source("v1", self.files(place))
        await world.kustomization(serviceAccountName=await self.limited(world), retryInterval="1h")
        ready = await world.until_failed("ReconciliationFailed")
        assert ready["message"].startswith(
            f"RoleBinding/{place}/{place}-rolebinding not found: "
            f'rolebindings.rbac.authorization.k8s.io "{place}-role" not found'
        )

    @pytest.mark.scenario("22.7 RBAC/2")
    async def test_staged_it_can(self, world: World) -> None:
        place = world.namespace
        await world.source("v1", self.files(place))
        await world.kustomization(serviceAccountName=await self.limited(world))
        await world.until_applied("v1")
        assert await world.get(ROLES, f"{place}-role")
        assert await world.get(ROLE_BINDINGS, f"{place}-rolebinding")


class TestImpersonation:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, default_service_account="default")

    @pytest.mark.scenario("22.7 Impersonation/2", "22.7 Impersonation/3", "22.7 Impersonation/4", "A22")
    async def test_the_account_decides_what_can_be_applied(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        await world.kustomization(retryInterval="1h")
        await world.until_failed("ReconciliationFailed", says=f"system:serviceaccount:{world.namespace}:default")
        assert not await world.config_map("a")
        await world.change({"serviceAccountName": await make_account(world.cluster, "deployer")})
        await world.until_applied("v1")
        await world.delete()
        await world.until_gone()
        assert not await world.config_map("a")

    @pytest.mark.scenario("22.7 Impersonation/1")
    async def test_a_kubeconfig_brings_its_own_rights(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        await make_kubeconfig(world.cluster, "admin")
        account = await make_account(world.cluster, "deployer")
        await world.kustomization(
            serviceAccountName=account, kubeConfig={"secretRef": {"name": "admin", "key": "value.yaml"}}
        )
        await world.until_applied("v1")

    @pytest.mark.scenario("A22")
    @pytest.mark.parametrize("name", ["system:admin", "../x", "other:deployer", "Admin", " "])
    async def test_an_odd_name_is_never_the_controllers_own(self, world: World, name: str) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        await world.kustomization(serviceAccountName=name, retryInterval="1h")
        await world.until_failed("ReconciliationFailed", says="cannot impersonate")
        assert not await world.config_map("a")


class TestKubeconfigs:
    @pytest.mark.scenario("22.7 KubeConfig/1", "22.7 KubeConfig/2")
    async def test_a_secret_that_comes_late(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        await world.kustomization(kubeConfig={"secretRef": {"name": "remote", "key": "custom-key"}}, retryInterval="1h")
        await world.until_failed("ReconciliationFailed", says='secrets "remote" not found')
        await make_kubeconfig(world.cluster, "remote", key="custom-key")
        await world.source("v2", {"config.yaml": config_map("a")})
        await world.until_applied("v2")

    @pytest.mark.scenario("A23")
    @pytest.mark.parametrize(
        ("extra", "says"),
        [
            pytest.param(
                {"exec": {"command": "/bin/true", "apiVersion": "client.authentication.k8s.io/v1"}}, "exec", id="exec"
            ),
            pytest.param({"tokenFile": "/etc/passwd"}, "tokenFile", id="a file of the controller"),
            pytest.param({"auth-provider": {"name": "gcp"}}, "auth-provider", id="an auth provider"),
        ],
    )
    async def test_what_would_run_or_read_in_the_controller_is_refused(
        self, world: World, extra: dict[str, Any], says: str
    ) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        await make_kubeconfig(world.cluster, "remote", user=extra)
        await world.kustomization(kubeConfig={"secretRef": {"name": "remote"}}, retryInterval="1h")
        await world.until_failed("ReconciliationFailed", says=f"{says} is not allowed")
        assert not await world.config_map("a")

    async def test_one_that_names_no_cluster(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        body = {"metadata": {"name": "remote"}, "stringData": {"other": "x"}}
        await world.client.create(SECRETS, body, namespace=world.namespace)
        await world.kustomization(kubeConfig={"secretRef": {"name": "remote"}}, retryInterval="1h")
        await world.until_failed("ReconciliationFailed", says="does not contain a 'value' key with a kubeconfig")
