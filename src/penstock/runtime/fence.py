"""The fence between a run and the cluster: closed for good once somebody else owns the object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable


class OwnershipLost(PenstockError):
    """Another writer has taken over the object; this run must not write any more."""


class Fence:
    """Ask `check` before every write to a cluster. A fence that is closed never opens again.

    A closed parent (the lease of this process, say) closes all fences below it.
    """

    def __init__(self, parent: Fence | None = None) -> None:
        self._parent = parent
        self._why = ""
        self._holds: Callable[[], bool] | None = None
        self._otherwise = ""

    @property
    def why(self) -> str:
        """The sentence with which the fence was closed; empty while it is open."""
        if not self._why and self._holds is not None and not self._holds():
            self.close(self._otherwise)
        return self._why or (self._parent.why if self._parent else "")

    def close(self, why: str) -> None:
        """Refuse all writes from now on. The first reason stays."""
        self._why = self._why or why

    def close_unless(self, holds: Callable[[], bool], why: str) -> None:
        """Close as soon as somebody looks and `holds` says no: also after a pause in which nobody could tell us."""
        self._holds, self._otherwise = holds, why

    def check(self) -> None:
        """Raise OwnershipLost when the fence is closed."""
        if self.why:
            raise OwnershipLost(self.why)
