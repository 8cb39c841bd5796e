"""`penstock diff`: what applying a Kustomization would change, and whether files differ from an artifact."""

from __future__ import annotations

import typer

from penstock.cli.artifacts import diff_artifact
from penstock.cli.diff_kustomization import diff_kustomization
from penstock.cli.full import for_typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.command("kustomization")(for_typer(diff_kustomization))
app.command("ks", hidden=True)(for_typer(diff_kustomization))
app.command("artifact")(diff_artifact)
