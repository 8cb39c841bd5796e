"""Labels and annotations that share a node."""

from typing import Any


class Shared:
    """A label or annotation that one transformer put into several places.

    kustomize puts the same node there, so that whatever changes it later in one place changes it in all of them.
    """

    __slots__ = ("key", "places", "value")

    def __init__(self, key: str, value: str, places: list[dict[str, Any]]) -> None:
        self.key = key
        self.value: Any = value
        self.places = places

    def spread(self) -> None:
        """Carry a change in one place over to the others."""
        found = [place[self.key] for place in self.places if self.key in place]
        changed = next((value for value in found if value != self.value), self.value)
        if changed != self.value:
            self.value = changed
            for place in self.places:
                if self.key in place:
                    place[self.key] = changed
