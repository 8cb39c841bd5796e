"""From the places where clusters are written down to the settings that reach one.

The usual places are trusted: they belong to whoever runs the program. A kubeconfig that arrives in a Secret is
not (`load_hostile`): it may carry credentials, but it may not name files, programs or proxies of ours.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.kube import kubeconfig
from penstock.kube.credentials import Credential, Credentials, Plugin, Static, TokenFile, basic, bearer
from penstock.kube.errors import ConfigError
from penstock.kube.identity import Identity
from penstock.kube.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.kube.kubeconfig import Cluster, KubeConfig, User

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_KUBECONFIG = Path("~/.kube/config")


def load(
    kubeconfig_path: Path | str | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Settings:
    """Find the cluster as `kubectl` would: the given file, $KUBECONFIG, ~/.kube/config, then the pod's own.

    Blocking: it reads files.
    """
    if kubeconfig_path:
        return _settings(kubeconfig.read(Path(kubeconfig_path).expanduser()), context)
    listed = [Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    candidates = listed or [DEFAULT_KUBECONFIG.expanduser()]
    found = [kubeconfig.read(path) for path in candidates if not _missing(path)]
    if found:
        return _settings(kubeconfig.merge(found), context)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster(environ, service_account)
    raise ConfigError(
        f"no cluster is configured: {_listed(candidates)} is not there, and this is not a pod; "
        "give --kubeconfig, or set KUBECONFIG"
    )


def load_hostile(
    text: bytes | str,
    origin: str,
    *,
    allow_exec: bool = False,
    allow_insecure_tls: bool = False,
) -> Settings:
    """Settings from a kubeconfig that a tenant wrote: inline credentials only, the rest is refused by name."""
    config = kubeconfig.parse(text, origin)
    context = config.context()
    cluster, user = config.cluster(context), config.user(context)
    refused = dict(_refusals(cluster, user))
    if allow_exec:
        refused.pop("exec", None)
    if allow_insecure_tls:
        for field in ("insecure-skip-tls-verify", "server"):
            refused.pop(field, None)
    for field, why in refused.items():
        raise ConfigError(f"{origin}: {field} is not allowed in a kubeconfig from a Secret: {why}")
    if not cluster.server:
        # An empty server would mean 'the cluster I run in' to other loaders.
        raise ConfigError(f"{origin}: cluster {context.cluster!r} has no server")
    return _settings(config, None)


def _refusals(cluster: Cluster, user: User) -> Iterable[tuple[str, str]]:
    file, network = "it names a file of the controller", "it would redirect the controller's traffic"
    if user.exec:
        yield "exec", "it would run a program in the controller"
    if user.auth_provider:
        yield "auth-provider", "it would run code in the controller"
    for field, value in (
        ("tokenFile", user.token_file),
        ("client-certificate", user.client_certificate),
        ("client-key", user.client_key),
        ("certificate-authority", cluster.certificate_authority),
    ):
        if value:
            yield field, f"{file}; give the content inline"
    if cluster.proxy_url:
        yield "proxy-url", network
    if cluster.insecure_skip_tls_verify:
        yield "insecure-skip-tls-verify", "anybody could answer for the cluster"
    if cluster.server.strip().lower().startswith("http:"):
        yield "server", "it is a plain http address"


def _settings(config: KubeConfig, wanted: str | None) -> Settings:
    context = config.context(wanted)
    cluster, user = config.cluster(context), config.user(context)
    origin = config.origin
    if not cluster.server:
        raise ConfigError(f"{origin}: cluster {context.cluster!r} has no server")
    settings = Settings(
        server=cluster.server.rstrip("/"),
        origin=origin,
        namespace=context.namespace or "default",
        authority=_content(
            cluster.certificate_authority_data,
            cluster.certificate_authority,
            origin,
            "certificate-authority",
        ),
        verify=not cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy=cluster.proxy_url,
        identity=_impersonated(user, origin),
    )
    return replace(settings, credentials=_credentials(user, cluster, origin))


def _credentials(user: User, cluster: Cluster, origin: str) -> Credentials:
    """The one way to say who we are; of several, the order of `kubectl` decides."""
    if user.auth_provider:
        raise ConfigError(
            f"{origin}: auth-provider {user.auth_provider.get('name')!r} is no longer supported by Kubernetes; "
            "use an exec plugin"
        )
    certificate = _content(user.client_certificate_data, user.client_certificate, origin, "client-certificate")
    key = _content(user.client_key_data, user.client_key, origin, "client-key")
    if (certificate is None) != (key is None):
        present, absent = ("client-certificate", "client-key") if key is None else ("client-key", "client-certificate")
        raise ConfigError(f"{origin}: there is a {present} but no {absent}")
    if certificate:
        token = f"Bearer {user.token.strip()}" if user.token else None
        return Static(Credential(authorization=token, certificate=certificate, key=key))
    if user.token_file:
        return TokenFile(Path(user.token_file))
    if user.token:
        return bearer(user.token)
    if user.exec:
        return _plugin(user.exec, cluster)
    if user.username:
        return basic(user.username, user.password or "")
    return Static()


def _plugin(program: kubeconfig.Exec, cluster: Cluster) -> Plugin:
    info: dict[str, object] | None = None
    if program.provide_cluster_info:
        info = {
            "server": cluster.server,
            "certificate-authority-data": cluster.certificate_authority_data or "",
        }
    return Plugin(
        command=program.command,
        arguments=tuple(program.args or ()),
        environment={variable.name: variable.value for variable in program.env or ()},
        api_version=program.api_version,
        cluster_info=info,
        hint=program.install_hint,
    )


def _impersonated(user: User, origin: str) -> Identity | None:
    if user.impersonate_uid is not None or user.impersonate_extra:
        raise ConfigError(f"{origin}: as-uid and as-user-extra are not supported; use as and as-groups")
    if user.impersonate is None:
        if user.impersonate_groups:
            # Without a user the server would answer with our own rights.
            raise ConfigError(f"{origin}: there is as-groups but no as; name the user to impersonate")
        return None
    return Identity(user.impersonate, tuple(user.impersonate_groups or ()))


def _content(data: str | None, path: str | None, origin: str, field: str) -> bytes | None:
    if data:
        return kubeconfig.decode_data(data, origin, f"{field}-data")
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{origin}: cannot read {field} {path}: {error.strerror}") from error


def _in_cluster(environ: Mapping[str, str], folder: Path) -> Settings:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        authority = (folder / "ca.crt").read_bytes()
        namespace = (folder / "namespace").read_text().strip()
    except OSError as error:
        raise ConfigError(
            f"this is a pod, but its service account cannot be read ({error.filename}: {error.strerror}); "
            "is automountServiceAccountToken off?"
        ) from error
    return Settings(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        origin="the pod's service account",
        namespace=namespace or "default",
        authority=authority,
        credentials=TokenFile(folder / "token"),
    )


def _missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # reading it will tell why
    return False


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(str(path) for path in paths)
