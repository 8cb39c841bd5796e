"""What a run would apply, worked out beside the controller: for a person who asks before it happens.

The files may be the artifact of the source or a directory of one's own, which is only read. Variables and keys are
those that the controller would use, as far as whoever asks may read them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.controllers.kustomization.references import References
from penstock.controllers.kustomization.settings import Settings
from penstock.errors import PenstockError
from penstock.kube import ObjectRef
from penstock.kube.errors import Forbidden, NotFound
from penstock.render import BuildFailed, KeyMaterial, Recipe, merge_variables, owned, prepare, render
from penstock.render.masking import is_masked, masked, masked_ciphertext

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.api.kustomization import Kustomization
    from penstock.kube import Client, Object
    from penstock.sops import Keyring


@dataclass(frozen=True, slots=True)
class Inputs:
    """What decides a build besides the files and the spec."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    keys: KeyMaterial | None = None
    keyring: Keyring | None = field(default=None, repr=False)
    """Keys of the person who asks, instead of those that the spec names."""
    strict: bool = True
    remote_bases: bool = True
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The objects that a run would apply."""

    objects: list[Object] = field(repr=False)
    """Just as they would be sent. Without keys, encrypted values are masked: such an object must not be applied."""
    written: list[Object] = field(repr=False)
    """The same for people: as they were written, not in the form of a Go client."""
    shown: list[Object]
    """That with everything masked that came out of encrypted files."""
    hidden: frozenset[ObjectRef]
    """The objects with such values."""
    opaque: frozenset[ObjectRef] = frozenset()
    """Those whose values nobody could decrypt."""


async def inputs_of(
    client: Client,
    kustomization: Kustomization,
    *,
    keyring: Keyring | None = None,
    strict: bool = True,
    settings: Settings | None = None,
) -> Inputs:
    """What the cluster has to say; who may not read the keys gets a warning, and encrypted values stay so."""
    references = References(client, settings or Settings())
    variables = await references.variables(kustomization)
    if keyring is not None or kustomization.spec.decryption is None:
        return Inputs(variables, keyring=keyring, strict=strict)
    if kustomization.spec.decryption.secret_ref is None:
        return Inputs(
            variables, strict=strict, warnings=("encrypted values stay so: the controller's own keys open them",)
        )
    try:
        keys = await references.keys(kustomization)
        keyring = await references.account_keyring(kustomization)
    except PenstockError as error:
        if not isinstance(error, NotFound) and not isinstance(error.__cause__, Forbidden | NotFound):
            raise
        return Inputs(variables, strict=strict, warnings=(f"encrypted values stay so: {error}",))
    return Inputs(variables, keys, keyring, strict=strict)


def offline_inputs(kustomization: Kustomization, *, keyring: Keyring | None = None, strict: bool = False) -> Inputs:
    """What is known without a cluster: the variables that the spec has itself."""
    after = kustomization.spec.post_build
    variables = merge_variables((), after.substitute) if after else {}
    warnings: tuple[str, ...] = ()
    if after and after.substitute_from:
        names = ", ".join(f"{one.kind}/{one.name}" for one in after.substitute_from)
        warnings = (f"variables of {names} are not known without a cluster",)
    return Inputs(variables, keyring=keyring, strict=strict, warnings=warnings)


async def rehearse(kustomization: Kustomization, root: Path, inputs: Inputs) -> Rehearsed:
    """The objects of the tree at `root`, which is only read; BuildFailed says what is wrong with it."""
    return await asyncio.to_thread(rehearse_now, kustomization, root, inputs)


def rehearse_now(kustomization: Kustomization, root: Path, inputs: Inputs) -> Rehearsed:
    """The same, while the caller waits."""
    spec = kustomization.spec
    keys = inputs.keys
    if inputs.keyring is not None and spec.decryption is not None:
        keys = keys or KeyMaterial(provider=spec.decryption.provider)
    open_recipe, closed_recipe = (
        Recipe.of(spec, variables=inputs.variables, keys=chosen, strict=inputs.strict, remote_bases=inputs.remote_bases)
        for chosen in (keys, None)
    )
    if keys is None:
        return _without_keys(kustomization, render(root, closed_recipe).objects)
    built = render(root, open_recipe, inputs.keyring).objects
    shown = _owned(kustomization, masked(built, _built_without_keys(root, closed_recipe)))
    return Rehearsed(_prepared(kustomization, built), _owned(kustomization, built), shown, _masked_refs(shown))


def _built_without_keys(root: Path, recipe: Recipe) -> list[Object] | None:
    try:
        return render(root, recipe).objects
    except BuildFailed:
        return None  # ciphertext in a patch need not make sense where it lands


def _without_keys(kustomization: Kustomization, built: list[Object]) -> Rehearsed:
    if kustomization.spec.decryption is None:
        objects, written = _prepared(kustomization, built), _owned(kustomization, built)
        return Rehearsed(objects, written, written, frozenset())
    closed = masked_ciphertext(built)
    shown = _owned(kustomization, closed)
    refs = _masked_refs(shown)
    return Rehearsed(_prepared(kustomization, closed), shown, shown, refs, refs)


def _prepared(kustomization: Kustomization, objects: list[Object]) -> list[Object]:
    """In the form that is sent; fails for a Secret that is still encrypted, as a run would."""
    metadata, common = kustomization.metadata, kustomization.spec.common_metadata
    return prepare(objects, name=metadata.name, namespace=metadata.namespace, common_metadata=common)


def _owned(kustomization: Kustomization, objects: list[Object]) -> list[Object]:
    metadata, common = kustomization.metadata, kustomization.spec.common_metadata
    return owned(objects, name=metadata.name, namespace=metadata.namespace, common_metadata=common)


def _masked_refs(objects: list[Object]) -> frozenset[ObjectRef]:
    return frozenset(ObjectRef.of(obj) for obj in objects if is_masked(obj))
