"""Clusters of clouds by `spec.kubeConfig.configMapRef`: the cloud tells where they are, and knows this process."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from penstock.controllers.kustomization import clouds
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.kube.errors import ConfigError
from penstock.kube.resources import CONFIG_MAPS
from penstock.sources.sigv4 import Keys, Scope, signature
from tests.controllers.kustomization.cloud_clusters import AKS, EKS, GKE, Clouds, believe, standing_in
from tests.controllers.kustomization.identities import flattened, make_account
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.controllers.kustomization.world import World

RULES = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]


@pytest.fixture
async def cloud(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Clouds]:
    """The clouds know the cluster of the test, and give tokens of an account there."""
    cluster: dict[str, Any] = (await asyncio.to_thread(flattened, world.cluster.kubeconfig))["clusters"][0]["cluster"]
    account = await make_account(world.cluster, "cloud", rules=RULES)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await world.client.create(
        SERVICE_ACCOUNTS, asked, namespace=world.namespace, name=account, subresource="token"
    )
    made = Clouds(cluster["server"], cluster["certificate-authority-data"], answer["status"]["token"])
    async with standing_in(made) as running:
        await asyncio.to_thread(believe, running, tmp_path, monkeypatch)
        yield running


async def told(world: World, name: str, data: dict[str, str]) -> None:
    """A Kustomization for the cluster that a ConfigMap of the same name tells."""
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, namespace=world.namespace)
    await world.kustomization(name, kubeConfig={"configMapRef": {"name": name}})


@pytest.mark.parametrize(("provider", "name"), [("gcp", GKE), ("azure", AKS)], ids=["gcp", "azure"])
async def test_the_objects_come_to_the_cluster(world: World, cloud: Clouds, provider: str, name: str) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await told(world, "there", {"provider": provider, "cluster": name})
    await world.until_applied("v1", name="there")
    assert await world.config_map("a")
    asked = len(cloud.asked)
    await world.source("v2", {"a.yaml": config_map("a"), "b.yaml": config_map("b")})
    await world.until_applied("v2", name="there")
    assert len(cloud.asked) == asked, "the connection and its token are kept"


async def test_what_is_wrong_is_told_and_no_token_goes_elsewhere(world: World, cloud: Clouds) -> None:
    wrong = {
        "p1": ({"provider": "aws"}, "cluster is missing; for 'aws' it is arn:aws:eks:REGION:ACCOUNT:cluster/NAME"),
        "p2": ({"provider": "gcp", "cluster": "../one"}, "cluster has to be projects/PROJECT/locations"),
        "p3": ({"provider": "azure", "cluster": f"{AKS}/../x"}, "cluster has to be /subscriptions/ID/resourceGroups"),
        "s1": (
            {"provider": "gcp", "cluster": GKE, "serviceAccountName": "default"},
            "the service account 'default' cannot log in to 'gcp' yet",
        ),
        "a1": ({"provider": "gcp", "cluster": GKE, "address": "https://127.0.0.1:1"}, "address is not that of the"),
        "n1": ({"provider": "gcp", "cluster": GKE + "x"}, "the cloud answered with the status 404"),
    }
    await world.source("v1", {"a.yaml": config_map("a")})
    for name, (data, _) in wrong.items():
        await told(world, name, data)
    for name, (_, says) in wrong.items():
        ready = await world.until_failed("ReconciliationFailed", name=name, says=says)
        assert cloud.token not in str(ready)
    assert not await world.config_map("a")


async def test_amazon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Clouds("https://127.0.0.1:6443", base64.b64encode(b"a certificate").decode(), "")
    async with standing_in(made) as cloud:
        await asyncio.to_thread(believe, cloud, tmp_path, monkeypatch)
        settings = await clouds.settings("ConfigMap a/b", "aws", EKS)
        credential = await settings.credentials.fetch()
    assert (settings.server, settings.authority) == ("https://127.0.0.1:6443", b"a certificate")
    assert credential.fresh
    word = str(credential.authorization).removeprefix("Bearer k8s-aws-v1.")
    parts = urlsplit(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)).decode())
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "sts.eu-west-1.amazonaws.com", "/")
    query = dict(parse_qsl(parts.query))
    signed = query.pop("X-Amz-Signature")
    assert (
        query.items()
        >= {
            "Action": "GetCallerIdentity",
            "Version": "2011-06-15",
            "X-Amz-Expires": "60",
            "X-Amz-SignedHeaders": "host;x-k8s-aws-id",
        }.items()
    )
    stamp = query["X-Amz-Date"]
    assert datetime.now(UTC) - datetime.fromisoformat(stamp) < timedelta(minutes=5)
    sorted_query = urlencode(sorted(query.items()), quote_via=quote, safe="-._~")
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    headers = f"host:{parts.netloc}\nx-k8s-aws-id:one\n\nhost;x-k8s-aws-id"
    canonical = f"GET\n/\n{sorted_query}\n{headers}\n{nothing}"
    keys = Keys("AKIDEXAMPLE", "planted-secret")
    assert signature(canonical, Scope(stamp, "eu-west-1", "sts"), keys) == signed


async def test_a_cloud_that_does_not_know_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with standing_in(Clouds("https://127.0.0.1:6443", "", "")) as cloud:
        await asyncio.to_thread(believe, cloud, tmp_path, monkeypatch)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
        with pytest.raises(ConfigError, match=r"^ConfigMap a/b: cluster .* cannot be looked up: the cloud gave no"):
            await clouds.settings("ConfigMap a/b", "gcp", GKE)
        with pytest.raises(ConfigError, match="the cloud gave no address, or no certificate"):
            await clouds.settings("ConfigMap a/b", "aws", EKS)
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        with pytest.raises(ConfigError, match="cannot be looked up: the cloud gave no login: ProfileNotFound"):
            await clouds.settings("ConfigMap a/b", "aws", EKS)
