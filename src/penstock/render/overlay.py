"""The kustomization file that a build starts with: the one in the tree, or one made up, with the overlay of the spec.

Nothing is written: the file is bytes, to be laid over the tree in memory.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.kustomize import BuildError
from penstock.kustomize.kustomization import NAMES, Kustomization
from penstock.kustomize.records import read
from penstock.paths import FileError
from penstock.render.errors import BuildFailed
from penstock.render.scan import resources_of
from penstock.yaml import YAMLError, config, dump

if TYPE_CHECKING:
    from penstock.api.kustomization import KustomizationSpec
    from penstock.api.references import Image, Patch
    from penstock.paths import LayeredTree

_TYPE = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_PLACEHOLDER = "_placeholder"
_REMOTE = re.compile(r"git::|gh:|ssh://|https?://|git@|github\.com[:/]|file:///|/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Overlay:
    """What a Kustomization lays over the kustomization file of its path."""

    target_namespace: str = ""
    name_prefix: str = ""
    name_suffix: str = ""
    patches: tuple[Patch, ...] = ()
    components: tuple[str, ...] = ()
    ignore_missing_components: bool = False
    images: tuple[Image, ...] = ()
    build_metadata: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: KustomizationSpec) -> Overlay:
        """From the fields of a spec."""
        return cls(
            target_namespace=spec.target_namespace,
            name_prefix=spec.name_prefix,
            name_suffix=spec.name_suffix,
            patches=spec.patches,
            components=spec.components,
            ignore_missing_components=spec.ignore_missing_components,
            images=spec.images,
            build_metadata=spec.build_metadata,
        )


def generate(tree: LayeredTree, folder: str, overlay: Overlay) -> tuple[str, bytes]:
    """The absolute name and the content of the kustomization file for a directory, a real name of the tree."""
    name = next((name for name in NAMES if _is_there(f"{folder}/{name}")), None)
    file = f"{folder}/{name or NAMES[0]}"
    content = _made_up(tree, folder) if name is None else _existing(tree, file)
    _lay_over(content, overlay, tree, folder)
    return file, dump(content).encode()


def is_local(component: str) -> bool:
    """Whether a component is a path in the same artifact; whether it exists is another question."""
    return not _REMOTE.match(component)


def _is_there(path: str) -> bool:
    return os.path.lexists(path) and not os.path.isdir(path)  # noqa: PTH112


def _made_up(tree: LayeredTree, folder: str) -> dict[str, Any]:
    resources = resources_of(tree, folder)
    return _TYPE | ({"resources": resources} if resources else {"namespace": _PLACEHOLDER})


def _existing(tree: LayeredTree, file: str) -> dict[str, Any]:
    """The file's fields as kustomize knows them; unknown ones are dropped."""
    name = os.path.relpath(file, tree.root)
    try:
        value = config(tree.read(file))
        record = read({} if value is None else value, Kustomization, name, lenient=True)
    except (YAMLError, FileError) as error:
        raise BuildFailed(f"{name}: {error}") from error
    except BuildError as error:
        raise BuildFailed(str(error)) from error
    content = _TYPE | record.written()
    if not content.get("resources"):
        # A file with neither is refused as empty by kustomize; Flux marks all of them in this way.
        content["buildMetadata"] = ["originAnnotations"]
    return content


def _lay_over(content: dict[str, Any], overlay: Overlay, tree: LayeredTree, folder: str) -> None:
    replaced = {
        "namespace": overlay.target_namespace,
        "namePrefix": overlay.name_prefix,
        "nameSuffix": overlay.name_suffix,
    }
    content.update({field: value for field, value in replaced.items() if value})
    _append(content, "patches", [_patch(patch) for patch in overlay.patches])
    _append(content, "components", _components(overlay, tree, folder))
    if overlay.images:
        content["images"] = merge_images(content.get("images") or [], overlay.images)
    if overlay.build_metadata:
        content["buildMetadata"] = list(overlay.build_metadata)


def _append(content: dict[str, Any], field: str, more: list[Any]) -> None:
    if more:
        content[field] = [*content.get(field, ()), *more]


def _patch(patch: Patch) -> dict[str, Any]:
    written: dict[str, Any] = {"patch": patch.patch}
    if patch.target is None:
        return written
    target = patch.target
    fields = {
        "group": target.group,
        "version": target.version,
        "kind": target.kind,
        "name": target.name,
        "namespace": target.namespace,
        "annotationSelector": target.annotation_selector,
        "labelSelector": target.label_selector,
    }
    return written | {"target": {name: value for name, value in fields.items() if value}}


def _components(overlay: Overlay, tree: LayeredTree, folder: str) -> list[str]:
    found: list[str] = []
    for component in overlay.components:
        if not is_local(component):
            raise BuildFailed(f"component path '{component}' must be local and relative")
        if not overlay.ignore_missing_components or _is_folder(tree, f"{folder}/{component}"):
            found.append(component)
    return found


def _is_folder(tree: LayeredTree, path: str) -> bool:
    try:
        tree.directory(path)
    except FileError:
        return False
    return True


def merge_images(existing: list[dict[str, Any]], images: tuple[Image, ...]) -> list[dict[str, Any]]:
    """The images of the file with those of the spec; a tag and a digest are replaced as a pair."""
    merged = [dict(image) for image in existing]
    for image in images:
        entry = next((one for one in merged if one.get("name") == image.name), None)
        if entry is None:
            entry = {"name": image.name}
            merged.append(entry)
        if image.new_name:
            entry["newName"] = image.new_name
        if image.new_tag or image.digest:
            entry |= {"newTag": image.new_tag, "digest": image.digest}
    return merged
