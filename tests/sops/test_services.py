"""Key services that are asked over the network, each against a stand-in that speaks the real protocol on loopback."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import orjson
import pytest
from aiohttp import web
from moto.server import ThreadedMotoServer

from penstock import sops
from penstock.sops.aws import AwsCredentials, AwsService, AwsServiceAccount
from penstock.sops.credentials import Credentials
from penstock.sops.gcp import GcpCredentials, GcpService, GcpServiceAccount
from penstock.sops.identity import ServiceAccount
from penstock.sops.keys import AgeKey, AwsKey, AzureKey, GcpKey, HuaweiKey, VaultKey, sealed
from penstock.sops.vault import VaultService, environment_token, static_token
from penstock.sops.vault_login import VaultLogin, login_paths, role
from tests.sops.azure_vault import AzureVault, azure_vault
from tests.sops.vault import served, vault_app

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

DATA_KEY = b"d" * 32
DEAD = "http://127.0.0.1:9"  # the discard port: nobody listens
RESOURCE = "projects/p/locations/global/keyRings/r/cryptoKeys/k"


async def test_vault_seals_and_opens() -> None:
    async with served(vault_app()) as address:
        service = VaultService(static_token("s.token"))
        key = VaultKey(address, "transit", "key")
        closed = sealed(key, await service.seal(key, DATA_KEY))
        assert closed.enc.startswith("vault:v1:")
        assert await service.open(closed) == DATA_KEY
        ring = sops.Keyring({"hc_vault": service})
        text = await sops.encrypt(b"a: 1\n", ring, sops.Metadata(groups=((key,),)), form=sops.Format.YAML)
        assert await sops.decrypt(text, ring, form=sops.Format.YAML) == b"a: 1\n"


async def test_vault_that_cannot_be_reached() -> None:
    """Key service/Vault token set, unreachable server"""
    service = VaultService(static_token("s.planted"))
    key = VaultKey(DEAD, "transit", "key")
    with pytest.raises(sops.DataKeyError, match="failed to encrypt sops data key to Vault transit backend") as sealing:
        await service.seal(key, DATA_KEY)
    with pytest.raises(
        sops.DataKeyError, match="failed to decrypt sops data key from Vault transit backend"
    ) as opening:
        await service.open(sealed(key, "vault:v1:x"))
    assert "planted" not in f"{sealing.value}{opening.value}"


async def test_without_a_token_the_environment_is_asked() -> None:
    """Key service/Vault no token → request handed to the default server"""
    async with served(vault_app()) as address:
        key = VaultKey(address, "transit", "key", enc="vault:v1:" + base64.b64encode(DATA_KEY).decode()[::-1])
        assert await VaultService(environment_token({"VAULT_TOKEN": "s.token\n"})).open(key) == DATA_KEY
        with pytest.raises(sops.DataKeyError, match="no Vault token is at hand"):
            await VaultService(environment_token({})).open(key)


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        pytest.param({}, True, id="nothing said: any"),
        pytest.param({"SOPS_HC_VAULT_ALLOWLIST": "all"}, True, id="all"),
        pytest.param({"SOPS_HC_VAULT_ALLOWLIST": "none"}, False, id="none"),
        pytest.param({"SOPS_HC_VAULT_ALLOWLIST": "https://a/, https://vault.example.com"}, True, id="listed"),
        pytest.param({"VAULT_ADDR": "https://other.example.com"}, False, id="A19 not the operator's server"),
    ],
)
async def test_the_operators_token_goes_where_it_may(environment: dict[str, str], allowed: bool) -> None:
    give = environment_token({"VAULT_TOKEN": "planted", **environment})
    if allowed:
        assert await give("https://vault.example.com") == "planted"
        return
    with pytest.raises(sops.DataKeyError, match=r"not for https://vault\.example\.com") as caught:
        await give("https://vault.example.com")
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "name", "said"),
    [
        pytest.param("transit", "other", "answered 404", id="a key that is not there"),
        pytest.param("moved", "key", "answered 307", id="a redirect is not followed"),
        pytest.param("transit/../sys", "key", "do not name a key", id="a path that climbs"),
        pytest.param("transit", "key?x=1", "do not name a key", id="a query in the name"),
    ],
)
async def test_vault_refuses(engine: str, name: str, said: str) -> None:
    async with served(vault_app()) as address:
        with pytest.raises(sops.DataKeyError, match=said):
            await VaultService(static_token("s.token")).open(VaultKey(address, engine, name, enc="vault:v1:x"))


async def test_vault_address_must_be_http() -> None:
    with pytest.raises(sops.DataKeyError, match="not the address of a Vault server"):
        await VaultService(static_token("t")).open(VaultKey("file:///etc", "transit", "key"))


def jwt(subject: str) -> str:
    payload = base64.urlsafe_b64encode(orjson.dumps({"sub": subject})).decode().rstrip("=")
    return f"e30.{payload}.sig"


@dataclass
class Accounts:
    """The cluster's side: tokens that say for whom and for which audience they are, and annotations."""

    asked: list[tuple[str, str, str]]
    notes: dict[str, str]

    async def token(self, namespace: str, name: str, audience: str) -> str:
        self.asked.append((namespace, name, audience))
        return jwt(f"system:serviceaccount:{namespace}:{name}")

    async def annotations(self, namespace: str, name: str) -> dict[str, str]:
        return self.notes


