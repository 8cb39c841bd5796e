"""Logins at registries of clouds: moto for Amazon, stand-ins for the others."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING

import pytest
import trustme
from aiohttp import web
from moto.server import ThreadedMotoServer

from penstock.sources.access import Trust
from penstock.sources.oci.clouds import cloud_credential, exchange
from penstock.sources.oci.credentials import Credential, CredentialsError
from penstock.sources.oci.reference import parse_repository
from tests.sources.bucket.cloud_servers import KEY, google

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

ECR = parse_repository("oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com/app")


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    yield
    server.stop()


async def test_amazon(moto: None) -> None:
    credential = await cloud_credential("aws", ECR, trust=Trust(), proxy=None)
    assert credential.username == "AWS"
    assert credential.password


@pytest.mark.parametrize(
    ("url", "told"),
    [
        pytest.param("oci://registry.example/app", "is not the name of a registry of Amazon", id="another registry"),
        pytest.param(
            "oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.io/app", "is not the name", id="one that looks so"
        ),
    ],
)
async def test_other_registries_get_no_login_of_amazon(url: str, told: str) -> None:
    with pytest.raises(CredentialsError, match=told):
        await cloud_credential("aws", parse_repository(url), trust=Trust(), proxy=None)


async def test_a_cloud_that_is_away_is_told_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ENDPOINT_URL": "http://127.0.0.1:1", "ACCESS_KEY_ID": "id", "SECRET_ACCESS_KEY": "x"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(CredentialsError, match=r"^the cloud gave no login: EndpointConnectionError$"):
        await cloud_credential("aws", ECR, trust=Trust(), proxy=None)


async def test_google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with google() as cloud:
        account = {
            "type": "service_account",
            "client_email": "me@example.com",
            "private_key": KEY,
            "token_uri": f"http://{cloud.endpoint}/token",
            "project_id": "p",
        }
        file = tmp_path / "account.json"
        await asyncio.to_thread(file.write_text, json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        registry = parse_repository("oci://europe-docker.pkg.dev/p/app")
        credential = await cloud_credential("gcp", registry, trust=Trust(), proxy=None)
        assert credential == Credential("oauth2accesstoken", cloud.token)


@pytest.mark.parametrize("token", ["right", "wrong"])
async def test_azure_exchanges_its_token(token: str) -> None:
    authority = await asyncio.to_thread(trustme.CA)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def answer(request: web.Request) -> web.Response:
        form = await request.post()
        assert form["grant_type"] == "access_token"
        assert form["service"] == request.host
        if form["access_token"] != "right":
            return web.Response(status=401, text="no: " + str(form["access_token"]))
        return web.json_response({"refresh_token": "refreshed"})

    app = web.Application()
    app.router.add_post("/oauth2/exchange", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    registry = parse_repository(f"oci://127.0.0.1:{runner.addresses[0][1]}/app")
    trust = Trust(authority=authority.cert_pem.bytes())
    try:
        if token == "right":
            credential = await exchange(token, registry, trust=trust, proxy=None)
            assert credential == Credential("00000000-0000-0000-0000-000000000000", "refreshed")
            return
        with pytest.raises(CredentialsError, match="status 401") as caught:
            await exchange(token, registry, trust=trust, proxy=None)
        assert "wrong" not in str(caught.value)
    finally:
        await runner.cleanup()


async def test_an_unknown_cloud() -> None:
    with pytest.raises(CredentialsError, match="'other' is not known"):
        await cloud_credential("other", ECR, trust=Trust(), proxy=None)
