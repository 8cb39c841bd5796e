"""`penstock diff kustomization`: what applying would change, as a person, a script and a program read it."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import yaml

from penstock.api import crd
from penstock.apply import Applier, Difference, FieldChange, Owner, Preview
from penstock.cli import main
from penstock.cli.differences import Compared, rendered, summary
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.kube import ObjectRef
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from penstock.sops import Format
from tests.cli.trees import CONFIG, as_file, kustomization, penstock, write
from tests.definitions import define
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube import Object
    from tests.clusters import Cluster

RING = new_ring()


class World:
    """A directory, the Kustomization that builds it, and the cluster that it is compared with."""

    def __init__(self, cluster: Cluster, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self.root = cluster, root
        self._capsys = capsys

    async def files(self, files: dict[str, str]) -> None:
        await asyncio.to_thread(write, self.root / "apps/prod", files)

    async def declare(self, name: str = "apps", **spec: Any) -> None:
        body = kustomization(name, self.cluster.namespace, **{"targetNamespace": self.cluster.namespace} | spec)
        await self.cluster.client.create(KUSTOMIZATIONS, body, namespace=self.cluster.namespace)

    async def apply(self, *objects: Object, name: str = "apps") -> None:
        """As the controller would have done it, with the inventory in the status."""
        owner = Owner(name, self.cluster.namespace)
        for obj in objects:
            obj["metadata"] |= {"namespace": self.cluster.namespace, "labels": owner.labels()}
        done = await Applier(self.cluster.client).apply(objects, owner=owner)
        entries = [{"id": one.id, "v": one.v} for one in done.inventory().entries]
        await self.cluster.client.patch(
            KUSTOMIZATIONS,
            name,
            self.cluster.namespace,
            {"status": {"inventory": {"entries": entries}}},
            subresource="status",
        )

    async def diff(self, *more: object, name: str = "apps", path: bool = True) -> tuple[int, str, str]:
        """Exit code, output and words of the command."""
        where = ["--path", self.root / "apps/prod"] if path else []
        access = ["--kubeconfig", self.cluster.kubeconfig, "-n", self.cluster.namespace]
        code = await penstock("diff", "kustomization", name, *access, *where, *more)
        out, err = self._capsys.readouterr()
        return code, out.replace(self.cluster.namespace, "NS"), err.replace(self.cluster.namespace, "NS")

    def printed(self) -> list[str]:
        """The data of the printed ConfigMaps, by key."""
        objects = yaml.safe_load_all(self._capsys.readouterr().out)
        return [value for _, value in sorted(item for obj in objects for item in obj["data"].items())][::-1]


@pytest_asyncio.fixture
async def world(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    await define(cluster.client, crd("Kustomization"))
    return World(cluster, tmp_path, capsys)


def config(name: str = "settings", **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(**data: str) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "data": encoded}


async def sealed(kind: str = "", **data: str) -> str:
    """An encrypted Secret, as a file."""
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": data}
    if kind:
        body["type"] = kind
    plain = json.dumps(body).encode()
    return (await RING.encrypt(plain, Format.JSON, encrypted_regex="^stringData$")).decode()


async def test_from_nothing_to_no_difference(world: World) -> None:
    await world.declare()
    await world.files({"config.yaml": CONFIG})
    assert await world.diff() == (1, "► ConfigMap/NS/settings created\n", "► 1 created; 0 unchanged\n")
    await world.apply(config(greeting="${greeting:=hello}"))
    assert await world.diff() == (0, "", "✔ no changes detected in 1 objects\n")
    code, out, _ = await world.diff("-o", "wide")
    assert (code, out) == (0, "► ConfigMap/NS/settings unchanged\n")


async def test_what_changed_and_what_would_be_pruned(world: World) -> None:
    await world.declare()
    await world.apply(config(greeting="goodbye", old="1"), config("gone"))
    await world.files({"config.yaml": CONFIG})
    code, out, err = await world.diff()
    assert code == 1
    assert out.splitlines() == [
        "► ConfigMap/NS/settings configured",
        "  ~ data.greeting: goodbye → ${greeting:=hello}",
        '  - data.old: "1"',
        "► ConfigMap/NS/gone deleted",
    ]
    assert err == "► 1 configured, 1 deleted; 0 unchanged\n"
    code, out, _ = await world.diff("-o", "name")
    assert (code, out) == (1, "configmap/settings\nconfigmap/gone\n")
    code, out, _ = await world.diff("-o", "json")
    first, second = json.loads(out)
    assert code == 1
    assert (first["kind"], first["namespace"], first["name"], first["action"]) == (
        *("ConfigMap", "NS", "settings", "configured"),
    )
    assert first["fields"][1] == {"path": "data.old", "change": "removed", "before": "1", "after": None}
    assert second["action"] == "deleted"


async def test_without_prune_and_with_ignore_rules(world: World) -> None:
    await world.declare(prune=False, ignore=[{"paths": ["/data/greeting"]}])
    await world.apply(config(greeting="goodbye"), config("kept"))
    await world.files({"config.yaml": CONFIG})
    assert (await world.diff())[0] == 0


async def test_an_encrypted_secret_is_shown_only_as_changed_keys(world: World, tmp_path: Path) -> None:
    await world.declare(decryption={"provider": "sops"})
    await world.apply(secret(same="1", password="old", gone="1"))
    await world.files({"secret.yaml": await sealed(same="1", password="new", more="2")})
    key = tmp_path / "age.agekey"
    await asyncio.to_thread(key.write_text, RING.text)
    code, out, _ = await world.diff("--age-key-file", key)
    assert code == 1
    assert sorted(out.splitlines()) == [
        "  + data.more: *****",
        "  - data.gone: *****",
        "  ~ data.password: ***** → *****",
        "► Secret/NS/keys configured",
    ]
    _, out, _ = await world.diff("--age-key-file", key, "--show-secrets")
    assert f"data.password: {base64.b64encode(b'old').decode()} → {base64.b64encode(b'new').decode()}" in out


async def test_who_has_no_keys_sees_keys_come_and_go_but_no_values(world: World) -> None:
    await world.declare(decryption={"provider": "sops", "secretRef": {"name": "none"}})
    await world.apply(secret(password="old"))
    await world.files({"secret.yaml": await sealed(password="new")})
    code, out, err = await world.diff()
    assert (code, out) == (0, "")
    assert "⚠️ encrypted values stay so" in err
    await world.files({"secret.yaml": await sealed(password="new", more="2")})
    code, out, _ = await world.diff()
    assert (code, out) == (1, "► Secret/NS/keys configured\n  + data.more: *****\n")


async def test_a_new_pull_secret_without_keys_is_not_refused(world: World) -> None:
    """The API server looks into it: a mask would not do."""
    await world.declare(decryption={"provider": "sops"})
    content = {".dockerconfigjson": '{"auths":{"registry.example.com":{"auth":"eDp5"}}}'}
    await world.files({"secret.yaml": await sealed("kubernetes.io/dockerconfigjson", **content)})
    assert (await world.diff())[:2] == (1, "► Secret/NS/keys created\n")


async def test_below_a_kustomization(world: World) -> None:
    namespace = world.cluster.namespace
    child = kustomization("child", namespace, path="./child", targetNamespace=namespace)
    await world.declare(targetNamespace=None)
    await world.declare("child", path="./child")
    await world.apply(config("gone"), name="child")
    await world.files({"all.yaml": json.dumps(child)})
    await asyncio.to_thread(write, world.root, {"child/config.yaml": CONFIG})
    code, out, _ = await world.diff("--recursive")
    assert code == 1
    assert out.splitlines()[-3:] == [
        "Kustomization/NS/child",
        "► ConfigMap/NS/settings created",
        "► ConfigMap/NS/gone deleted",
    ]


async def test_what_cannot_be_found_out_is_exit_2(world: World, tmp_path: Path) -> None:
    code, out, err = await world.diff()
    assert (code, out) == (2, "")
    assert err == "✗ Kustomization object 'apps' not found in \"NS\" namespace\n"
    assert (await world.diff("--ignore-not-found"))[0] == 0
    await world.declare()
    await world.files({"config.yaml": CONFIG.replace("greeting:", "0greeting:")})
    await world.files(
        {"bad.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 0}]}\n"}
    )
    code, _, err = await world.diff()
    assert code == 2
    assert "✗ Service/NS/web dry-run failed (Invalid)" in err
    await world.files({"bad.yaml": "nothing: here\n"})
    assert (await world.diff())[0] == 2
    file = as_file(tmp_path / "ks.yaml", kustomization("other"))
    assert (await world.diff("-f", file))[0] == 2


async def test_a_file_instead_of_the_spec_of_the_cluster(world: World, tmp_path: Path) -> None:
    """The inventory is still the cluster's: what the new spec lacks is pruned."""
    await world.declare()
    await world.apply(config("gone"))
    await world.files({"config.yaml": CONFIG})
    namespace = world.cluster.namespace
    body = kustomization(namespace=namespace, targetNamespace=namespace, namePrefix="new-")
    code, out, _ = await world.diff("-f", as_file(tmp_path / "ks.yaml", body))
    assert (code, out) == (1, "► ConfigMap/NS/new-settings created\n► ConfigMap/NS/gone deleted\n")