async def test_vault_login_with_a_service_account() -> None:
    token = jwt("system:serviceaccount:apps:deployer")
    async with served(vault_app(login={"role": "apps_deployer", "jwt": token})) as address:
        accounts = Accounts([], {})
        config = f"instances: [{{address: '{address}', loginPath: auth/kubernetes/login}}]"
        paths = login_paths({"config.yaml": config}, "flux-system/vault")
        login = VaultLogin(paths, "flux-system/vault", ServiceAccount(accounts, "apps", "deployer"))
        key = VaultKey(address, "transit", "key", enc="vault:v1:" + base64.b64encode(DATA_KEY).decode()[::-1])
        service = VaultService(login)
        assert [await service.open(key), await service.open(key)] == [DATA_KEY, DATA_KEY]
        assert accounts.asked == [("apps", "deployer", address)]
    unlisted = f"no Vault login path configured for address '{DEAD}' in ConfigMap 'flux-system/vault'"
    with pytest.raises(sops.DataKeyError, match=re.escape(unlisted)):
        await service.open(VaultKey(DEAD, "transit", "key"))


@pytest.mark.parametrize("subject", ["", "user", "system:serviceaccount:apps", "system:serviceaccount::x", "a:b"])
def test_a_token_that_names_no_service_account_has_no_role(subject: str) -> None:
    with pytest.raises(sops.DataKeyError, match="names no service account"):
        role(jwt(subject))


@pytest.mark.parametrize("data", [{}, {"config.yaml": "["}, {"config.yaml": "instances: 1"}])
def test_a_vault_config_map_must_make_sense(data: dict[str, str]) -> None:
    with pytest.raises(sops.KeyFileError, match="ConfigMap 'flux-system/vault'"):
        login_paths(data, "flux-system/vault")


@pytest.mark.parametrize("name", ["../x", "ns:sa", "UPPER", " ", "-a", "a/b"])
def test_an_odd_service_account_is_refused(name: str) -> None:
    with pytest.raises(sops.KeyFileError, match="is not the name of a service account"):
        ServiceAccount(Accounts([], {}), "apps", name)


@pytest.fixture(scope="module")
def moto() -> Generator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def arn(moto: str) -> str:
    client = boto3.client(
        "kms", region_name="us-west-2", endpoint_url=moto, aws_access_key_id="id", aws_secret_access_key="secret"
    )
    return str(client.create_key()["KeyMetadata"]["Arn"])


@pytest.mark.parametrize("more", [{}, {"context": {"app": "x"}}, {"role": "arn:aws:iam::123456789012:role/r"}])
async def test_aws_seals_and_opens(moto: str, arn: str, more: dict[str, Any]) -> None:
    service = AwsService(AwsCredentials("id", "secret"), endpoint=moto)
    key = AwsKey(arn, **more)
    assert await service.open(sealed(key, await service.seal(key, DATA_KEY))) == DATA_KEY


async def test_aws_checks_the_encryption_context(moto: str, arn: str) -> None:
    service = AwsService(AwsCredentials("id", "secret"), endpoint=moto)
    closed = await service.seal(AwsKey(arn, context={"app": "x"}), DATA_KEY)
    with pytest.raises(sops.DataKeyError, match="AWS KMS: InvalidCiphertext"):
        await service.open(AwsKey(arn, context={"app": "y"}, enc=closed))


