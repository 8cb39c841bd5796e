"""The variables of a Kustomization, from the objects it names and from its own text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.render.errors import SubstitutionFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAME = re.compile(r"[_A-Za-z][_A-Za-z0-9]*\Z")
_SHOWN = "^[_[:alpha:]][_[:alpha:][:digit:]]*$"


def merge_variables(sources: Iterable[Mapping[str, str | bytes]], own: Mapping[str, str]) -> dict[str, str]:
    """The data of the objects in their order, later ones win, then the own ones, which win over all.

    Newlines are removed from every value. SubstitutionFailed for a name that no expression could use.
    """
    merged: dict[str, str] = {}
    for source in (*sources, own):
        for name, value in source.items():
            if not _NAME.match(name):
                raise SubstitutionFailed(f"'{name}' var name is invalid, must match '{_SHOWN}'")
            text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
            merged[name] = text.replace("\n", "")
    return merged