async def test_with_the_rights_of_the_account(world: World) -> None:
    namespace = world.cluster.namespace
    await world.cluster.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "weak"}}, namespace=namespace)
    await world.declare(serviceAccountName="weak")
    await world.files({"config.yaml": CONFIG})
    assert (await world.diff())[0] == 1
    code, _, err = await world.diff("--as-account")
    assert code == 2
    assert "(Forbidden)" in err


async def test_variables_of_the_cluster(world: World) -> None:
    client, namespace = world.cluster.client, world.cluster.namespace
    await client.create(SECRETS, {"metadata": {"name": "vars"}, "stringData": {"greeting": "hi"}}, namespace=namespace)
    await client.create(CONFIG_MAPS, {"metadata": {"name": "more"}, "data": {"x": "y"}}, namespace=namespace)
    names = [{"kind": "Secret", "name": "vars"}, {"kind": "ConfigMap", "name": "more"}]
    await world.declare(postBuild={"substituteFrom": names})
    await world.apply(config(greeting="hi"))
    await world.files({"config.yaml": CONFIG})
    assert (await world.diff())[0] == 0


async def test_what_a_variable_of_a_secret_says_is_not_shown(world: World) -> None:
    client, namespace = world.cluster.client, world.cluster.namespace
    await client.create(
        SECRETS, {"metadata": {"name": "vars"}, "stringData": {"greeting": "geheim"}}, namespace=namespace
    )
    names = [{"kind": "Secret", "name": "vars"}]
    await world.declare(postBuild={"substitute": {"open": "hi"}, "substituteFrom": names})
    await world.apply(config(greeting="old"), config("other", open="ho"))
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {open: '${open}'}\n"
    await world.files({"config.yaml": CONFIG, "other.yaml": text})
    code, out, _ = await world.diff()
    assert code == 1
    assert "data.open: ho → hi" in out
    assert "data.greeting: ***** → *****" in out
    access = ["--kubeconfig", world.cluster.kubeconfig, "-n", namespace, "--path", world.root / "apps/prod"]
    assert await penstock("build", "kustomization", "apps", *access) == 0
    assert world.printed() == ["hi", "**SOPS**"]
    assert await penstock("build", "kustomization", "apps", *access, "--show-secrets") == 0
    assert world.printed() == ["hi", "geheim"]