async def test_aws_on_behalf_of_a_service_account(moto: str, arn: str) -> None:
    accounts = Accounts([], {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/r"})
    identity = AwsServiceAccount(ServiceAccount(accounts, "apps", "deployer"), endpoint=moto)
    service = AwsService(identity, endpoint=moto)
    key = AwsKey(arn)
    assert await service.open(sealed(key, await service.seal(key, DATA_KEY))) == DATA_KEY
    assert accounts.asked[0] == ("apps", "deployer", "sts.amazonaws.com")
    bare = AwsServiceAccount(ServiceAccount(Accounts([], {}), "apps", "deployer"))
    with pytest.raises(sops.DataKeyError, match="has no annotation eks"):
        await AwsService(bare).open(key)


async def test_aws_refuses() -> None:
    """Key service/AWS with unusable credentials"""
    service = AwsService(AwsCredentials("id", "planted"), endpoint=DEAD)
    key = AwsKey("arn:aws:kms:us-west-2:123456789012:key/x", enc="eA==")
    with pytest.raises(sops.DataKeyError, match="failed to decrypt sops data key with AWS KMS") as opening:
        await service.open(key)
    with pytest.raises(sops.DataKeyError, match="failed to encrypt sops data key with AWS KMS") as sealing:
        await service.seal(key, DATA_KEY)
    assert "planted" not in f"{opening.value}{sealing.value}"
    with pytest.raises(sops.DataKeyError, match="is not the ARN of a KMS key"):
        await service.open(AwsKey("arn:aws:s3:::x"))


def backwards(text: str) -> str:
    return base64.b64encode(base64.b64decode(text)[::-1]).decode()


def gcp_app() -> web.Application:
    """Google's KMS and token endpoints: it 'encrypts' by reversing."""

    async def token(request: web.Request) -> web.Response:
        body = await request.post()
        subject = body.get("subject_token") or body.get("refresh_token")
        return web.json_response(
            {"access_token": f"for-{str(subject)[:7]}", "expires_in": 3600, "token_type": "Bearer",
             "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
        )  # fmt: skip

    async def kms(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") not in ("Bearer for-refresh", "Bearer for-e30.eyJ"):
            return web.json_response({"error": {"code": 403}}, status=403)
        body = await request.json()
        if request.path.endswith(":encrypt"):
            return web.json_response({"ciphertext": backwards(body["plaintext"])})
        return web.json_response({"plaintext": backwards(body["ciphertext"])})

    app = web.Application()
    app.router.add_post("/token", token)
    app.router.add_post(f"/v1/{RESOURCE}:{{verb}}", kms)
    return app


def gcp_user(address: str) -> GcpCredentials:
    return GcpCredentials(
        {"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "refresh",
         "token_uri": f"{address}/token"}
    )  # fmt: skip


async def test_gcp_seals_and_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(gcp_app()) as address:
        monkeypatch.setattr("google.oauth2.credentials._GOOGLE_OAUTH2_TOKEN_ENDPOINT", f"{address}/token")
        service = GcpService(gcp_user(address), endpoint=address)
        key = GcpKey(RESOURCE)
        assert await service.open(sealed(key, await service.seal(key, DATA_KEY))) == DATA_KEY


async def test_gcp_on_behalf_of_a_service_account() -> None:
    async with served(gcp_app()) as address:
        accounts = Accounts([], {"gcp.auth.fluxcd.io/workload-identity-provider": "projects/1/x"})
        identity = GcpServiceAccount(ServiceAccount(accounts, "apps", "deployer"), token_url=f"{address}/token")
        service = GcpService(identity, endpoint=address)
        key = GcpKey(RESOURCE)
        assert await service.open(sealed(key, await service.seal(key, DATA_KEY))) == DATA_KEY
        assert accounts.asked[0] == ("apps", "deployer", "//iam.googleapis.com/projects/1/x")


async def test_gcp_refuses() -> None:
    """Key service/GCP with unusable credentials"""
    service = GcpService(gcp_user(DEAD), endpoint=DEAD)
    with pytest.raises(sops.DataKeyError, match="failed to decrypt sops data key with GCP KMS key"):
        await service.open(GcpKey(RESOURCE, enc="eA=="))
    with pytest.raises(sops.DataKeyError, match="failed to encrypt sops data key with GCP KMS key"):
        await service.seal(GcpKey(RESOURCE), DATA_KEY)
    with pytest.raises(sops.DataKeyError, match="is not the resource id of a KMS key"):
        await service.open(GcpKey("projects/../x"))


@pytest.fixture
async def vault() -> AsyncGenerator[AzureVault]:
    async with azure_vault() as standing_in:
        yield standing_in


async def test_azure_seals_and_opens(vault: AzureVault) -> None:
    service = vault.service()
    key = AzureKey(vault.address, "key", "v1")
    enc = await service.seal(key, DATA_KEY)
    assert await service.open(sealed(key, enc)) == DATA_KEY
    assert await service.open(AzureKey(vault.address, "key", enc=enc)) == DATA_KEY
    assert vault.tenants == {"tenant"}
    with pytest.raises(sops.DataKeyError, match="name a version of the key"):
        await service.seal(AzureKey(vault.address, "key"), DATA_KEY)


async def test_azure_refuses(vault: AzureVault) -> None:
    """Key service/Azure with unusable credentials"""
    service = vault.service(secret="wrong")
    key = AzureKey(vault.address, "key", "v1", enc="eA")
    with pytest.raises(sops.DataKeyError, match="failed to decrypt sops data key with Azure Key Vault") as opening:
        await service.open(key)
    with pytest.raises(sops.DataKeyError, match="failed to encrypt sops data key with Azure Key Vault"):
        await service.seal(key, DATA_KEY)
    assert "wrong" not in str(opening.value)


@pytest.mark.parametrize("kind", ["age", "pgp", "hc_vault", "kms", "gcp_kms", "azure_kv"])
async def test_a_key_of_another_kind_is_refused(kind: str) -> None:
    """Key service/key type nil"""
    found = Credentials(vault_token="t", aws=AwsCredentials("i", "s"), gcp=gcp_user(DEAD))
    services = found.services() | {"azure_kv": AzureVault.idle()}
    with pytest.raises(sops.DataKeyError, match=f"must provide a key of the kind {kind}"):
        await services[kind].open(HuaweiKey("x"))


async def test_a_kind_that_nobody_serves_is_named() -> None:
    metadata = sops.Metadata(groups=((HuaweiKey("region:id"), AgeKey("age1x")),))
    with pytest.raises(sops.DataKeyError, match="hckms region:id: no hckms keys or credentials are at hand"):
        await sops.Keyring().open(metadata)
