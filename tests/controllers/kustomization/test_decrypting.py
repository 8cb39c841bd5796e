"""SOPS files on their way through the controller: section 22.6, with age, post-quantum age, PGP and Vault."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock import sops
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS, Accounts
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from penstock.sops import Format
from penstock.sops.keys import PgpKey, VaultKey
from penstock.sops.pgp import PgpService, read_keys
from penstock.sops.vault import VaultService, static_token
from tests.controllers.kustomization.manifests import secret
from tests.sops.openpgp_keys import armored_public, armored_secret, new_key
from tests.sops.rings import new_hybrid_ring, new_ring
from tests.sops.vault import served, vault_app

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Settings
    from penstock.sops import KeyService
    from penstock.sops.keys import MasterKey
    from tests.controllers.kustomization.world import World
    from tests.sops.rings import Ring

RULES = {"encrypted_regex": "^(data|stringData)$"}
PLAIN = "value"


async def sealed(name: str, kind: str, service: KeyService, key: MasterKey) -> bytes:
    """A Secret that only this service can open."""
    metadata = sops.Metadata(groups=((key,),), rules=sops.Rules(**RULES))
    ring = sops.Keyring({kind: service})
    return await sops.encrypt(secret(name, {"key": PLAIN}).encode(), ring, metadata, form=Format.YAML)


async def overlay(age: Ring, hybrid: Ring) -> dict[str, bytes]:
    """A tree with ciphertext in every place where Flux decrypts it."""

    async def file(name: str, ring: Ring, **data: str) -> bytes:
        return await ring.encrypt(secret(name, data or {"key": PLAIN}).encode(), Format.YAML, **RULES)

    inside = base64.b64encode(await age.encrypt(b"key: value\n", Format.YAML)).decode()
    generated = (
        "secretGenerator:\n"
        "  - {name: envs, envs: [secret.env]}\n"
        "  - {name: files, files: [key=secret.txt]}\n"
        "configMapGenerator: [{name: envs, envs: [secret.env]}]\n"
        "generatorOptions: {disableNameSuffixHash: true}\n"
    )
    return {
        "kustomization.yaml": (
            f"resources: [age.yaml, hybrid.yaml, inside.yaml, merged.yaml]\ncomponents: [component]\n{generated}"
            "patches: [{path: merge1.yaml}, {path: merge2.yaml}]\n"
        ).encode(),
        "age.yaml": await file("algo-age", age),
        "hybrid.yaml": await file("algo-age-pq", hybrid),
        "inside.yaml": (
            f"apiVersion: v1\nkind: Secret\nmetadata: {{name: inside}}\ndata: {{key.yaml: {inside}}}\n"
        ).encode(),
        "secret.env": await age.encrypt(b"key=value\n", Format.DOTENV),
        "secret.txt": await age.encrypt(b"value", Format.BINARY),
        "merged.yaml": secret("merged").encode(),
        "merge1.yaml": await file("merged", age, key="merge1"),
        "merge2.yaml": await file("merged", age, merge2="merge2"),
        "component/kustomization.yaml": (
            b"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
            b"secretGenerator: [{name: component, envs: [component.env], options: {disableNameSuffixHash: true}}]\n"
        ),
        "component/component.env": await age.encrypt(b"key=value\n", Format.DOTENV),
    }


async def keys(world: World, name: str, **texts: str) -> None:
    data = {f"{key}.agekey": text for key, text in texts.items()}
    await world.client.create(SECRETS, {"metadata": {"name": name}, "stringData": data}, namespace=world.namespace)


async def data(world: World, name: str) -> dict[str, str]:
    found = await world.client.get(SECRETS, name, world.namespace)
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


@pytest.mark.scenario("22.6 Decryptor/1", "22.6 Decryptor/2", "A18")
async def test_ciphertext_in_every_place(world: World) -> None:
    age, hybrid = new_ring(), new_hybrid_ring()
    await keys(world, "keys", age=age.text, hybrid=hybrid.text)
    tree = await overlay(age, hybrid)
    await world.source("v1", tree)
    await world.kustomization(decryption={"provider": "sops", "secretRef": {"name": "keys"}})
    await world.until_applied("v1")
    for name in ("algo-age", "algo-age-pq", "envs", "files", "component"):
        assert await data(world, name) == {"key": PLAIN}, name
    assert await data(world, "inside") == {"key.yaml": "key: value\n"}
    assert await data(world, "merged") == {"key": "merge1", "merge2": "merge2"}
    assert (await world.client.get(CONFIG_MAPS, "envs", world.namespace))["data"] == {"key": PLAIN}

    await world.source("v2", tree)
    await world.until_applied("v2")
    (told,) = await world.until_told(1, revision="v2")
    assert "Reconciliation finished" in told["message"]


@pytest.mark.scenario("22.6 Decryptor/1")
async def test_other_keys_than_those_of_age(world: World) -> None:
    key = new_key()
    async with served(vault_app()) as address:
        pgp, vault = PgpService(tuple(read_keys(armored_public(key)))), VaultService(static_token("s.token"))
        tree = {
            "pgp.yaml": await sealed("algo-pgp", "pgp", pgp, PgpKey(key.fingerprint.upper())),
            "vault.yaml": await sealed("algo-vault", "hc_vault", vault, VaultKey(address, "transit", "key")),
        }
        texts = {"key.asc": armored_secret(key), "sops.vault-token": "s.token"}
        body = {"metadata": {"name": "keys"}, "stringData": texts}
        await world.client.create(SECRETS, body, namespace=world.namespace)
        await world.source("v1", tree)
        await world.kustomization(decryption={"provider": "sops", "secretRef": {"name": "keys"}})
        await world.until_applied("v1")
    assert await data(world, "algo-pgp") == await data(world, "algo-vault") == {"key": PLAIN}


@pytest.mark.scenario("22.6 Decryptor/3")
async def test_the_keys_of_the_operator_serve_who_names_none(world: World) -> None:
    ring = new_ring()
    await keys(world, "sops-age-secret", age=ring.text)
    await world.source("v1", {"secret.yaml": await ring.encrypt(secret("a").encode(), Format.YAML, **RULES)})
    await world.kustomization(decryption={"provider": "sops"})
    await world.until_applied("v1")
    assert await data(world, "a") == {"key": PLAIN}


@pytest.mark.scenario("22.6 Decryptor/4", "A19")
async def test_ones_own_keys_stand_in_front_of_those_of_the_operator(world: World) -> None:
    operators, own = new_ring(), new_ring()
    await keys(world, "sops-age-secret", age=operators.text)
    await keys(world, "keys", age=own.text)
    await world.source("v1", {"secret.yaml": await own.encrypt(secret("a").encode(), Format.YAML, **RULES)})
    await world.kustomization(decryption={"provider": "sops", "secretRef": {"name": "keys"}})
    await world.until_applied("v1")
    assert await data(world, "a") == {"key": PLAIN}

    await world.source("v2", {"secret.yaml": await operators.encrypt(secret("a").encode(), Format.YAML, **RULES)})
    ready = await world.until_failed("BuildFailed")
    assert PLAIN not in ready["message"], "whoever names keys has only these, and errors never show what is inside"


class TestServiceAccounts:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        gates = replace(settings.gates, object_level_workload_identity=True)
        return replace(settings, gates=gates, default_decryption_service_account="reader")

    @pytest.mark.parametrize("named", [True, False], ids=["that the spec names", "that the operator names"])
    async def test_ask_beside_the_keys_of_a_secret(
        self, world: World, monkeypatch: pytest.MonkeyPatch, named: bool
    ) -> None:
        """What the cluster says of the account is asked before the build, which runs elsewhere."""
        asked: list[tuple[str, str]] = []
        real = Accounts.token

        async def token(self: Accounts, namespace: str, name: str, audience: str) -> str:
            asked.append((name, audience))
            return await real(self, namespace, name, audience)

        monkeypatch.setattr(Accounts, "token", token)
        name = "own" if named else "reader"
        body = {"metadata": {"name": name, "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}}}
        await world.client.create(SERVICE_ACCOUNTS, body, namespace=world.namespace)
        ring = new_ring()
        await keys(world, "keys", age=ring.text)
        await world.source("v1", {"secret.yaml": await ring.encrypt(secret("a").encode(), Format.YAML, **RULES)})
        decryption = {"provider": "sops", "secretRef": {"name": "keys"}}
        await world.kustomization(decryption=decryption | ({"serviceAccountName": "own"} if named else {}))
        await world.until_applied("v1")
        assert await data(world, "a") == {"key": PLAIN}
        assert set(asked) == {(name, "sts.amazonaws.com")}
