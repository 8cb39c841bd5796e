"""What identifies an object: group, version, kind, name and namespace."""

from functools import lru_cache
from typing import NamedTuple

CLUSTER = "_non_namespaceable_"  # the effective namespace of what lives outside namespaces
DEFAULT_NAMESPACE = "default"


class Gvk(NamedTuple):
    """Group, version and kind. In a selector, an empty part matches anything."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def selected_by(self, selector: "Gvk") -> bool:
        """Whether every part that the selector names is equal."""
        return (
            (not selector.kind or selector.kind == self.kind)
            and (not selector.group or selector.group == self.group)
            and (not selector.version or selector.version == self.version)
        )

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.kind or '[noKind]'}.{self.version or '[noVer]'}.{self.group or '[noGrp]'}"


class Id(NamedTuple):
    """An object among others. `namespace` is the effective one: `default` when none is given."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str

    def __str__(self) -> str:
        gvk = Gvk(self.group, self.version, self.kind)
        namespace = "[noNs]" if self.namespace in (CLUSTER, DEFAULT_NAMESPACE) else self.namespace
        return f"{gvk}/{self.name or '[noName]'}.{namespace}"


class Previous(NamedTuple):
    """A name that an object had before; group and version are those it has now."""

    namespace: str  # effective
    name: str
    kind: str


@lru_cache(maxsize=4096)
def gvk(api_version: str, kind: str) -> Gvk:
    """The parts of a type; everything behind the first slash is the version."""
    group, slash, version = api_version.partition("/")
    return Gvk(group, version, kind) if slash else Gvk("", api_version, kind)
