"""Custom resources: the kinds we speak, as Structs from which the CRDs and their reference are made.

A raw object comes in through `decode`, and is trusted from there on. Newer fields never break it. The Struct of a
kind lies in the module of its name: `penstock.api.kustomization.Kustomization`.
"""

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
