"""Custom resources: the kinds we speak, as Structs from which the CRDs and their reference are made.

A raw object comes in through `decode`, and is trusted from there on. Newer fields never break it. The Struct of a
kind lies in the module of its name: `penstock.api.kustomization.Kustomization`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.api.convert import InvalidObject, decode
    from penstock.api.definitions import crd, crds
    from penstock.api.durations import Duration, InvalidDuration
    from penstock.api.kinds import KINDS, Kind, kind_of
    from penstock.api.wire import encode

__all__ = [
    "KINDS",
    "Duration",
    "InvalidDuration",
    "InvalidObject",
    "Kind",
    "crd",
    "crds",
    "decode",
    "encode",
    "kind_of",
]

_HOMES = {
    "KINDS": "penstock.api.kinds",
    "Duration": "penstock.api.durations",
    "InvalidDuration": "penstock.api.durations",
    "InvalidObject": "penstock.api.convert",
    "Kind": "penstock.api.kinds",
    "crd": "penstock.api.definitions",
    "crds": "penstock.api.definitions",
    "decode": "penstock.api.convert",
    "encode": "penstock.api.wire",
    "kind_of": "penstock.api.kinds",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for and no more: whoever reads a duration needs none of the kinds."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
