"""`penstock install` and `penstock uninstall`: the controllers in a cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.access import HOME, ContextOption, KubeconfigOption, NamespaceOption, TimeoutOption, ask, duration
from penstock.cli.output import say
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.install import Installed, InstallOptions, Removal
    from penstock.kube import Client


_APPLYING = 60.0
"""Seconds for everything but the wait."""


def install(
    export: Annotated[bool, typer.Option("--export", help="Print the objects, and ask no cluster.")] = False,
    components: Annotated[str, typer.Option(help="What runs: source, kustomize, or both.")] = "source,kustomize",
    image: Annotated[str, typer.Option(help="The whole name of the image.")] = "",
    registry: Annotated[str, typer.Option(help="Where the image `penstock` of this version lies.")] = "",
    image_pull_secret: Annotated[str, typer.Option(help="A Secret with the login to the registry.")] = "",
    replicas: Annotated[int, typer.Option(min=1, help="How many run; several share the work.")] = 1,
    watch_all_namespaces: Annotated[
        bool, typer.Option("--watch-all-namespaces/--no-watch-all-namespaces", help="Or only their own.")
    ] = True,
    network_policy: Annotated[
        bool,
        typer.Option("--network-policy/--no-network-policy", help="Whether traffic to the controllers is limited."),
    ] = True,
    multi_tenant: Annotated[
        bool,
        typer.Option("--multi-tenant", help="Kustomizations get no rights but those of an account of their namespace."),
    ] = False,
    log_level: Annotated[str, typer.Option(help="trace, debug, info or error.")] = "info",
    cluster_domain: Annotated[str, typer.Option(help="The domain of the cluster's services.")] = "cluster.local",
    controller_arg: Annotated[
        list[str] | None, typer.Option(metavar="FLAG", help="One more flag for the controllers; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also where another installation manages the kinds.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Whether to wait until the controllers run.")] = True,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """Definitions, rights, a Deployment and what belongs to it. Again, it changes what differs.

    Definitions that another installation brought are left as they are.
    """
    from penstock.install import InstallOptions
    from penstock.install import components as chosen
    from penstock.install.options import LEVELS

    if log_level not in LEVELS:
        raise UsageError(f"--log-level: {log_level!r} is not one of {', '.join(LEVELS)}")
    options = InstallOptions(
        namespace=namespace,
        components=chosen(components),
        image=image,
        registry=registry,
        image_pull_secret=image_pull_secret,
        replicas=replicas,
        watch_all_namespaces=watch_all_namespaces,
        network_policy=network_policy,
        multi_tenant=multi_tenant,
        log_level=log_level,
        cluster_domain=cluster_domain,
        arguments=tuple(controller_arg or ()),
    )
    if export:
        return _exported(options)
    limit = duration(timeout).seconds
    if not (image or registry):
        say(f"⚠️ nodes have to have the image {options.full_image}; --registry says where else it lies")

    async def work(client: Client) -> Installed:
        from penstock.install import install as put

        return await put(
            client, options, force=force, wait=limit if wait else None, tell=lambda words: say(f"► {words}")
        )

    # The wait for the controllers ends first, and says what is not ready.
    done = ask(work, kubeconfig=kubeconfig, context=context, timeout=limit + _APPLYING)
    for change in done.changes.changed():
        say(f"✔ {change}")
    for name in done.kept:
        say(f"► CustomResourceDefinition/{name} is another installation's, and stays")
    say(f"✔ penstock {options.version} {'is ready' if wait else 'is applied'} in {namespace}")
    return 0


def uninstall(
    crds: Annotated[
        bool, typer.Option("--crds", help="Also the definitions we brought, all objects of them, and the namespace.")
    ] = False,
    keep_namespace: Annotated[bool, typer.Option("--keep-namespace", help="But not the namespace.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be deleted.")] = False,
    silent: Annotated[bool, typer.Option("-s", "--silent", help="Do not ask.")] = False,
    namespace: NamespaceOption = HOME,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    timeout: TimeoutOption = "5m",
) -> int:
    """Whatever they applied stays, and keeps running."""
    if not (dry_run or silent) and not typer.confirm(f"Take penstock out of {namespace}?", err=True):
        raise UsageError("nothing was deleted")

    async def work(client: Client) -> Removal:
        from penstock.install import uninstall as take

        return await take(client, namespace, crds=crds, keep_namespace=keep_namespace, dry_run=dry_run)

    removed = ask(work, kubeconfig=kubeconfig, context=context, timeout=duration(timeout).seconds)
    told = " (dry run)" if dry_run else ""
    for name in removed.released:
        say(f"► {name} finalizer removed{told}")
    for name in removed.deleted:
        say(f"✔ {name} deleted{told}")
    say(f"✔ {len(removed.deleted)} objects deleted{told}")
    return 0


def _exported(options: InstallOptions) -> int:
    from penstock.install import manifests
    from penstock.yaml import dump

    sys.stdout.write(f"# Penstock {options.version}; components: {', '.join(options.components)}\n")
    for obj in manifests(options):
        sys.stdout.write(f"---\n{dump(obj)}")
    return 0
