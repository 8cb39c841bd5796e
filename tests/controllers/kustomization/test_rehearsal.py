"""What a rehearsal promises is what the running controller then does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.apply.fieldchanges import HIDDEN
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.rehearsal import artifact_of, compare, inputs_of, rehearse
from penstock.kube.resources import CONFIG_MAPS
from tests.controllers.kustomization.manifests import config_map, secret

if TYPE_CHECKING:
    from penstock.apply import Preview
    from tests.controllers.kustomization.world import World


async def promised(world: World) -> Preview:
    """What a run would change now, from the artifact and the status that the cluster has."""
    obj = await world.client.get(KUSTOMIZATIONS, "apps", world.namespace)
    kustomization = decode(obj, Kustomization)
    inputs = await inputs_of(world.client, kustomization)
    async with artifact_of(world.client, kustomization) as root:
        return await compare(world.client, kustomization, await rehearse(kustomization, root, inputs))


async def test_from_the_first_revision_to_the_next(world: World) -> None:
    first = {"a.yaml": config_map("a", {"k": "1"}), "b.yaml": config_map("b"), "s.yaml": secret("s", {"p": "1"})}
    await world.source("v1.0.0", first)
    await world.kustomization(prune=True)
    await world.until_applied("v1.0.0")
    assert not await promised(world), "what was applied is as it should be"

    await world.change({"suspend": True})
    await world.client.patch(CONFIG_MAPS, "a", world.namespace, {"data": {"mine": "1"}}, manager="kubectl-edit")
    (drift,) = await promised(world)
    assert (drift.ref.name, [str(field) for field in drift.fields]) == ("a", ["data.mine"])

    second = {"a.yaml": config_map("a", {"k": "2"}), "c.yaml": config_map("c"), "s.yaml": secret("s", {"p": "2"})}
    await world.source("v2.0.0", second)
    found = await promised(world)
    actions = {one.ref.name: one.action for one in found}
    assert actions == {"a": "configured", "s": "configured", "c": "created", "b": "deleted"}
    assert {field.after for one in found if one.ref.name == "s" for field in one.fields} == {HIDDEN}
    await world.change({"suspend": False})
    await world.until_applied("v2.0.0")
    assert not await promised(world)
    assert (await world.client.get(CONFIG_MAPS, "a", world.namespace))["data"] == {"k": "2"}
