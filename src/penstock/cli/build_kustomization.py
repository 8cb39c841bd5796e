"""`penstock build kustomization`: the objects that a controller would apply."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.access import HOME, ContextOption, KubeconfigOption, NamespaceOption, TimeoutOption, ask, duration
from penstock.cli.artifact_access import patterns
from penstock.cli.full import for_typer
from penstock.cli.output import Output, documents, say
from penstock.cli.quiet import silent
from penstock.cli.rehearsing import (
    AgeKeyOption,
    FileOption,
    IgnoreOption,
    LocalSourceOption,
    Name,
    PathOption,
    RecursiveOption,
    Request,
    SecretsOption,
    StrictOption,
    acts,
)

if TYPE_CHECKING:
    from penstock.kube import Client, Object


def build_kustomization(
    name: Name,
    path: PathOption = None,
    file: FileOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask no cluster: variables and keys of it are not known.")
    ] = False,
    strict: StrictOption = None,
    age_key_file: AgeKeyOption = None,
    show_secrets: SecretsOption = False,
    recursive: RecursiveOption = False,
    local_source: LocalSourceOption = None,
    ignore_paths: IgnoreOption = None,
    output: Annotated[Output | None, typer.Option("-o", "--output", help="Another format than YAML.")] = None,
    in_memory_build: Annotated[
        bool, typer.Option("--in-memory-build", help="Accepted, without effect: files are never written.", hidden=True)
    ] = False,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """Print what a controller would apply: built, decrypted, substituted, with the labels of its owner.

    Values that come out of encrypted files are masked. Nothing is written, neither to the cluster nor to the files.
    """
    del in_memory_build
    request = Request(
        name=name,
        namespace=namespace,
        path=path,
        file=file,
        dry_run=dry_run,
        strict=strict,
        age_keys=tuple(age_key_file or ()),
        recursive=recursive,
        local_sources=tuple(local_source or ()),
        ignore=tuple(patterns(ignore_paths)),
    )
    request.check()

    async def work(client: Client | None) -> list[Object]:
        found: list[Object] = []
        async with aclosing(acts(request, client)) as all_acts:
            async for act in all_acts:
                for warning in act.warnings:
                    say(f"⚠️ {warning}")
                found += act.rehearsed.written if show_secrets else act.rehearsed.shown
        return found

    limit = duration(timeout).seconds
    with silent():
        objects = (
            asyncio.run(work(None)) if dry_run else ask(work, kubeconfig=kubeconfig, context=context, timeout=limit)
        )
    sys.stdout.write(_printed(objects, output))
    return 0


def _printed(objects: list[Object], output: Output | None) -> str:
    if output in (Output.JSON, Output.NAME):
        return documents(objects, output)
    from penstock.yaml import dump_all

    return dump_all(objects)


def _group() -> None:
    """Print the objects of a kustomization, or those that a controller would apply."""


app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.callback()(_group)
app.command("kustomization")(for_typer(build_kustomization))
app.command("kustomizations", hidden=True)(for_typer(build_kustomization))
app.command("ks", hidden=True)(for_typer(build_kustomization))
