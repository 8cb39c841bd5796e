"""The fence between a run and the cluster: closed for good once somebody else owns the object."""

from __future__ import annotations

from penstock.errors import PenstockError


class OwnershipLost(PenstockError):
    """Another writer has taken over the object; this run must not write any more."""


class Fence:
    """Ask `check` before every write to a cluster. A fence that is closed never opens again.

    A closed parent (the lease of this process, say) closes all fences below it.
    """

    def __init__(self, parent: Fence | None = None) -> None:
        self._parent = parent
        self._why = ""

    @property
    def why(self) -> str:
        """The sentence with which the fence was closed; empty while it is open."""
        return self._why or (self._parent.why if self._parent else "")

    def close(self, why: str) -> None:
        """Refuse all writes from now on. The first reason stays."""
        self._why = self._why or why

    def check(self) -> None:
        """Raise OwnershipLost when the fence is closed."""
        if self.why:
            raise OwnershipLost(self.why)
