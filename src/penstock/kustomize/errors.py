"""Why a build failed.

BuildError
├── KustomizationError   a kustomization file, or a configuration it names, is wrong
├── LoadError            something that is named could not be read
├── ResourceError        a manifest is not a Kubernetes object, or appears twice
├── PatchError           a patch cannot be read or applied
└── FieldError           a transformer met a value that it cannot change
"""

from penstock.errors import PenstockError


class BuildError(PenstockError):
    """The tree cannot be built as it stands."""


class KustomizationError(BuildError):
    """A kustomization file, or a configuration it names, is wrong."""


class LoadError(BuildError):
    """Something that a kustomization names could not be read."""


class ResourceError(BuildError):
    """A manifest is not a Kubernetes object, or an object appears twice."""


class PatchError(BuildError):
    """A patch cannot be read, finds nothing, or does not fit what it finds."""


class FieldError(BuildError):
    """A transformer met a value that it cannot change."""
