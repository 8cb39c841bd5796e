"""What a run would apply, worked out beside the controller: for a person who asks before it happens.

The files may be the artifact of the source or a directory of one's own, which is only read. Variables and keys are
those that the controller would use, as far as whoever asks may read them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from penstock.controllers.kustomization.references import References
from penstock.controllers.kustomization.settings import Settings
from penstock.errors import PenstockError
from penstock.kube import ObjectRef
from penstock.kube.errors import Forbidden, NotFound
from penstock.render import BuildFailed, KeyMaterial, Recipe, merge_variables, owned, prepare, render, verifies_mac
from penstock.render.masking import hidden_values, is_masked, masked, masked_ciphertext

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.api.kustomization import Kustomization, KustomizationSpec
    from penstock.kube import Client, Object
    from penstock.sops import Keyring

PLACEHOLDER = "hidden-variable"
"""What stands for a secret variable in a build that is only compared with; a word that no YAML takes amiss."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What decides a build besides the files and the spec."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    public: Mapping[str, str] | None = None
    """The variables without those that Secrets hold; None: all are public."""
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
    """That with everything masked that came out of encrypted files, or from variables of Secrets."""
    hidden: frozenset[ObjectRef]
    """The objects with such values."""
    opaque: frozenset[ObjectRef] = frozenset()
    """Those whose values nobody could decrypt."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """The texts behind the masks; no message may quote them."""


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
    given = Inputs(
        await references.variables(kustomization),
        await references.variables(_without_secrets(kustomization)),
        keyring=keyring,
        strict=strict,
    )
    if keyring is not None or kustomization.spec.decryption is None:
        return given
    if kustomization.spec.decryption.secret_ref is None:
        return replace(given, warnings=("encrypted values stay so: the controller's own keys open them",))
    try:
        keys = await references.keys(kustomization)
    except PenstockError as error:
        if not isinstance(error, NotFound) and not isinstance(error.__cause__, Forbidden | NotFound):
            raise
        return replace(given, warnings=(f"encrypted values stay so: {error}",))
    return replace(given, keys=keys)


def _without_secrets(kustomization: Kustomization) -> Kustomization:
    """The same with no variables but those that anybody may see."""
    after = kustomization.spec.post_build
    if after is None:
        return kustomization
    kept = tuple(one for one in after.substitute_from if one.kind != "Secret")
    spec = msgspec.structs.replace(kustomization.spec, post_build=msgspec.structs.replace(after, substitute_from=kept))
    return msgspec.structs.replace(kustomization, spec=spec)


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
    spec, keys = kustomization.spec, inputs.keys
    if inputs.keyring is not None and spec.decryption is not None:
        verify = verifies_mac(kustomization.metadata.annotations)
        keys = keys or KeyMaterial(provider=spec.decryption.provider, verify=verify)
    built = render(root, _recipe(spec, inputs, keys, inputs.variables), inputs.keyring).objects
    stays_closed = spec.decryption is not None and keys is None
    if stays_closed:
        built = masked_ciphertext(built)
    opaque = _masked_refs(built) if stays_closed else frozenset[ObjectRef]()
    shown = built
    if keys is not None or _public(inputs) != inputs.variables:
        shown = masked(built, _seen_by_anybody(root, _recipe(spec, inputs, None, _public(inputs)), closed=stays_closed))
    objects, written = _prepared(kustomization, built), _owned(kustomization, built)
    secrets = hidden_values(built, shown)
    return Rehearsed(objects, written, _owned(kustomization, shown), _masked_refs(shown), opaque, secrets)


def _recipe(spec: KustomizationSpec, inputs: Inputs, keys: KeyMaterial | None, variables: Mapping[str, str]) -> Recipe:
    return Recipe.of(spec, variables=variables, keys=keys, strict=inputs.strict, remote_bases=inputs.remote_bases)


def _public(inputs: Inputs) -> Mapping[str, str]:
    """The variables as anybody may see them: a placeholder stands for what only Secrets tell."""
    if inputs.public is None:
        return inputs.variables
    return {name: inputs.public.get(name, PLACEHOLDER) for name in inputs.variables}


def _seen_by_anybody(root: Path, recipe: Recipe, *, closed: bool) -> list[Object] | None:
    """The same build without keys and secret variables; None when it makes no sense that way."""
    try:
        built = render(root, recipe).objects
    except BuildFailed:
        return None  # ciphertext in a patch need not make sense where it lands
    return masked_ciphertext(built) if closed else built


def _prepared(kustomization: Kustomization, objects: list[Object]) -> list[Object]:
    """In the form that is sent; fails for a Secret that is still encrypted, as a run would."""
    metadata, common = kustomization.metadata, kustomization.spec.common_metadata
    return prepare(objects, name=metadata.name, namespace=metadata.namespace, common_metadata=common)


def _owned(kustomization: Kustomization, objects: list[Object]) -> list[Object]:
    metadata, common = kustomization.metadata, kustomization.spec.common_metadata
    return owned(objects, name=metadata.name, namespace=metadata.namespace, common_metadata=common)


def _masked_refs(objects: list[Object]) -> frozenset[ObjectRef]:
    return frozenset(ObjectRef.of(obj) for obj in objects if is_masked(obj))
