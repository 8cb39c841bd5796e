"""`penstock kinds` and `penstock crds`: the custom resources that Penstock knows."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from penstock.api import KINDS, Kind, crd
from penstock.api import crds as all_crds
from penstock.cli.access import OutputOption
from penstock.cli.flags import Argument
from penstock.cli.output import Column, View, documents

_VIEW: View[Kind] = View(
    columns=[
        Column("KIND", lambda kind: kind.kind),
        Column("APIVERSION", lambda kind: kind.api_version),
        Column("SHORTNAMES", lambda kind: ",".join(kind.short_names)),
        Column("STATE", lambda kind: _state(kind)),
        Column("OLDER", lambda kind: ",".join(older.version for older in kind.older), wide=True),
        Column("CATEGORIES", lambda kind: ",".join(kind.categories), wide=True),
    ],
    name=lambda kind: kind.crd_name,
    data=lambda kind: _data(kind),
)


def kinds(output: OutputOption = None) -> int:
    """A kind that is not handled yet can be applied and is stored, but nothing acts on it."""
    sys.stdout.write(_VIEW.render(KINDS.values(), output))
    return 0


def crds(
    names: Annotated[list[str] | None, Argument(metavar="KIND", help="Only these kinds.")] = None,
    output: OutputOption = None,
) -> int:
    """For example: penstock crds | kubectl apply --server-side -f -"""
    chosen = [crd(name) for name in names] if names else all_crds()
    sys.stdout.write(documents(chosen, output))
    return 0


def _state(kind: Kind) -> str:
    return "handled" if kind.handled else "not handled yet"


def _data(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "plural": kind.plural,
        "shortNames": list(kind.short_names),
        "categories": list(kind.categories),
        "olderVersions": [older.version for older in kind.older],
        "handled": kind.handled,
    }
