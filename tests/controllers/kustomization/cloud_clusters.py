"""A stand-in for the three clouds, as far as they know clusters: it tells where one is, and gives tokens for it."""

from __future__ import annotations

import base64
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import yaml
from aiohttp import web

from tests.sources.bucket.cloud_servers import KEY

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    import pytest

GKE = "projects/p/locations/europe-west1/clusters/one"
AKS = "/subscriptions/1-2/resourceGroups/a_group/providers/Microsoft.ContainerService/managedClusters/one"
EKS = "arn:aws:eks:eu-west-1:123456789012:cluster/one"
MANAGEMENT = "a-token-for-the-clouds-own-api"


@dataclass
class Clouds:
    """One cluster, known to all three."""

    server: str
    authority: str
    """In base64."""
    token: str
    """Who has it is let into the cluster."""
    port: int = 0
    asked: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(f"{request.method} {request.path}")
        expires = str(int(datetime.now(UTC).timestamp()) + 3600)
        match request.path.strip("/").split("/"):
            case ["google-token"]:
                return web.json_response({"access_token": self.token, "expires_in": 3600})
            case ["azure-token"]:
                own = request.query["resource"].startswith("https://")
                return web.json_response({"access_token": MANAGEMENT if own else self.token, "expires_on": expires})
            case ["v1", *rest] if "/".join(rest) == GKE and self._knows(request, self.token):
                found = {"endpoint": self.server.removeprefix("https://"), "masterAuth": {}}
                return web.json_response({**found, "masterAuth": {"clusterCaCertificate": self.authority}})
            case [*_, "listClusterUserCredential"] if self._knows(request, MANAGEMENT):
                value = base64.b64encode(self._kubeconfig().encode()).decode()
                return web.json_response({"kubeconfigs": [{"name": "clusterUser", "value": value}]})
            case ["clusters", "one"]:
                found = {"endpoint": self.server, "certificateAuthority": {"data": self.authority}}
                return web.json_response({"cluster": found})
            case _:
                return web.json_response({"message": "there is no such thing"}, status=404)

    def _knows(self, request: web.Request, token: str) -> bool:
        return request.headers.get("Authorization") == f"Bearer {token}"

    def _kubeconfig(self) -> str:
        cluster = {"server": self.server, "certificate-authority-data": self.authority}
        return yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "one", "cluster": cluster}]})


@asynccontextmanager
async def standing_in(clouds: Clouds) -> AsyncGenerator[Clouds]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", clouds.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    clouds.port = runner.addresses[0][1]
    try:
        yield clouds
    finally:
        await runner.cleanup()


def believe(clouds: Clouds, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process be somebody to the stand-in, as the surroundings of a pod would."""
    account = {
        "type": "service_account",
        "client_email": "me@example.com",
        "private_key": KEY,
        "token_uri": f"{clouds.url}/google-token",
        "project_id": "p",
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account))
    surroundings = {
        "GOOGLE_APPLICATION_CREDENTIALS": str(file),
        "IDENTITY_ENDPOINT": f"{clouds.url}/azure-token",
        "IDENTITY_HEADER": "x",
        "AWS_ENDPOINT_URL_EKS": clouds.url,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "planted-secret",
    }
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("penstock.controllers.kustomization.clouds.GOOGLE", clouds.url)
    monkeypatch.setattr("penstock.controllers.kustomization.clouds.AZURE", clouds.url)
    # The cloud is asked again at a time that has nothing to do with the test.
    monkeypatch.setattr("penstock.controllers.kustomization.workload.REVIEWED", float("inf"))
