"""Attacks of tenants on the controller, each by the number under which it is known.

What a single stage withstands is tested with that stage; here it is what a Kustomization, its source and its objects
can do to the controller, to other tenants, and to what the controller tells.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from tests.controllers.kustomization.identities import ROLE_BINDINGS, ROLES, make_account, make_kubeconfig
from tests.controllers.kustomization.manifests import config_map, secret

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, MutableMapping

    from penstock.controllers.kustomization.settings import Settings
    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World

PLANTED = "Planted-9f2c"
LONG = "a" * 50
NEVER_ENDS = "(a+)+c"
"""A pattern for which a machine that goes back needs 2^50 steps on the long name."""


@pytest_asyncio.fixture
async def other_namespace(cluster: Cluster) -> AsyncGenerator[str]:
    """The namespace of another tenant."""
    made = await cluster.client.create(NAMESPACES, {"metadata": {"generateName": "other-"}})
    name = str(made["metadata"]["name"])
    yield name
    await cluster.client.delete(NAMESPACES, name)


@pytest.mark.scenario("A9")
async def test_patterns_take_no_longer_than_they_should(world: World) -> None:
    overlay = {
        "resources": ["config.yaml"],
        "patches": [{"target": {"kind": "ConfigMap", "name": NEVER_ENDS}, "patch": "- {op: remove, path: /data}"}],
        "replacements": [
            {
                "source": {"kind": "ConfigMap", "name": LONG, "fieldPath": "data.key"},
                "targets": [{"select": {"name": NEVER_ENDS}, "fieldPaths": ["data.key"]}],
            }
        ],
    }
    await world.source("v1", {"kustomization.yaml": json.dumps(overlay), "config.yaml": config_map(LONG)})
    target = {"name": NEVER_ENDS}
    await world.kustomization(
        patches=[{"target": {"kind": "ConfigMap", **target}, "patch": "- {op: remove, path: /data}"}],
        ignore=[{"paths": ["/data/key"], "target": target}],
    )
    await world.until_applied("v1")
    await world.source("v2", {"config.yaml": config_map(LONG, {"key": "other"})})
    await world.until_applied("v2")  # now there is a live object that the ignore rules are matched with
    found = await world.config_map(LONG)
    assert found is not None
    assert found["data"] == {"key": "other"}


class TestSubstitution:
    @pytest.mark.scenario("A13")
    @pytest.mark.parametrize(
        ("text", "value", "says"),
        [
            pytest.param(
                "${x}",
                "a\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: evil}",
                "YAMLToJSON",
                id="a value that brings an object along",
            ),
            pytest.param("${!x}", "HOME", "envsubst error", id="a variable by the name in another"),
            pytest.param("${x}" * 20_000, "b" * 100_000, "", id="two billion characters"),
        ],
    )
    async def test_fails_its_own_build_and_nothing_else(self, world: World, text: str, value: str, says: str) -> None:
        await world.source("v1", {"config.yaml": config_map("a").replace("'value'", text)})
        await world.kustomization(postBuild={"substitute": {"x": value}})
        ready = await world.until_failed("BuildFailed", says=says)
        assert len(ready["message"]) < 2_000
        assert not await world.config_map("a")
        assert not await world.secret("evil")

    @pytest.mark.scenario("A13")
    async def test_sees_its_variables_once_and_no_others(self, world: World) -> None:
        text = "${x}, ${PATH:=no path}, ${HOME:=no home}"
        await world.source("v1", {"config.yaml": config_map("a").replace("'value'", text)})
        await world.kustomization(postBuild={"substitute": {"x": "$${y}", "y": PLANTED}})
        await world.until_applied("v1")
        found = await world.config_map("a")
        assert found is not None
        assert found["data"]["key"] == "$${y}, no path, no home"


def endless(levels: int = 9) -> str:
    """An expression of ten to the power of its levels steps."""
    expression = "true"
    for level in range(levels):
        expression = f"[0,1,2,3,4,5,6,7,8,9].all(x{level}, {expression})"
    return expression


class TestExpressions:
    @pytest.mark.scenario("A15")
    async def test_of_readiness_end(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        await world.kustomization("first")
        await world.until_applied("v1", name="first")
        await world.kustomization(dependsOn=[{"name": "first", "readyExpr": endless()}])
        await world.until_failed("DependencyNotReady", says="cost limit exceeded")
        await world.kustomization("bystander", namePrefix="b-")
        await world.until_applied("v1", name="bystander")

    @pytest.mark.scenario("A15")
    async def test_of_health_end(self, world: World) -> None:
        await world.source("v1", {"config.yaml": config_map("a")})
        check = {"apiVersion": "v1", "kind": "ConfigMap", "current": endless()}
        await world.kustomization(wait=True, healthCheckExprs=[check])
        await world.until(lambda: world.condition("Healthy").get("reason") == "Progressing")
        await world.kustomization("bystander", namePrefix="b-")
        await world.until_applied("v1", name="bystander")
        assert world.condition("Healthy")["status"] == "Unknown"


REFUSED = {
    "invalid": secret("a", {"tls.crt": PLANTED}, more="type: kubernetes.io/tls\n"),
    "misshapen": secret("b").replace("'value'", f"[{PLANTED}]"),
    "undecodable": secret("c").replace("stringData:", "data:").replace("'value'", f"'{PLANTED}!'"),
    "misshapen-variable": secret("d").replace("'value'", "\n    x: ${password}"),
}
UNBUILT = {
    "breaking-variable": config_map("e").replace("'value'", "${broken}"),
    "broken-expression": secret("f").replace("'value'", "${password/}"),
    "broken-kind": secret("g", {"key": PLANTED}).replace("kind: Secret", "kind: ${broken}"),
}


class TestWhatIsTold:
    @pytest.fixture
    def lines(self) -> Iterator[list[MutableMapping[str, Any]]]:
        with capture_logs() as captured:
            yield captured

    @pytest.mark.scenario("A18")
    async def test_holds_no_secret(self, world: World, lines: list[MutableMapping[str, Any]]) -> None:
        """Manifests that fail at every stage, with a secret in each or in a variable: nobody ever sees it."""
        variables = {"password": PLANTED, "broken": f"{PLANTED}: {{["}
        body = {"metadata": {"name": "variables"}, "stringData": variables}
        await world.client.create(SECRETS, body, namespace=world.namespace)
        await world.source("v1", {f"{name}/a.yaml": text for name, text in (REFUSED | UNBUILT).items()})
        for name in REFUSED | UNBUILT:
            post_build = {"substituteFrom": [{"kind": "Secret", "name": "variables"}]}
            await world.kustomization(name, path=f"./{name}", postBuild=post_build)
        for name in REFUSED | UNBUILT:
            await world.until_failed("BuildFailed" if name in UNBUILT else "ReconciliationFailed", name=name)
            told = await world.until_told(1, name=name)
            assert_hidden(world.live(name), told)
        assert len(lines) >= len(REFUSED | UNBUILT)
        assert_hidden(lines)

    @pytest.mark.scenario("A18")
    async def test_of_an_immutable_secret_neither(self, world: World) -> None:
        await world.source("v1", {"a.yaml": secret("a", {"key": f"{PLANTED}-1"}, more="immutable: true\n")})
        await world.kustomization()
        await world.until_applied("v1")
        await world.source("v2", {"a.yaml": secret("a", {"key": f"{PLANTED}-2"}, more="immutable: true\n")})
        await world.until_failed("ReconciliationFailed", says="immutable")
        assert_hidden(world.live(), await world.until_told(2))


def assert_hidden(*told: object) -> None:
    """Nothing of the planted text is there, plain or encoded; twelve characters of base64 are nine of it."""
    everything = json.dumps(told, default=str)
    for form in (PLANTED, base64.b64encode(PLANTED.encode()).decode()[:12]):
        assert form not in everything


@pytest.mark.scenario("A20")
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"postBuild": {"substituteFrom": [{"kind": "Secret", "name": "NAME"}]}}, id="variables"),
        pytest.param({"decryption": {"provider": "sops", "secretRef": {"name": "NAME"}}}, id="keys"),
        pytest.param({"kubeConfig": {"secretRef": {"name": "NAME"}}}, id="a kubeconfig"),
    ],
)
async def test_references_stay_in_their_namespace(world: World, other_namespace: str, spec: dict[str, Any]) -> None:
    body = {"metadata": {"name": "keys"}, "stringData": {"value": PLANTED}}
    await world.client.create(SECRETS, body, namespace=other_namespace)
    await world.source("v1", {"a.yaml": config_map("a").replace("'value'", "${value:=nothing}")})
    ways = [
        "keys",
        f"{other_namespace}/keys",
        f"../../{other_namespace}/secrets/keys",
        f"..%2F..%2F{other_namespace}%2Fsecrets%2Fkeys",
    ]
    reason = "ReconciliationFailed" if "kubeConfig" in spec else "BuildFailed"
    for number, way in enumerate(ways):
        await world.kustomization(f"k{number}", **json.loads(json.dumps(spec).replace("NAME", way)))
    for number in range(len(ways)):
        assert_hidden(await world.until_failed(reason, name=f"k{number}"))
    assert not await world.config_map("a")


class TestAccounts:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, default_service_account="nobody")

    @pytest.mark.scenario("A22")
    async def test_an_empty_name_is_the_default_and_never_the_controllers_own(self, world: World) -> None:
        await world.source("v1", {"a.yaml": config_map("a")})
        await world.kustomization(serviceAccountName="")
        await world.until_failed("ReconciliationFailed", says=f"system:serviceaccount:{world.namespace}:nobody")
        assert not await world.config_map("a")


@pytest.mark.scenario("A23")
async def test_a_kubeconfig_that_sends_elsewhere_is_refused(world: World) -> None:
    await make_kubeconfig(world.cluster, "remote", more={"proxy-url": "http://127.0.0.1:1"})
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization(kubeConfig={"secretRef": {"name": "remote"}})
    await world.until_failed("ReconciliationFailed", says="proxy-url is not allowed")
    assert not await world.config_map("a")


@pytest.mark.scenario("A24")
async def test_an_account_that_is_made_anew_starts_with_nothing(world: World) -> None:
    account = await make_account(world.cluster, "deployer")
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization(serviceAccountName=account)
    await world.until_applied("v1")
    for resource in (ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS):
        await world.client.delete(resource, account, world.namespace)
    await world.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": account}}, namespace=world.namespace)
    await world.source("v2", {"a.yaml": config_map("a", {"key": "new"})})
    await world.until_failed("ReconciliationFailed", says=f"system:serviceaccount:{world.namespace}:deployer")
    found = await world.config_map("a")
    assert found is not None
    assert found["data"] == {"key": "value"}


class TestEscalation:
    RULES: list[dict[str, Any]] = [  # noqa: RUF012 - never changed
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["*"]},
    ]

    @pytest.mark.scenario("A25")
    async def test_by_roles_of_ones_own_set_applies_nothing(self, world: World) -> None:
        account = await make_account(world.cluster, "deployer", rules=self.RULES)
        role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: more}\nrules:\n"
        role += "  - {apiGroups: [''], resources: [secrets], verbs: ['*']}\n"
        binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: more}\n"
        binding += "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: more}\n"
        binding += f"subjects: [{{kind: ServiceAccount, name: {account}, namespace: {world.namespace}}}]\n"
        files = {"role.yaml": role, "binding.yaml": binding, "a.yaml": config_map("a"), "b.yaml": secret("b")}
        await world.source("v1", files)
        await world.kustomization(serviceAccountName=account)
        await world.until_failed("ReconciliationFailed")
        assert not await world.config_map("a"), "one object is refused: nothing is applied"
        assert not await world.secret("b")
        assert not await world.get(ROLES, "more")

    @pytest.mark.scenario("A25")
    async def test_by_labels_of_another_owner(self, world: World) -> None:
        """Labels in the source cannot make an object somebody else's: ours are written over them."""
        await world.source("v1", {"a.yaml": config_map("a")}, name="victim")
        await world.kustomization("victim", sourceRef={"kind": "GitRepository", "name": "victim"})
        await world.until_applied("v1", name="victim")
        prefix = "  kustomize.toolkit.fluxcd.io"
        labels = f"labels:\n{prefix}/name: victim\n{prefix}/namespace: {world.namespace}\n"
        await world.source("v1", {"b.yaml": config_map("b", metadata=labels)})
        await world.kustomization()
        await world.until_applied("v1")
        found = await world.config_map("b")
        assert found is not None
        assert found["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == "apps"


class TestLockedDown:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, cross_namespace_references=False)

    @pytest.mark.scenario("A26")
    async def test_children_are_bound_as_well(self, world: World, other_namespace: str) -> None:
        child = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "child", "namespace": world.namespace},
            "spec": {
                "interval": "1h",
                "prune": True,
                "sourceRef": {"kind": "GitRepository", "name": "apps", "namespace": other_namespace},
            },
        }
        await world.source("v1", {"a.yaml": config_map("foreign")}, namespace=other_namespace)
        await world.source("v1", {"child.yaml": json.dumps(child)})
        await world.kustomization()
        await world.until_applied("v1")
        await world.until_failed("AccessDenied", name="child", says="cross-namespace references have been blocked")

    @pytest.mark.scenario("A26")
    async def test_expressions_see_no_other_namespace(self, world: World, other_namespace: str) -> None:
        """A truth about another tenant's object is a way to read it, one question at a time."""
        spec = {
            "interval": "1h",
            "prune": True,
            "sourceRef": {"kind": "GitRepository", "name": "none"},
            "postBuild": {"substitute": {"password": PLANTED}},
        }
        body = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "theirs"},
            "spec": spec,
        }
        await world.client.create(KUSTOMIZATIONS, body, namespace=other_namespace)
        await world.source("v1", {"a.yaml": config_map("a")})
        oracle = "dep.spec.postBuild.substitute.password.startsWith('P')"
        depends = {"name": "theirs", "namespace": other_namespace, "readyExpr": oracle}
        await world.kustomization(dependsOn=[depends])
        await world.until_failed("AccessDenied", says="readyExpr")
        assert not await world.config_map("a")
        await world.change({"dependsOn": [{"name": "theirs", "namespace": other_namespace}]})
        await world.until_failed("DependencyNotReady", says="is not ready")


@pytest.mark.scenario("A27")
async def test_a_status_that_a_tenant_wrote_prunes_nothing_foreign(world: World) -> None:
    """Entries in the inventory are no proof: the object has to carry the labels of this very owner."""
    await world.source("v1", {"a.yaml": config_map("a")}, name="victim")
    await world.kustomization("victim", sourceRef={"kind": "GitRepository", "name": "victim"})
    await world.until_applied("v1", name="victim")
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "nobodys"}}, namespace=world.namespace)
    await world.source("v1", {"b.yaml": config_map("b")})
    await world.kustomization()
    await world.until_applied("v1")
    entries = [
        *world.status()["inventory"]["entries"],
        *({"id": f"{world.namespace}_{name}__ConfigMap", "v": "v1"} for name in ("a", "nobodys")),
        {"id": f"_{world.namespace}__Namespace", "v": "v1"},
        {"id": f"{world.namespace}_victim_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"},
    ]
    await world.write_status({"inventory": {"entries": entries}})
    await world.delete()
    await world.until_gone()
    assert not await world.config_map("b")
    for name in ("a", "nobodys"):
        assert await world.config_map(name)
    assert "deletionTimestamp" not in world.live("victim")["metadata"]
