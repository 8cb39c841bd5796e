"""A complete `kustomize build` in Python, usable on its own.

`build` takes a directory, on disk or in memory, and returns plain objects; `build_result` also says where
each of them comes from. Everything runs in this process: no plugin, container or command is ever started for
a build.
"""

from penstock.kustomize.build import Built, Result, build, build_result
from penstock.kustomize.cache import Cache
from penstock.kustomize.context import Options
from penstock.kustomize.errors import (
    BuildError,
    FieldError,
    KustomizationError,
    LoadError,
    PatchError,
    ResourceError,
)
from penstock.kustomize.origin import Origin

__all__ = [
    "BuildError",
    "Built",
    "Cache",
    "FieldError",
    "KustomizationError",
    "LoadError",
    "Options",
    "Origin",
    "PatchError",
    "ResourceError",
    "Result",
    "build",
    "build_result",
]
