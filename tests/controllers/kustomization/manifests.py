"""Manifests that the scenarios are made of."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def config_map(name: str, data: Mapping[str, str] | None = None, *, metadata: str = "") -> str:
    """A ConfigMap as YAML; `metadata` is more YAML for its metadata."""
    return _object("ConfigMap", name, data or {"key": "value"}, "data", metadata)


def secret(name: str, data: Mapping[str, str] | None = None, *, metadata: str = "", more: str = "") -> str:
    """A Secret with plain texts."""
    return _object("Secret", name, data or {"key": "value"}, "stringData", metadata) + more


def _object(kind: str, name: str, data: Mapping[str, str], field: str, metadata: str) -> str:
    lines = [f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n"]
    if metadata:
        lines.append(indent(metadata.rstrip("\n") + "\n", "  "))
    lines.append(f"{field}:\n")
    lines += [f"  {key}: {value!r}\n" for key, value in data.items()]
    return "".join(lines)


def crd_manifest(
    kind: str, group: str, *, plural: str = "", scope: str = "Namespaced", versions: tuple[str, ...] = ("v1",)
) -> str:
    """A CustomResourceDefinition whose objects may hold anything; the last version is stored."""
    plural = plural or f"{kind.lower()}s"
    if kind.endswith("y") and plural == f"{kind.lower()}s":
        plural = f"{kind.lower()[:-1]}ies"
    served = "".join(
        f"    - name: {version}\n      served: true\n      storage: {str(version == versions[-1]).lower()}\n"
        "      schema:\n        openAPIV3Schema:\n"
        "          type: object\n          x-kubernetes-preserve-unknown-fields: true\n"
        for version in versions
    )
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"metadata:\n  name: {plural}.{group}\n"
        f"spec:\n  group: {group}\n  scope: {scope}\n"
        f"  names:\n    kind: {kind}\n    plural: {plural}\n    singular: {kind.lower()}\n    listKind: {kind}List\n"
        f"  versions:\n{served}"
    )