async def test_no_secret_is_quoted_in_what_the_server_refuses(world: World) -> None:
    client, namespace = world.cluster.client, world.cluster.namespace
    body = {"metadata": {"name": "vars"}, "stringData": {"port": "GEHEIMNIS", "short": "GX"}}
    await client.create(SECRETS, body, namespace=namespace)
    await world.declare(postBuild={"substituteFrom": [{"kind": "Secret", "name": "vars"}]})
    ports = "[{port: 80, name: '${port}'}, {port: 81, name: '${short}'}]"
    await world.files(
        {"web.yaml": f"apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{ports: {ports}}}\n"}
    )
    code, out, err = await world.diff()
    assert code == 2
    assert "spec.ports[0].name" in err
    assert "*****" in err
    assert not any(word in out + err for word in ("GEHEIMNIS", "GX"))


@pytest.mark.parametrize(
    "arguments", [["diff", "ks"], ["diff", "ks", "a", "--bad"], ["diff", "ks", "a", "--timeout", "soon"]]
)
def test_wrong_use_is_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("✗ ")


def preview(*fields: FieldChange) -> list[Compared]:
    ref = ObjectRef("", "ConfigMap", "a", "b")
    return [Compared("ns/apps", Preview((Difference(ref, "configured", "v1", fields),)))]


@pytest.mark.parametrize(
    ("field", "lines"),
    [
        pytest.param(FieldChange(("a",), "added", after=1), ["  + a: 1"], id="a number"),
        pytest.param(FieldChange(("a",), "added", after="1"), ['  + a: "1"'], id="a text that looks like a number"),
        pytest.param(FieldChange(("a",), "added", after=" x"), ['  + a: " x"'], id="a blank that would not be seen"),
        pytest.param(FieldChange(("a", "b.c/d"), "removed", "x"), ["  - a[b.c/d]: x"], id="a name with dots"),
        pytest.param(FieldChange(("a",), "added", after={"b": [1]}), ['  + a: {"b":[1]}'], id="something with parts"),
        pytest.param(
            FieldChange(("a",), "changed", "one\ntwo\n", "one\nthree\n"),
            ["  ~ a:", "       one", "      -two", "      +three"],
            id="texts of many lines are compared by line",
        ),
        pytest.param(FieldChange(("a",), "added", after="\x1b[2J"), ["  + a: \\x1b[2J"], id="no escape codes"),
    ],
)
def test_how_a_field_is_shown(field: FieldChange, lines: list[str]) -> None:
    assert rendered(preview(field), None).splitlines() == ["► ConfigMap/a/b configured", *lines]


def test_colour_is_only_added() -> None:
    found = preview(FieldChange(("a",), "added", after=1), FieldChange(("b",), "removed", 1))
    assert rendered(found, None, colour=True).splitlines() == [
        "\x1b[1m► ConfigMap/a/b configured\x1b[0m",
        "\x1b[32m  + a: 1\x1b[0m",
        "\x1b[31m  - b: 1\x1b[0m",
    ]


def test_nothing_at_all() -> None:
    assert rendered([], None) == ""
    assert summary([Compared("a/b", Preview())]) == "✔ no changes detected in 0 objects"
