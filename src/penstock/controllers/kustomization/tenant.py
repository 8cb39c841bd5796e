"""As whom a Kustomization acts: the account it names, or the operator's default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube import Identity

if TYPE_CHECKING:
    from penstock.api.kustomization import Kustomization
    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Client


def account_of(kustomization: Kustomization, settings: Settings) -> str:
    """The name of the service account; empty when there is none."""
    return kustomization.spec.service_account_name or settings.default_service_account


def acting(client: Client, kustomization: Kustomization, settings: Settings) -> Client:
    """The client with the rights of that account; with its own where there is none. An odd name is refused."""
    account = account_of(kustomization, settings)
    if not account:
        return client
    return client.impersonate(Identity.service_account(kustomization.metadata.namespace, account))
