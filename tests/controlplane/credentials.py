"""The keys, certificates and files with which the control plane and its clients know each other."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trustme
import yaml

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Paths of the files that the programs read, and what a client needs."""

    token: str
    ca: Path
    serving_cert: Path
    serving_key: Path
    service_account_key: Path
    tokens: Path
    kubeconfig: Path
    authority: trustme.CA

    def client_certificate(self, user: str, group: str) -> trustme.LeafCert:
        """A certificate with which the API server takes its bearer for this user."""
        # Go refuses a certificate whose list of names is empty, so it gets one that nobody looks at.
        return self.authority.issue_cert("user.penstock.dev", common_name=user, organization_name=group)


def issue(folder: Path, server: str) -> Credentials:
    """Make everything anew for an API server at this address, and write it below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    serving = authority.issue_cert(*NAMES)
    made = Credentials(
        token=secrets.token_hex(16),
        ca=folder / "ca.crt",
        serving_cert=folder / "apiserver.crt",
        serving_key=folder / "apiserver.key",
        service_account_key=folder / "service-accounts.key",
        tokens=folder / "tokens.csv",
        kubeconfig=folder / "kubeconfig",
        authority=authority,
    )
    authority.cert_pem.write_to_path(made.ca)
    serving.private_key_pem.write_to_path(made.serving_key)
    made.serving_cert.write_bytes(b"".join(blob.bytes() for blob in serving.cert_chain_pems))
    # Any key will do; the API server reads the public half from the same file.
    authority.issue_cert("service-accounts.penstock.dev").private_key_pem.write_to_path(made.service_account_key)
    made.tokens.write_text(f'{made.token},admin,admin,"system:masters"\n')
    made.kubeconfig.write_text(yaml.safe_dump(_kubeconfig(server, made.ca, made.token)))
    made.kubeconfig.chmod(0o600)
    return made


def _kubeconfig(server: str, ca: Path, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(ca)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }
