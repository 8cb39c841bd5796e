"""What the events of a Kustomization carry besides their text."""

from __future__ import annotations

from penstock.controllers.kustomization.settings import PREFIX


def metadata(revision: str, origin: str) -> dict[str, str]:
    """The revision that an event is about, as far as it is known."""
    facts = {f"{PREFIX}/revision": revision, f"{PREFIX}/originRevision": origin}
    return {key: value for key, value in facts.items() if value}
