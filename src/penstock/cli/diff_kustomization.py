"""`penstock diff kustomization`: what applying a Kustomization would change in its cluster."""

from __future__ import annotations

import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.access import (
    HOME,
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    ask,
    colour,
    duration,
)
from penstock.cli.artifact_access import patterns
from penstock.cli.differences import Compared, rendered, summary
from penstock.cli.output import say
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
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.kube import Client


class DiffFailed(PenstockError):
    """The difference could not be found out: exit 1 is kept for one that was found."""

    exit_code = 2


def diff_kustomization(
    name: Name,
    path: PathOption = None,
    file: FileOption = None,
    strict: StrictOption = None,
    age_key_file: AgeKeyOption = None,
    show_secrets: SecretsOption = False,
    recursive: RecursiveOption = False,
    local_source: LocalSourceOption = None,
    ignore_paths: IgnoreOption = None,
    ignore_not_found: Annotated[
        bool, typer.Option("--ignore-not-found", help="A Kustomization that the cluster lacks has no differences.")
    ] = False,
    as_account: Annotated[
        bool, typer.Option("--as-account", help="Ask with the rights of the Kustomization's service account.")
    ] = False,
    output: OutputOption = None,
    progress_bar: Annotated[
        bool, typer.Option("--progress-bar/--no-progress-bar", help="Accepted, without effect.", hidden=True)
    ] = True,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """Try every object on the server, as the controller would apply it, and tell what would change.

    What would be pruned, recreated or taken over is told too. Values of Secrets, and all that come out of encrypted
    files, are told only as changed. Exit 0: no difference, 1: some, 2: it could not be found out.
    """
    del progress_bar
    request = Request(
        name=name,
        namespace=namespace,
        path=path,
        file=file,
        strict=strict,
        age_keys=tuple(age_key_file or ()),
        recursive=recursive,
        local_sources=tuple(local_source or ()),
        ignore=tuple(patterns(ignore_paths)),
    )
    request.check()

    async def work(client: Client) -> list[Compared]:
        return await _compared(request, client, as_account=as_account, reveal=show_secrets)

    limit = duration(timeout).seconds
    try:
        with silent():
            found = ask(work, kubeconfig=kubeconfig, context=context, timeout=limit)
    except PenstockError as error:
        if ignore_not_found and _is_missing(error):
            say(f"✔ Kustomization/{namespace}/{name} is not there")
            return 0
        raise DiffFailed(str(error)) from error
    for one in found:
        for warning in one.warnings:
            say(f"⚠️ {warning}")
    sys.stdout.write(rendered(found, output, colour=colour()))
    say(summary(found))
    return 1 if any(one.preview for one in found) else 0


async def _compared(request: Request, client: Client, *, as_account: bool, reveal: bool) -> list[Compared]:
    from penstock.controllers.kustomization.rehearsal import compare, with_status

    found: list[Compared] = []
    async with aclosing(acts(request, client)) as all_acts:
        async for act in all_acts:
            kustomization = await with_status(client, act.kustomization)
            if sys.stderr.isatty():
                say(f"◎ trying {len(act.rehearsed.objects)} objects of {kustomization.metadata.name}")
            preview = await compare(client, kustomization, act.rehearsed, as_account=as_account, reveal=reveal)
            metadata = kustomization.metadata
            found.append(Compared(f"{metadata.namespace}/{metadata.name}", preview, act.warnings + preview.warnings))
    return found


def _is_missing(error: PenstockError) -> bool:
    from penstock.cli.finding import Missing

    return isinstance(error, Missing)
