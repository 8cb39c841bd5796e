"""What happens, as plain lines: for logs, pipes and CI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.output import say
from penstock.cli.up.state import Phase

if TYPE_CHECKING:
    from penstock.cli.up.state import Item, State
    from penstock.kube import ObjectRef

MARKS = {Phase.READY: "✔", Phase.FAILED: "✗", Phase.WAITING: "◌", Phase.WORKING: "►", Phase.SUSPENDED: "‖"}
_TOLD = frozenset((Phase.READY, Phase.FAILED, Phase.SUSPENDED))
"""What is on its way is no news."""


class Lines:
    """Says once what each object has come to."""

    def __init__(self) -> None:
        self._told: dict[ObjectRef, str] = {}

    def show(self, state: State) -> None:
        for item in state.items:
            line = told(item)
            if item.phase in _TOLD and self._told.get(item.ref) != line:
                self._told[item.ref] = line
                say(line)
        for ref in self._told.keys() - {item.ref for item in state.items}:
            del self._told[ref]
            say(f"- {ref.kind}/{ref.namespace}/{ref.name} is gone")


def told(item: Item) -> str:
    """One object in one line."""
    return f"{MARKS[item.phase]} {item.ref.kind}/{item.name}: {item.message or item.phase}"
