"""What a run would change in the cluster that a Kustomization applies to. Nothing is written."""

from __future__ import annotations

import base64
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.apply import ApplyFailed, Discretion, Owner
from penstock.apply.refusals import HIDDEN, SHORT
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.references import References
from penstock.controllers.kustomization.settings import Settings
from penstock.controllers.kustomization.target import Targets
from penstock.kube import ObjectRef
from penstock.kube.errors import KubeError, NotFound
from penstock.render.masking import ENCODED_MASK, MASK

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.apply import Preview
    from penstock.controllers.kustomization.rehearsal.building import Rehearsed
    from penstock.kube import Client, Object

_STAND_INS = {
    ".dockerconfigjson": base64.b64encode(b'{"auths":{}}').decode(),
    ".dockercfg": base64.b64encode(b"{}").decode(),
}
"""Values that the API server looks into: a mask would be refused."""


async def compare(
    client: Client,
    kustomization: Kustomization,
    rehearsed: Rehearsed,
    *,
    as_account: bool = False,
    reveal: bool = False,
    settings: Settings | None = None,
) -> Preview:
    """What applying these objects, and pruning what is no longer among them, would change.

    Asked with one's own rights; `as_account` asks as the service account that the controller would use, for which one
    has to be allowed to impersonate it. An object that could not be decrypted is compared by its keys.
    """
    settings = settings or Settings()
    spec = kustomization.spec
    if not as_account:
        spec = msgspec.structs.replace(spec, service_account_name="")
    acting = msgspec.structs.replace(kustomization, spec=spec)
    async with _targets(client, settings) as targets, targets.open(acting) as target:
        objects = [await _filled(target.client, obj, rehearsed) for obj in rehearsed.objects]
        try:
            return await target.applier.preview(
                objects,
                owner=Owner(kustomization.metadata.name, kustomization.metadata.namespace),
                force=spec.force,
                ignore=spec.ignore,
                before=kustomization.status.inventory,
                prunes=spec.prune,
                discretion=Discretion(hidden=rehearsed.hidden, reveal=reveal),
            )
        except ApplyFailed as error:
            problems = [_discreet(problem, rehearsed.secrets) for problem in error.problems]
            raise ApplyFailed(problems, error.changes, reason=error.reason) from None


def _discreet(message: str, secrets: frozenset[str]) -> str:
    """The message without secret texts; a server quotes what it refuses. Short ones count only as whole words."""
    wanted = sorted(filter(None, secrets), key=len, reverse=True)
    if not wanted:
        return message
    patterns = (re.escape(text) if len(text) >= SHORT else rf"\b{re.escape(text)}\b" for text in wanted)
    return re.sub("|".join(patterns), HIDDEN, message)


async def with_status(client: Client, kustomization: Kustomization) -> Kustomization:
    """The Kustomization with the status that the cluster has for it, if it knows it: the inventory stands there."""
    metadata = kustomization.metadata
    try:
        live = decode(await client.get(KUSTOMIZATIONS, metadata.name, metadata.namespace), Kustomization)
    except NotFound:
        return kustomization
    return msgspec.structs.replace(kustomization, status=live.status)


@asynccontextmanager
async def _targets(client: Client, settings: Settings) -> AsyncGenerator[Targets]:
    targets = Targets(client, References(client, settings), settings)
    try:
        yield targets
    finally:
        await targets.close()


async def _filled(client: Client, obj: Object, rehearsed: Rehearsed) -> Object:
    """An object that could not be decrypted, with the values that are there already: only its keys are compared."""
    ref = ObjectRef.of(obj)
    if ref not in rehearsed.opaque:
        return obj
    try:
        resource = await client.discovery.resource(obj["apiVersion"], ref.kind)
        live: Object = await client.get(resource, ref.name, ref.namespace or None)
    except KubeError:
        live = {}  # not there, or not to be read: the dry-run tells more
    filled: Object = _with_known(obj, live)
    return filled


def _with_known(value: Any, live: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        known = live if isinstance(live, dict) else {}
        return {name: _with_known(item, known.get(name), name) for name, item in value.items()}
    if isinstance(value, list):
        items = live if isinstance(live, list) and len(live) == len(value) else [None] * len(value)
        return [_with_known(item, known) for item, known in zip(value, items, strict=True)]
    if value not in (MASK, ENCODED_MASK):
        return value
    return live if live is not None else _STAND_INS.get(key, value)
