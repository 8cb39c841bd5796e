"""Where an object comes from, and what changed it.

An origin is made once per file or configuration and shared by all objects it concerns, so carrying it costs a
reference an object.
"""

import posixpath
from typing import NamedTuple

ORIGIN = "config.kubernetes.io/origin"
TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"


class Origin(NamedTuple):
    """A file, or the configuration of a generator or transformer.

    Paths are relative to the directory that is built, or to the root of the repository `repo`.
    """

    path: str = ""
    repo: str = ""
    ref: str = ""
    configured_in: str = ""
    api_version: str = ""  # of the configuration: `builtin` for the fields of a kustomization file
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def below(self, path: str) -> "Origin":
        """The origin of what a kustomization at this origin names with a local path."""
        if "./" in path or "//" in path or path.endswith(("/", ".")):
            return self._replace(path=posixpath.normpath(posixpath.join(self.path, path)))
        return Origin(f"{self.path}/{path}" if self.path else path, self.repo, self.ref)

    def configuration(self, file: str, kind: str) -> "Origin":
        """The origin of what a field of the kustomization file at this origin makes or changes."""
        return Origin(
            repo=self.repo,
            ref=self.ref,
            configured_in=posixpath.normpath(posixpath.join(self.path, file)),
            api_version="builtin",
            kind=kind,
        )

    def as_fields(self) -> dict[str, object]:
        """The fields as they appear in the annotation, in its order."""
        by = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
        }
        fields: dict[str, object] = {
            "path": self.path,
            "repo": self.repo,
            "ref": self.ref,
            "configuredIn": self.configured_in,
            "configuredBy": {key: value for key, value in by.items() if value},
        }
        return {key: value for key, value in fields.items() if value}
