"""`from penstock import build, diff, decrypt, cluster`: what the guide does not show."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.kube.resources import CONFIG_MAPS
from penstock.render.masking import MASK
from penstock.sops import Format
from tests.cli.trees import CONFIG, kustomization, repository, write
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clusters import Cluster

RING = new_ring()
SECRET = b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"keys"},"stringData":{"password":"hunter2"}}'


def test_nothing_heavy_is_imported_with_the_package() -> None:
    told = "import sys, penstock; print([n for n in ('asyncio', 'msgspec', 'aiohttp', 'typer') if n in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=30)
    assert ended.stdout == "[]\n"


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'biuld'"):
        penstock.__getattr__("biuld")


@pytest.mark.parametrize("name", penstock.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(penstock, name)


def test_build_is_kustomize(tmp_path: Path) -> None:
    found = penstock.build(repository(tmp_path) / "apps/prod")
    assert [obj["metadata"]["name"] for obj in found] == ["prod-settings", "prod-web"]


def test_build_of_a_kustomization_is_strict_when_asked(tmp_path: Path) -> None:
    repository(tmp_path)
    write(tmp_path, {"base/config.yaml": CONFIG.replace("greeting:=hello", "greeting")})
    wanted = kustomization(postBuild={"substitute": {"other": "x"}})
    path = tmp_path / "apps/prod"
    config, _ = penstock.build(path, kustomization=wanted)
    assert config["data"] == {"greeting": None}
    with pytest.raises(PenstockError, match="greeting"):
        penstock.build(path, kustomization=wanted, strict=True)
    config, _ = penstock.build(path, kustomization=wanted, strict=True, variables={"greeting": "hi", "other": "y"})
    assert config["data"] == {"greeting": "hi"}


def test_secrets(tmp_path: Path) -> None:
    sealed = asyncio.run(RING.encrypt(SECRET, Format.JSON, encrypted_regex="^stringData$"))
    (tmp_path / "secret.yaml").write_bytes(sealed)
    wanted = kustomization(path="", decryption={"provider": "sops"})
    (masked,) = penstock.build(tmp_path, kustomization=wanted)
    assert masked["stringData"] == {"password": MASK}
    key = tmp_path / "age.agekey"
    key.write_text(RING.text)
    for keys in ([RING.text], [key]):
        (secret,) = penstock.build(tmp_path, kustomization=wanted, age_keys=keys)
        assert secret["stringData"] == {"password": "hunter2"}
        assert b"hunter2" in penstock.decrypt(sealed, age_keys=keys, form=Format.JSON)


def test_a_kustomization_may_want_macs_to_be_checked(tmp_path: Path) -> None:
    plain = b"apiVersion: v1\nkind: Secret\nmetadata:\n  name: keys\nstringData:\n  password: hunter2\n"
    sealed = asyncio.run(RING.encrypt(plain, Format.YAML, encrypted_regex="^stringData$"))
    tampered = sealed.replace(b"name: keys", b"name: kees")
    assert tampered != sealed
    (tmp_path / "secret.yaml").write_bytes(tampered)
    wanted = kustomization(path="", decryption={"provider": "sops"})
    assert penstock.build(tmp_path, kustomization=wanted, age_keys=[RING.text])
    wanted["metadata"]["annotations"] = {"penstock.dev/sops-mac": "verify"}
    with pytest.raises(PenstockError, match="MAC"):
        penstock.build(tmp_path, kustomization=wanted, age_keys=[RING.text])


async def test_what_blocks_says_so_in_a_coroutine(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"asyncio.to_thread\(build"):
        penstock.build(tmp_path, kustomization=kustomization(path=""))
    with pytest.raises(UsageError, match=r"asyncio.to_thread\(decrypt"):
        penstock.decrypt(b"", age_keys=[])


def test_a_decrypted_file_has_the_format_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "token.env"
    file.write_bytes(asyncio.run(RING.encrypt(b"token=1\n", Format.DOTENV)))
    assert penstock.decrypt(file, age_keys=[RING.text]) == b"token=1\n"
    with pytest.raises(PenstockError):
        penstock.decrypt(file, age_keys=[])


async def test_diff(cluster: Cluster, tmp_path: Path) -> None:
    write(tmp_path, {"config.yaml": CONFIG})
    wanted = kustomization(path="", targetNamespace=cluster.namespace)
    found = await penstock.diff(cluster.client, wanted, tmp_path)
    assert [str(one) for one in found] == [f"ConfigMap/{cluster.namespace}/settings created"]
    body = {"metadata": {"name": "settings"}, "data": {"greeting": "old"}}
    await cluster.client.create(CONFIG_MAPS, body, namespace=cluster.namespace)
    (one,) = await penstock.diff(cluster.client, wanted, tmp_path)
    assert "data.greeting" in [str(field) for field in one.fields]
