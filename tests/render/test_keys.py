"""With which keys a Kustomization is decrypted. Docstrings name the scenarios of the decryptor's specification."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from penstock import sops
from penstock.kube.errors import NotFound, Status
from penstock.render import Decryption, DecryptionSettings, KeyMaterial, open_keyring, read_keys
from penstock.render.keys import identities, keyring_of
from penstock.sops.age import AgeService
from penstock.sops.aws import AwsCredentials, AwsOwnIdentity, AwsService, AwsServiceAccount
from penstock.sops.azure import AzureService
from penstock.sops.gcp import GcpService
from penstock.sops.granted import Granted
from penstock.sops.identity import ServiceAccount
from penstock.sops.keys import AgeKey, AwsKey, PgpKey
from penstock.sops.vault import VaultService
from penstock.sops.vault_login import VaultLogin
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OWN = new_ring()
GLOBAL = new_ring()
SECRETS: dict[tuple[str, str], Mapping[str, bytes]] = {
    ("apps", "keys"): {"a.agekey": OWN.text.encode()},
    ("flux-system", "sops-age"): {"a.agekey": GLOBAL.text.encode(), "sops.vault-token": b"planted"},
    ("apps", "aws"): {"sops.aws-kms": b"aws_access_key_id: i\naws_secret_access_key: s\n"},
}


async def read(namespace: str, name: str) -> Mapping[str, bytes]:
    if (namespace, name) not in SECRETS:
        raise NotFound(Status(404, message=f'secrets "{name}" not found', name=name))
    return SECRETS[(namespace, name)]


async def ring_of(decryption: Decryption | None, **settings: Any) -> sops.Keyring:
    return await open_keyring(decryption, "apps", read, DecryptionSettings(**settings))


def recipients(keyring: sops.Keyring) -> list[str]:
    service = keyring.services["age"]
    assert isinstance(service, AgeService)
    return [identity.recipient for identity in service.identities]


class Accounts:
    async def token(self, namespace: str, name: str, audience: str) -> str:
        raise NotImplementedError

    async def annotations(self, namespace: str, name: str) -> dict[str, str]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, None),
        ({"decryption": None}, None),
        ({"decryption": {"provider": "sops"}}, Decryption("sops")),
        (
            {"decryption": {"provider": "sops", "secretRef": {"name": "keys"}, "serviceAccountName": "sa"}},
            Decryption("sops", "keys", "sa"),
        ),
    ],
)
def test_decryption_of_a_spec(spec: dict[str, Any], expected: Decryption | None) -> None:
    assert Decryption.of(spec) == expected


async def test_its_own_secret() -> None:
    assert recipients(await ring_of(Decryption("sops", "keys"))) == [OWN.recipient]


async def test_its_own_secret_wins_entirely() -> None:
    keyring = await ring_of(Decryption("sops", "keys"), age_secret=("flux-system", "sops-age"))
    assert recipients(keyring) == [OWN.recipient]


async def test_the_operators_age_keys_are_the_fallback() -> None:
    keyring = await ring_of(Decryption("sops"), age_secret=("flux-system", "sops-age"))
    assert recipients(keyring) == [GLOBAL.recipient]
    service = keyring.services["hc_vault"]
    assert isinstance(service, VaultService)
    with pytest.raises(sops.DataKeyError, match="no Vault token"):
        await service.token("https://vault")


@pytest.mark.parametrize(
    "decryption",
    [
        pytest.param(None, id="ImportKeys/no decryption spec; SetAuthOptions/no decryption spec"),
        pytest.param(Decryption("not-supported", "not-there"), id="ImportKeys/provider not-supported"),
        pytest.param(Decryption("", "not-there"), id="SetAuthOptions/provider empty"),
    ],
)
async def test_no_keys_at_all(decryption: Decryption | None) -> None:
    assert (await ring_of(decryption)).services == {}


async def test_without_a_secret_there_are_no_local_keys() -> None:
    """ImportKeys/decryption without secretRef"""
    assert recipients(await ring_of(Decryption("sops"))) == []


async def test_a_secret_that_is_not_there() -> None:
    """ImportKeys/secretRef to a missing Secret"""
    with pytest.raises(NotFound, match='secrets "not-there" not found'):
        await ring_of(Decryption("sops", "not-there"))


async def test_clouds_are_asked_without_a_secret() -> None:
    """SetAuthOptions/provider sops"""
    services = (await ring_of(Decryption("sops"))).services
    assert isinstance(services["kms"], AwsService)
    assert isinstance(services["azure_kv"], AzureService)
    assert isinstance(services["gcp_kms"], GcpService)


async def test_static_credentials_come_before_an_identity() -> None:
    service = (await ring_of(Decryption("sops", "aws"))).services["kms"]
    assert isinstance(service, AwsService)
    assert service.identity == AwsCredentials("i", "s")


@pytest.mark.parametrize(
    ("own", "default", "expected"),
    [
        pytest.param("sa", "fallback", "sa", id="its own"),
        pytest.param("", "fallback", "fallback", id="the operator's default"),
        pytest.param("", "", None, id="the controller itself"),
    ],
)
async def test_whose_identity(own: str, default: str, expected: str | None) -> None:
    keyring = await ring_of(
        Decryption("sops", service_account=own), default_service_account=default, service_accounts=Accounts()
    )
    service = keyring.services["kms"]
    assert isinstance(service, AwsService)
    if expected is None:
        assert isinstance(service.identity, AwsOwnIdentity)
        return
    assert isinstance(service.identity, AwsServiceAccount)
    assert (service.identity.account.namespace, service.identity.account.name) == ("apps", expected)


async def test_keys_of_the_surroundings_are_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A19: key file paths, environment variables and agents of the controller's machine open nothing."""
    (tmp_path / "keys.txt").write_text(OWN.text)
    for name, value in {
        "SOPS_AGE_KEY": OWN.text,
        "SOPS_AGE_KEY_FILE": str(tmp_path / "keys.txt"),
        "SOPS_AGE_KEY_CMD": f"cat {tmp_path / 'keys.txt'}",
        "GNUPGHOME": str(tmp_path),
        "GPG_AGENT_INFO": "/run/agent",
        "HOME": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("asyncio.create_subprocess_exec", None)
    monkeypatch.setattr("subprocess.Popen", None)
    text = await OWN.encrypt(b"a: 1\n", sops.Format.YAML)
    keyring = await ring_of(Decryption("sops"))
    with pytest.raises(sops.DataKeyError, match="no age identity is at hand"):
        await sops.decrypt(text, keyring, form=sops.Format.YAML)
    with pytest.raises(sops.DataKeyError, match="none of the 0 PGP secret keys"):
        await keyring.services["pgp"].open(PgpKey("A" * 40, enc="x"))


async def test_a_secret_is_always_looked_for_in_its_own_namespace() -> None:
    """A19, A20: keys of another tenant"""
    asked: list[tuple[str, str]] = []

    async def recorded(namespace: str, name: str) -> Mapping[str, bytes]:
        asked.append((namespace, name))
        return {}

    for name in ("keys", "other/keys", "../other/keys"):
        await open_keyring(Decryption("sops", name), "apps", recorded, DecryptionSettings())
    assert {namespace for namespace, _ in asked} == {"apps"}


@pytest.mark.parametrize("name", ["../x", "ns:sa", "*"])
async def test_an_odd_account_never_becomes_the_controller(name: str) -> None:
    with pytest.raises(sops.KeyFileError, match="is not the name of a service account"):
        await ring_of(Decryption("sops", service_account=name), service_accounts=Accounts())


async def test_an_account_without_the_means_never_becomes_the_controller() -> None:
    with pytest.raises(sops.KeyFileError, match="is not enabled in the controller"):
        await ring_of(Decryption("sops", service_account="sa"))


async def test_every_aws_session_stands_alone() -> None:
    """SetAuthOptions/AWS factory called for three regions, and twice for one region"""
    service = identities(None)["kms"]
    assert isinstance(service, AwsService)
    regions = ["us-east-1", "eu-west-1", "ap-south-1", "us-east-1"]
    sessions = [await service.identity.session(region) for region in regions]
    assert [session.region_name for session in sessions] == regions
    assert len({id(session) for session in sessions}) == 4


def test_one_cloud_knows_nothing_of_another() -> None:
    """SetAuthOptions/with token cache → options of one cloud do not leak into another"""
    account = ServiceAccount(Accounts(), "apps", "sa")
    one, two = identities(account), identities(account)
    assert {type(service).__name__ for service in one.values()} == {"AwsService", "AzureService", "GcpService"}
    assert not {id(service) for service in one.values()} & {id(service) for service in two.values()}
    assert len({repr(service).partition("(identity=")[2].partition("(")[0] for service in one.values()}) == 3


async def test_a_service_account_that_is_not_there_is_one_reason_among_others() -> None:
    class Nobody(Accounts):
        async def annotations(self, namespace: str, name: str) -> dict[str, str]:
            raise NotFound(Status(404, message=f"serviceaccounts {namespace}/{name} not found", name=name))

    arn = "arn:aws:kms:us-west-2:123456789012:key/x"
    keyring = await ring_of(Decryption("sops", service_account="sa"), service_accounts=Nobody())
    metadata = sops.Metadata(groups=((AwsKey(arn), AgeKey(OWN.recipient)),))
    with pytest.raises(sops.DataKeyError, match="no age identity is at hand") as caught:
        await keyring.open(metadata)
    assert f"kms {arn}: serviceaccounts apps/sa not found" in str(caught.value)


async def test_vault_logins_are_for_service_accounts() -> None:
    logins = {"https://vault": "auth/kubernetes/login"}
    account = {"service_accounts": Accounts(), "vault_logins": logins, "vault_config_map": "flux-system/vault"}
    service = (await ring_of(Decryption("sops", service_account="sa"), **account)).services["hc_vault"]
    assert isinstance(service, VaultService)
    assert isinstance(service.token, VaultLogin)
    plain = (await ring_of(Decryption("sops"), environment={"VAULT_TOKEN": "t"}, vault_logins=logins)).services
    vault = plain["hc_vault"]
    assert isinstance(vault, VaultService)
    assert await vault.token("https://anywhere") == "t"
    own = ServiceAccount(Accounts(), "flux-system", "controller")
    service = (await ring_of(Decryption("sops"), own_account=own, vault_logins=logins)).services["hc_vault"]
    assert isinstance(service, VaultService)
    assert isinstance(service.token, VaultLogin)


async def material(decryption: Decryption | None, **settings: Any) -> KeyMaterial | None:
    return await read_keys(decryption, "apps", read, DecryptionSettings(**settings))


@pytest.mark.parametrize(
    ("secret", "settings", "expected"),
    [
        pytest.param("keys", {}, OWN, id="own keys"),
        pytest.param("", {"age_secret": ("flux-system", "sops-age")}, GLOBAL, id="the operator's age keys"),
        pytest.param("keys", {"age_secret": ("flux-system", "sops-age")}, OWN, id="own keys win entirely"),
    ],
)
async def test_key_material_becomes_the_same_ring_elsewhere(secret: str, settings: Any, expected: Any) -> None:
    keys = await material(Decryption("sops", secret), **settings)
    assert keys is not None
    assert keys.travels
    assert recipients(keyring_of(pickle.loads(pickle.dumps(keys)))) == [expected.recipient]
    assert "AGE-SECRET" not in repr(keys)


async def test_no_key_material_without_decryption() -> None:
    assert await material(None) is None
    assert await material(Decryption("other", "keys")) is None


async def test_keys_that_need_the_cluster_do_not_travel() -> None:
    keys = await material(Decryption("sops", "", "reader"), service_accounts=Accounts())
    assert keys is not None
    assert not keys.travels
    with pytest.raises(sops.KeyFileError, match="away from the cluster"):
        keyring_of(keys)


async def test_what_the_cluster_grants_beforehand_travels() -> None:
    granted = Granted("apps", "reader", {"eks.amazonaws.com/role-arn": "x"}, {"sts.amazonaws.com": "planted"})
    keys = KeyMaterial(provider="sops", account="reader", granted=granted)
    assert keys.travels
    assert "planted" not in repr(keys)
    service = keyring_of(pickle.loads(pickle.dumps(keys))).services["kms"]
    assert isinstance(service, AwsService)
    assert isinstance(service.identity, AwsServiceAccount), "never the controller itself"
    assert await service.identity.account.token("sts.amazonaws.com") == "planted"
