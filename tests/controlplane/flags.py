"""The command lines of the three programs; the flags were seen to be enough on a machine without nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controlplane.credentials import Credentials

# What needs nodes, clouds or attachable disks has nothing to do here.
IDLE_CONTROLLERS = ("nodeipam", "nodelifecycle", "cloud-node-lifecycle", "attachdetach")


def etcd(program: Path, *, data: Path, address: str, fsync: bool) -> list[str]:
    """etcd with one member; its peer address is never used, so any free port will do, even on a restart."""
    flags = [
        "--name=test",
        f"--data-dir={data}",
        f"--listen-client-urls={address}",
        f"--advertise-client-urls={address}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--initial-advertise-peer-urls=http://127.0.0.1:2380",
        "--initial-cluster=test=http://127.0.0.1:2380",
        "--socket-reuse-port=true",
        "--log-level=warn",
    ]
    return [str(program), "etcd", *flags, *([] if fsync else ["--unsafe-no-fsync"])]


def apiserver(program: Path, made: Credentials, *, etcd: str, server: str) -> list[str]:
    """kube-apiserver with token, client certificate and service account authentication, and RBAC."""
    flags = [
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={urlsplit(server).port}",
        "--permit-port-sharing=true",
        "--shutdown-watch-termination-grace-period=1s",  # else open watches hold up a stop for a minute
        f"--tls-cert-file={made.serving_cert}",
        f"--tls-private-key-file={made.serving_key}",
        f"--client-ca-file={made.ca}",
        f"--token-auth-file={made.tokens}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",  # as installers set it: agents of nodes are privileged
        "--service-cluster-ip-range=10.0.0.0/16",  # a /24 is full after 253 Services
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={made.service_account_key}",
        f"--service-account-signing-key-file={made.service_account_key}",
    ]
    return [str(program), "kube-apiserver", *flags]


def controllers(program: Path, made: Credentials) -> list[str]:
    """kube-controller-manager; at its default of 20 requests a second 500 Deployments take half a minute."""
    flags = [
        f"--kubeconfig={made.kubeconfig}",
        f"--root-ca-file={made.ca}",
        f"--service-account-private-key-file={made.service_account_key}",
        "--use-service-account-credentials=false",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
        f"--controllers=*,{','.join(f'-{name}' for name in IDLE_CONTROLLERS)}",
    ]
    return [str(program), "kube-controller-manager", *flags]
