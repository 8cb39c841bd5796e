"""The short names under which a Kustomization remembers its objects.

An id is `<namespace>_<name>_<group>_<kind>`. The core group and the namespace of cluster-scoped objects are empty:
`default_app__Service`, `_demo__Namespace`.
"""

from typing import Annotated, NamedTuple

from penstock.api.wire import Wire, about
from penstock.errors import PenstockError

_RBAC = "rbac.authorization.k8s.io"
_RBAC_KINDS = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})


class InvalidInventoryId(PenstockError):
    """An inventory id that names no object."""


class Identity(NamedTuple):
    """One object, whatever its API version."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def id(self) -> str:
        """The id that `parse` reads back, except where an RBAC name already has `__` in it.

        Names of RBAC objects may hold colons, which are written as `__`. The ambiguity is part of the format.
        """
        rbac = self.group == _RBAC and self.kind in _RBAC_KINDS
        name = self.name.replace(":", "__") if rbac else self.name
        return f"{self.namespace}_{name}_{self.group}_{self.kind}"


def parse(entry_id: str) -> Identity:
    """The object that an id names: from both ends, since RBAC names may hold single underscores.

    `__` becomes `:` whatever the kind, as it does upstream.
    """
    namespace, first, rest = entry_id.partition("_")
    rest, last, kind = rest.rpartition("_")
    name, middle, group = rest.rpartition("_")
    if not (first and last and middle and name and kind):
        raise InvalidInventoryId(
            f"inventory entry {entry_id[:100]!r} is not <namespace>_<name>_<group>_<kind>; "
            f"it was not written by a controller, and nothing is deleted for it"
        )
    return Identity(group, kind, namespace, name.replace("__", ":"))


class InventoryEntry(Wire, frozen=True, kw_only=True):
    """One object that was applied."""

    id: Annotated[str, about("The object, as `<namespace>_<name>_<group>_<kind>`.")]
    v: Annotated[str, about("Version of the API it was applied with, without the group.")]

    @property
    def identity(self) -> Identity:
        return parse(self.id)


class Inventory(Wire, frozen=True, kw_only=True):
    """Everything that was applied, in the order of the apply."""

    entries: Annotated[tuple[InventoryEntry, ...], about("The objects, in the order of the apply.")]
