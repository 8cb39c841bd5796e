"""`penstock controller`: the controllers against a cluster, with Flux's flags."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.access import duration
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Gates, Settings
    from penstock.controllers.process import Options
    from penstock.kube import Terms

_RUNTIME = "flux-system"


def controller(
    kubeconfig: Annotated[Path | None, typer.Option(help="The cluster; by default as kubectl finds it.")] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
    components: Annotated[str, typer.Option(help="What runs: source, kustomize, or both.")] = "source,kustomize",
    storage_path: Annotated[Path, typer.Option(envvar="STORAGE_PATH", help="Where artifacts lie.")] = Path("data"),
    storage_addr: Annotated[str, typer.Option(envvar="STORAGE_ADDRESS", help="Where artifacts are served.")] = ":9090",
    storage_adv_addr: Annotated[
        str, typer.Option(envvar="STORAGE_ADV_ADDR", help="The address that consumers of artifacts are told.")
    ] = "",
    events_addr: Annotated[str, typer.Option(help="Where events are posted, as JSON.")] = "",
    metrics_addr: Annotated[str, typer.Option(help="Where /metrics is served; 0: nowhere.")] = ":8080",
    health_addr: Annotated[str, typer.Option(help="Where /healthz and /readyz are served; 0: nowhere.")] = ":9440",
    concurrent: Annotated[int, typer.Option(min=1, help="Kustomizations that are worked on at once.")] = 4,
    concurrent_ssa: Annotated[int, typer.Option(min=1, help="Objects of one Kustomization at once.")] = 4,
    requeue_dependency: Annotated[str, typer.Option(help="Time between two looks at a dependency.")] = "30s",
    interval_jitter_percentage: Annotated[int, typer.Option(help="How far intervals are spread.")] = 5,
    min_retry_delay: Annotated[str, typer.Option(help="The first pause after a failure.")] = "750ms",
    max_retry_delay: Annotated[str, typer.Option(help="The longest pause after failures.")] = "15m",
    http_retry: Annotated[int, typer.Option(min=0, help="How often the fetch of an artifact is repeated.")] = 9,
    artifact_retention_ttl: Annotated[str, typer.Option(help="How long old artifacts are kept.")] = "60s",
    artifact_retention_records: Annotated[int, typer.Option(min=1, help="How many artifacts are kept.")] = 2,
    artifact_digest_algo: Annotated[str, typer.Option(help="sha256, sha384 or sha512.")] = "sha256",
    ssh_kex_algos: Annotated[str, typer.Option(help="Key exchanges that SSH may use, with commas.")] = "",
    ssh_hostkey_algos: Annotated[str, typer.Option(help="Host keys that SSH may use, with commas.")] = "",
    no_remote_bases: Annotated[bool, typer.Option("--no-remote-bases", help="Refuse bases from elsewhere.")] = False,
    no_cross_namespace_refs: Annotated[
        bool, typer.Option("--no-cross-namespace-refs", help="Refuse sources of other namespaces.")
    ] = False,
    default_service_account: Annotated[str, typer.Option(help="Account of those who name none.")] = "",
    default_decryption_service_account: Annotated[
        str, typer.Option(help="Account that asks for decryption keys for those who name none.")
    ] = "",
    default_kubeconfig_service_account: Annotated[
        str, typer.Option(help="Account that logs in to clusters of kubeConfig.configMapRef for those who name none.")
    ] = "",
    tenant_reads: Annotated[
        bool, typer.Option("--tenant-reads", help="Read variables, keys and kubeconfigs with the tenant's rights.")
    ] = False,
    sops_age_secret: Annotated[str, typer.Option(help="Secret with age keys for those who name none.")] = "",
    override_manager: Annotated[
        list[str] | None, typer.Option(help="A field manager whose changes are taken back; may be repeated.")
    ] = None,
    custom_apply_stage_kinds: Annotated[str, typer.Option(help="Kinds with a stage of their own: group/Kind,...")] = "",
    insecure_kubeconfig_exec: Annotated[bool, typer.Option("--insecure-kubeconfig-exec", help="Allow exec.")] = False,
    insecure_kubeconfig_tls: Annotated[
        bool, typer.Option("--insecure-kubeconfig-tls", help="Allow kubeconfigs without TLS verification.")
    ] = False,
    watch_all_namespaces: Annotated[
        bool, typer.Option("--watch-all-namespaces/--no-watch-all-namespaces", help="Or only our own.")
    ] = True,
    watch_label_selector: Annotated[str, typer.Option(help="Which objects are ours, for shards.")] = "",
    watch_configs_label_selector: Annotated[
        str, typer.Option(help="Which ConfigMaps and Secrets wake who reads them; empty: all.")
    ] = "reconcile.fluxcd.io/watch=Enabled",
    feature_gates: Annotated[str, typer.Option(help="Name=true,Other=false")] = "",
    enable_leader_election: Annotated[
        bool, typer.Option("--enable-leader-election", help="Work only while holding the lease.")
    ] = False,
    leader_election_release_on_cancel: Annotated[
        bool,
        typer.Option(
            "--leader-election-release-on-cancel/--no-leader-election-release-on-cancel",
            help="Give the lease back at the end.",
        ),
    ] = True,
    leader_election_lease_duration: Annotated[
        str, typer.Option(help="How long a lease lasts without renewal; 35s, or 6s with --share-work.")
    ] = "",
    leader_election_renew_deadline: Annotated[
        str, typer.Option(help="How long a renewal is tried; 30s, or 4s with --share-work.")
    ] = "",
    leader_election_retry_period: Annotated[
        str, typer.Option(help="Time between two renewals; 5s, or 1s with --share-work.")
    ] = "",
    share_work: Annotated[
        bool, typer.Option("--share-work", help="Share the work with the other replicas; no leader is elected.")
    ] = False,
    log_level: Annotated[str, typer.Option(help="trace, debug, info or error.")] = "info",
    log_encoding: Annotated[str, typer.Option(help="json or console.")] = "json",
) -> int:
    """Run until Ctrl-C or SIGTERM. `RUNTIME_NAMESPACE` names the namespace of the controllers."""
    # What is heavy is imported when everything that can be wrong with the flags has been found.
    from penstock.apply import parse_kinds
    from penstock.controllers.kustomization.settings import Settings
    from penstock.controllers.process import Options
    from penstock.runtime import Address, Backoff, Jitter
    from penstock.runtime.logs import configure
    from penstock.sources.git.listing import Algorithms
    from penstock.sources.store.files import Retention

    if share_work and enable_leader_election:
        raise UsageError("--share-work: all replicas work, so there is no leader; leave --enable-leader-election out")
    serve = Address.parse(storage_addr, flag="--storage-addr")
    if share_work and serve and serve.host in {"", "0.0.0.0"} and not (storage_adv_addr or os.environ.get("POD_IP")):  # noqa: S104
        raise UsageError("--share-work: the other replicas need our address; set POD_IP, or give --storage-adv-addr")
    namespace = os.environ.get("RUNTIME_NAMESPACE") or _RUNTIME
    settings = Settings(
        concurrent=concurrent,
        concurrent_ssa=concurrent_ssa,
        requeue_dependency=duration(requeue_dependency, "--requeue-dependency"),
        remote_bases=not no_remote_bases,
        cross_namespace_references=not no_cross_namespace_refs,
        default_service_account=default_service_account,
        default_decryption_service_account=default_decryption_service_account,
        default_kubeconfig_service_account=default_kubeconfig_service_account,
        tenant_reads=tenant_reads,
        override_managers=tuple(override_manager or ()),
        stage_kinds=tuple(parse_kinds(custom_apply_stage_kinds)),
        insecure_kubeconfig_exec=insecure_kubeconfig_exec,
        insecure_kubeconfig_tls=insecure_kubeconfig_tls,
        runtime_namespace=namespace,
        age_secret=sops_age_secret,
        watch_namespace=None if watch_all_namespaces else namespace,
        watch_labels=watch_label_selector,
        config_labels=watch_configs_label_selector,
        gates=gates(feature_gates),
    )
    _check_accounts(settings)
    options = Options(
        storage=storage_path,
        components=chosen(components),
        serve=serve,
        advertise=storage_adv_addr,
        events=events_addr,
        metrics=Address.parse(metrics_addr, flag="--metrics-addr"),
        health=Address.parse(health_addr, flag="--health-addr"),
        lead=enable_leader_election,
        share=share_work,
        terms=terms(
            leader_election_lease_duration,
            leader_election_renew_deadline,
            leader_election_retry_period,
            share=share_work,
        ),
        release=leader_election_release_on_cancel,
        backoff=Backoff(
            base=duration(min_retry_delay, "--min-retry-delay").seconds,
            cap=duration(max_retry_delay, "--max-retry-delay").seconds,
        ),
        jitter=Jitter(interval_jitter_percentage),
        retention=Retention(
            ttl=duration(artifact_retention_ttl, "--artifact-retention-ttl").seconds,
            records=artifact_retention_records,
        ),
        digest_algorithm=artifact_digest_algo,
        ssh=Algorithms(_listed(ssh_kex_algos), _listed(ssh_hostkey_algos)),
        fetch_tries=http_retry + 1,
        kustomize=settings,
    )
    configure(encoding=log_encoding, level=log_level)
    return asyncio.run(_run(kubeconfig, context, options))


def _check_accounts(settings: Settings) -> None:
    """Accounts of tenants serve only where the operator has switched that on."""
    accounts = {
        "--default-decryption-service-account": settings.default_decryption_service_account,
        "--default-kubeconfig-service-account": settings.default_kubeconfig_service_account,
    }
    for flag, account in accounts.items():
        if account and not settings.gates.object_level_workload_identity:
            raise UsageError(f"{flag} needs --feature-gates=ObjectLevelWorkloadIdentity=true")


def chosen(text: str) -> tuple[str, ...]:
    """The components that a flag names."""
    from penstock.controllers.process import COMPONENTS

    wanted = _listed(text)
    for name in wanted:
        if name not in COMPONENTS:
            raise UsageError(f"--components: there is no {name!r}; there are {', '.join(COMPONENTS)}")
    if not wanted:
        raise UsageError(f"--components: name at least one of {', '.join(COMPONENTS)}")
    return tuple(name for name in COMPONENTS if name in wanted)


def terms(lasts: str, renew: str, retry: str, *, share: bool) -> Terms:
    """How leases are kept: what the flags say, and for the rest what is usual."""
    from penstock.kube import Terms
    from penstock.kube.membership import MEMBER_TERMS

    usual = MEMBER_TERMS if share else Terms()
    given = {
        "duration": duration(lasts, "--leader-election-lease-duration").seconds if lasts else usual.duration,
        "renew_within": duration(renew, "--leader-election-renew-deadline").seconds if renew else usual.renew_within,
        "retry": duration(retry, "--leader-election-retry-period").seconds if retry else usual.retry,
    }
    try:
        return Terms(**given)
    except ValueError:
        raise UsageError(
            "--leader-election-lease-duration has to be longer than --leader-election-renew-deadline, "
            "and that longer than --leader-election-retry-period"
        ) from None


def gates(text: str) -> Gates:
    """The feature gates that a flag sets; a name that nobody knows is an error, as it is in Flux."""
    from dataclasses import fields

    from penstock.controllers.kustomization.settings import Gates

    names = {"".join(part.capitalize() for part in field.name.split("_")): field.name for field in fields(Gates)}
    names = {name.replace("Cel", "CEL").replace("Api", "API"): field for name, field in names.items()}
    found: dict[str, bool] = {}
    for one in _listed(text):
        name, _, value = one.partition("=")
        if name not in names:
            raise UsageError(f"--feature-gates: there is no gate {name!r}; there are {', '.join(sorted(names))}")
        if value.lower() not in {"true", "false"}:
            raise UsageError(f"--feature-gates: {name} is true or false, not {value!r}")
        found[names[name]] = value.lower() == "true"
    return Gates(**found)


async def _run(kubeconfig: Path | None, context: str | None, options: Options) -> int:
    from penstock.controllers.process import run
    from penstock.kube import connect, load

    settings = await asyncio.to_thread(load, kubeconfig, context=context)
    async with connect(settings) as client:
        return await run(client, options)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))
