"""From a tree to its objects: generate, build, decrypt, substitute."""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock.kustomize import BuildError, Options, build_result
from penstock.paths import FileError, LayeredTree
from penstock.render.confined import confined
from penstock.render.decryption import DecryptionFailed, decrypt_objects
from penstock.render.encrypted_sources import decrypt_sources, verify_resources
from penstock.render.errors import BuildFailed
from penstock.render.keys import keyring_of
from penstock.render.overlay import generate
from penstock.render.recipe import KeyMaterial, Recipe  # noqa: TC001  -- the worker pool reads the hints of `render`
from penstock.render.substitution import substituted
from penstock.sops import Keyring, SopsError
from penstock.yaml import YAMLError, dump

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a tree comes to."""

    objects: list[Object]
    """Built, decrypted and substituted, in the order of the build; nobody owns them yet."""
    digest: str
    """`sha256:...` of the objects as a stream of YAML documents."""
    cacheable: bool
    """False when something outside the tree was read, so that the next render may differ."""


def render(root: Path, recipe: Recipe, keyring: Keyring | None = None) -> Rendered:
    """The objects of the tree at `root`, which is only read. BuildFailed says what is wrong with it.

    Takes CPU and blocks: call it in a worker process, or in a thread. `keyring` is for keys that cannot travel.
    """
    folder, files = _generated(root, recipe)
    if recipe.keys is not None:
        keyring = keyring or _opened(recipe.keys)
        top = Path(os.path.realpath(root))
        files |= asyncio.run(_plain_sources(top, os.path.relpath(folder, top), recipe.keys, keyring, files))
    options = Options(restrict=False, reorder="none", remote=recipe.remote_bases, extend_schema=True)
    try:
        built = build_result(folder, tree=LayeredTree(root, files), options=options)
    except (BuildError, FileError) as error:
        raise BuildFailed(f"kustomize build failed: {_relative(str(error), root)}") from error
    objects = built.objects
    for obj in objects:
        _check(obj)
    if recipe.keys is not None and keyring is not None:
        objects = _decrypted(objects, recipe.keys, keyring)
    objects, digest = _finished(objects, recipe)
    return Rendered(objects, digest, cacheable=not built.remote)


def _generated(root: Path, recipe: Recipe) -> tuple[str, dict[str, bytes]]:
    """The directory to build, and the kustomization file to lay over it."""
    tree = LayeredTree(root)
    try:
        folder = tree.directory(str(confined(Path(tree.root), recipe.path)))
    except (FileError, DecryptionFailed):
        raise BuildFailed(
            f"kustomization path not found: stat {recipe.path}: no such file or directory", reason="ArtifactFailed"
        ) from None
    try:
        file, content = generate(tree, folder, recipe.overlay)
    except BuildFailed as error:
        raise BuildFailed(_relative(str(error), root)) from error
    return folder, {file: content}


def _opened(keys: KeyMaterial) -> Keyring:
    try:
        return keyring_of(keys)
    except SopsError as error:
        raise BuildFailed(str(error)) from error


async def _plain_sources(
    root: Path, path: str, keys: KeyMaterial, keyring: Keyring, files: dict[str, bytes]
) -> dict[str, bytes]:
    """The plain text of encrypted files that the build generates and patches from."""
    generated = {Path(name): content for name, content in files.items()}
    try:
        if keys.verify:
            await verify_resources(root, path, keyring, files=generated)
        found = await decrypt_sources(root, path, keyring, provider=keys.provider, verify=keys.verify, files=generated)
    except (DecryptionFailed, SopsError) as error:
        raise BuildFailed(str(error)) from error
    return {str(name): content for name, content in found.files.items()}


def _decrypted(objects: list[Object], keys: KeyMaterial, keyring: Keyring) -> list[Object]:
    try:
        return asyncio.run(decrypt_objects(objects, keyring, provider=keys.provider, verify=keys.verify))
    except (DecryptionFailed, SopsError) as error:
        raise BuildFailed(str(error)) from error


def _finished(objects: list[Object], recipe: Recipe) -> tuple[list[Object], str]:
    """The objects after substitution, and their digest. Each is written once, and again only if it changed."""
    variables = (recipe.variables or {}) if recipe.substitutes else None
    digest = hashlib.sha256()
    finished: list[Object] = []
    for index, obj in enumerate(objects):
        text = _text(obj)
        if variables is not None:
            made = substituted(obj, text, variables, strict=recipe.strict)
            if made is not obj:
                _check(made)
                obj, text = made, _text(made)
        finished.append(obj)
        digest.update(b"---\n" if index else b"")
        digest.update(text.encode())
    return finished, f"sha256:{digest.hexdigest()}"


def _text(obj: Object) -> str:
    try:
        return dump(obj)
    except (YAMLError, RecursionError) as error:
        raise BuildFailed(f"{_subject(obj)} cannot be written as YAML: {error}") from None


def _check(obj: Object) -> None:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not (obj.get("apiVersion") and obj.get("kind") and name):
        raise BuildFailed(f"failed to decode Kubernetes apiVersion, kind and name from: {_subject(obj)}")


def _subject(obj: Object) -> str:
    """What is there of the identity of an object, never its content."""
    metadata = obj.get("metadata")
    kept = (
        {key: metadata[key] for key in ("name", "namespace") if key in metadata} if isinstance(metadata, dict) else {}
    )
    shown = {key: obj[key] for key in ("apiVersion", "kind") if key in obj} | {"metadata": kept}
    return orjson.dumps(shown, default=str).decode()


def _relative(sentence: str, root: Path) -> str:
    """Where the tree lies on this machine is nobody's business."""
    for prefix in (str(root), os.path.realpath(root)):
        sentence = sentence.replace(f"{prefix}/", "").replace(prefix, ".")
    return sentence
