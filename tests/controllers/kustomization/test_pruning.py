"""What is ours, and what becomes of it: scenarios of section 22.8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube.resources import CONFIG_MAPS, SECRETS
from tests.controllers.kustomization.identities import make_account, remove_account
from tests.controllers.kustomization.manifests import config_map, secret

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.controllers.kustomization.world import World

PREFIX = "kustomize.toolkit.fluxcd.io"


def pair(name: str, *, metadata: str = "", data: dict[str, str] | None = None) -> dict[str, str]:
    """A ConfigMap, with more metadata, and a Secret of one name."""
    return {"config.yaml": config_map(name, data, metadata=metadata), "secret.yaml": secret(name, data)}


async def annotate(world: World, name: str, **annotations: str | None) -> None:
    body: Object = {"metadata": {"annotations": {f"{PREFIX}/{key}": value for key, value in annotations.items()}}}
    await world.client.patch(CONFIG_MAPS, name, world.namespace, body)


class TestInventory:
    @pytest.mark.scenario("22.8 Inventory/1", "22.8 Inventory/2", "22.8 Inventory/3", "22.8 Inventory/4")
    async def test_follows_what_is_applied_and_leaves_alone_what_says_so(self, world: World) -> None:
        await world.source("v1", pair("first"))
        await world.kustomization(wait=True, timeout="1s")
        await world.until_applied("v1")
        place = world.namespace
        assert sorted(world.inventory()) == [f"{place}_first__ConfigMap", f"{place}_first__Secret"]
        assert {entry["v"] for entry in world.status()["inventory"]["entries"]} == {"v1"}

        await world.client.patch(CONFIG_MAPS, "first", place, {"data": {"key": "edited"}})
        await annotate(world, "first", reconcile="disabled")
        await world.source("v2", pair("first"))
        await world.until_applied("v2")
        assert (await world.client.get(CONFIG_MAPS, "first", place))["data"] == {"key": "edited"}

        await annotate(world, "first", reconcile="enabled")
        await world.source("v3", pair("first"))
        await world.until_applied("v3")
        assert (await world.client.get(CONFIG_MAPS, "first", place))["data"] == {"key": "value"}

        await annotate(world, "first", reconcile="disabled")
        await world.source("v4", pair("second"))
        await world.until_applied("v4")
        assert sorted(world.inventory()) == [f"{place}_second__ConfigMap", f"{place}_second__Secret"]
        assert not await world.secret("first")
        assert await world.config_map("first")

    async def test_has_everything_that_a_failed_first_run_may_have_made(self, world: World) -> None:
        """Upstream forgets it; here the inventory is written before the first object is."""
        role = (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b}\n"
            "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Wrong, name: x}\nsubjects: []\n"
        )
        await world.source("v1", {"config.yaml": config_map("a"), "binding.yaml": role})
        await world.kustomization()
        await world.until_failed("ReconciliationFailed")
        assert not await world.config_map("a"), "one object is refused: nothing is applied"

    @pytest.mark.scenario("A27")
    async def test_entries_that_a_tenant_wrote_delete_nothing_foreign(self, world: World) -> None:
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "foreign"}}, namespace=world.namespace)
        await world.source("v1", pair("a"))
        await world.kustomization()
        await world.until_applied("v1")
        entries = [
            *world.status()["inventory"]["entries"],
            {"id": f"{world.namespace}_foreign__ConfigMap", "v": "v1"},
            {"id": "nonsense", "v": "v1"},
        ]
        await world.write_status({"inventory": {"entries": entries}})
        await world.source("v2", pair("a"))
        await world.until_applied("v2")
        assert await world.config_map("foreign")
        assert len(world.inventory()) == 2


@pytest.mark.scenario("22.8 Prune/1", "22.8 Prune/2", "22.8 Prune/3", "22.8 Prune/4")
async def test_what_leaves_the_source_leaves_the_cluster_unless_it_says_no(world: World) -> None:
    kept = f"labels: {{{PREFIX}/prune: disabled}}"
    await world.source("v1.0.0", pair("first", metadata=kept))
    await world.kustomization()
    await world.until_applied("v1.0.0")
    await world.source("v2.0.0", {"secret.yaml": secret("second"), "config.yaml": config_map("first", metadata=kept)})
    await world.until_applied("v2.0.0")
    assert not await world.secret("first")
    await world.delete()
    await world.until_gone()
    assert not await world.secret("second")
    assert await world.config_map("first")


class TestWhatCannotBeDeleted:
    @pytest.mark.scenario("22.8 PruneFailedInventoryRetry/1")
    async def test_is_forgotten_once_the_server_has_accepted_it(self, world: World) -> None:
        held = "finalizers: [tests.penstock.dev/hold]"
        await world.source("v1", {"config.yaml": config_map("a", metadata=held)})
        await world.kustomization()
        await world.until_applied("v1")
        await world.source("v2", {})
        await world.until_applied("v2")
        assert world.inventory() == []
        left = await world.config_map("a")
        assert left is not None
        assert left["metadata"]["deletionTimestamp"]
        await world.client.patch(CONFIG_MAPS, "a", world.namespace, {"metadata": {"finalizers": None}})

    @pytest.mark.scenario("22.8 PruneFailedInventoryRetry/2")
    async def test_stays_in_the_inventory_and_is_tried_again(self, world: World) -> None:
        account = await make_account(
            world.cluster, "deployer", verbs=("get", "list", "watch", "create", "patch", "update")
        )
        await world.source("v1", pair("a"))
        await world.kustomization(serviceAccountName=account, retryInterval="1s")
        await world.until_applied("v1")
        await world.source("v2", {"secret.yaml": secret("a")})
        ready = await world.until_failed("PruneFailed")
        assert "delete failed" in ready["message"]
        assert f"{world.namespace}_a__ConfigMap" in world.inventory()
        assert world.status()["lastAppliedRevision"] == "v1"
        assert world.status()["history"][0]["lastReconciledStatus"] == "PruneFailed"
        await make_account(world.cluster, "deployer")
        await world.until_applied("v2")
        assert not await world.config_map("a")
        assert world.inventory() == [f"{world.namespace}_a__Secret"]


@pytest.mark.scenario("22.8 PruneEmpty/1", "22.8 PruneEmpty/2", "22.8 PruneEmpty/3", "22.8 PruneEmpty/4")
async def test_an_empty_source_empties_the_cluster(world: World) -> None:
    await world.source("v1.0.0", pair("a"))
    await world.kustomization(wait=True)
    await world.until_applied("v1.0.0")
    assert len(world.inventory()) == 2
    await world.source("v2.0.0", {})
    await world.until_applied("v2.0.0")
    assert world.inventory() == []
    await world.source("v3.0.0", {"kustomization.yaml": ""})
    await world.until_applied("v3.0.0")
    await world.change({"suspend": True})
    await world.delete()
    await world.until_gone()


@pytest.mark.scenario("22.8 PruneSkipNotOwned/1", "22.8 PruneSkipNotOwned/2", "22.8 PruneSkipNotOwned/3", "A25")
async def test_what_another_owner_has_taken_is_left(world: World) -> None:
    await world.source("v1", pair("a"))
    await world.kustomization()
    await world.until_applied("v1")
    labels = (await world.client.get(CONFIG_MAPS, "a", world.namespace))["metadata"]["labels"]
    assert labels == {f"{PREFIX}/name": "apps", f"{PREFIX}/namespace": world.namespace}
    taken: Any = {"metadata": {"labels": {f"{PREFIX}/name": "other"}}}
    await world.client.patch(CONFIG_MAPS, "a", world.namespace, taken)
    await world.delete()
    await world.until_gone()
    assert not await world.secret("a")
    assert await world.config_map("a")


@pytest.mark.scenario("22.8 PruneExcludesSSAIgnore/1", "22.8 PruneExcludesSSAIgnore/2")
async def test_what_is_ignored_is_never_pruned(world: World) -> None:
    await world.source("v1", pair("a"))
    await world.kustomization()
    await world.until_applied("v1")
    await annotate(world, "a", ssa="Ignore")
    await world.source("v2", {"secret.yaml": secret("a")})
    await world.until_applied("v2")
    assert await world.config_map("a")
    assert await world.secret("a")
    await world.delete()
    await world.until_gone()
    assert not await world.secret("a")
    assert await world.config_map("a")


@pytest.mark.scenario("22.8 PruneIncludesSSAIfNotPresent/1", "22.8 PruneIncludesSSAIfNotPresent/2")
async def test_what_is_only_created_is_pruned(world: World) -> None:
    once = f"annotations: {{{PREFIX}/ssa: IfNotPresent}}"
    await world.source("v1", pair("a", metadata=once))
    await world.kustomization()
    await world.until_applied("v1")
    await world.source("v1b", pair("a", metadata=once))
    await world.until_applied("v1b")
    await world.source("v2", {"secret.yaml": secret("a")})
    await world.until_applied("v2")
    assert not await world.config_map("a")
    for revision in ("v3", "v4"):
        await world.source(revision, pair("a", metadata=once))
        await world.until_applied(revision)
    await world.delete()
    await world.until_gone()
    assert not await world.config_map("a")
    assert not await world.secret("a")


@pytest.mark.parametrize(
    ("prune", "policy", "kept"),
    [
        pytest.param(
            *(False, "Delete", False),
            marks=pytest.mark.scenario("22.8 DeletionPolicy prune false + Delete"),
            id="Delete",
        ),
        pytest.param(
            *(False, "WaitForTermination", False),
            marks=pytest.mark.scenario("22.8 DeletionPolicy prune false + WaitForTermination"),
            id="WaitForTermination",
        ),
        pytest.param(
            *(True, "MirrorPrune", False),
            marks=pytest.mark.scenario("22.8 DeletionPolicy prune true + MirrorPrune"),
            id="MirrorPrune",
        ),
        pytest.param(
            *(True, "Orphan", True),
            marks=pytest.mark.scenario("22.8 DeletionPolicy prune true + Orphan"),
            id="Orphan",
        ),
        pytest.param(
            *(False, "MirrorPrune", True),
            marks=pytest.mark.scenario("22.8 DeletionPolicy prune false + MirrorPrune"),
            id="MirrorPrune without prune",
        ),
    ],
)
async def test_what_becomes_of_the_objects_of_a_kustomization_that_goes(
    world: World, prune: bool, policy: str, kept: bool
) -> None:
    await world.source("v1", {"config.yaml": config_map("a")})
    await world.kustomization(prune=prune, deletionPolicy=policy, timeout="5s")
    await world.until_applied("v1")
    await world.delete()
    await world.until_gone()
    assert bool(await world.config_map("a")) is kept


async def test_one_that_goes_does_not_tell_that_it_is_finished(world: World) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization()
    await world.until_applied("v1")
    await world.until_event(says="Reconciliation finished")
    await world.delete()
    await world.until_gone()
    await world.until_event(says=f"ConfigMap/{world.namespace}/a deleted")
    told = [one["message"] for one in await world.events() if "Reconciliation finished" in one["message"]]
    assert len(told) == 1


async def test_an_account_that_is_gone_does_not_hold_the_kustomization(world: World) -> None:
    account = await make_account(world.cluster, "deployer")
    await world.source("v1", {"config.yaml": config_map("a")})
    await world.kustomization(serviceAccountName=account)
    await world.until_applied("v1")
    await remove_account(world.cluster, account)
    await world.delete()
    await world.until_gone()
    assert await world.config_map("a"), "nobody had the right to delete it"
    assert any("unable to prune objects" in one["message"] for one in await world.until_told(3))


async def test_secrets_are_pruned_like_everything_else(world: World) -> None:
    await world.source("v1", {"secret.yaml": secret("a")})
    await world.kustomization()
    await world.until_applied("v1")
    assert (await world.client.get(SECRETS, "a", world.namespace))["data"] == {"key": "dmFsdWU="}
    await world.source("v2", {})
    await world.until_applied("v2")
    assert not await world.secret("a")
