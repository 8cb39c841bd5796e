"""`penstock build kustomization`: what a controller would apply."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from penstock.api import crd
from penstock.cli import main
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from penstock.render.masking import ENCODED_MASK, MASK
from penstock.sops import Format
from tests.cli.trees import CONFIG, SERVICE, as_file, contents, kustomization, penstock, repository, write
from tests.controllers.kustomization.shelf import shelf
from tests.controlplane.build import NoGo
from tests.definitions import define
from tests.peers import flux
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube import Object
    from tests.clusters import Cluster

RING = new_ring()
SECRET = b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"keys"},"stringData":{"password":"hunter2"}}'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return as_file(tmp_path / "kustomization.yaml", kustomization())


def built(*arguments: object, capsys: pytest.CaptureFixture[str], code: int = 0) -> list[Object]:
    """The objects that the command prints for `apps`, without a cluster."""
    assert main(["build", "kustomization", "apps", "--dry-run", *map(str, arguments)]) == code
    return list(yaml.safe_load_all(capsys.readouterr().out))


async def encrypted(root: Path) -> None:
    """A Secret that is encrypted as a whole, and one that is generated from an encrypted file."""
    secret = await RING.encrypt(SECRET, Format.JSON, encrypted_regex="^(data|stringData)$")
    generated = await RING.encrypt(b"token=geheim\n", Format.DOTENV)
    files = {
        "apps/prod/kustomization.yaml": (
            "resources: [secret.yaml, plain.yaml]\nsecretGenerator: [{name: made, envs: [token.env]}]\n"
        ),
        "apps/prod/secret.yaml": secret.decode(),
        "apps/prod/token.env": generated.decode(),
        "apps/prod/plain.yaml": CONFIG,
    }
    await asyncio.to_thread(write, root, files)


class TestWithoutCluster:
    def test_overlay_owner_and_variables(self, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        spec: dict[str, Any] = {
            "targetNamespace": "shop",
            "postBuild": {"substitute": {"greeting": "goodbye"}},
            "commonMetadata": {"labels": {"team": "a"}},
            "patches": [
                {"patch": "- {op: add, path: /metadata/annotations, value: {x: z}}", "target": {"kind": "Service"}}
            ],
        }
        file = as_file(tmp_path / "ks.yaml", {"kind": "Other"}, kustomization(**spec))
        config, service = built("-f", file, "--path", root / "apps/prod", capsys=capsys)
        assert config == {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "prod-settings",
                "namespace": "shop",
                "labels": {
                    "kustomize.toolkit.fluxcd.io/name": "apps",
                    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
                    "team": "a",
                },
            },
            "data": {"greeting": "goodbye"},
        }
        assert service["metadata"]["annotations"] == {"x": "z"}

    def test_the_directory_is_not_touched(self, root: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (root / "apps/prod/kustomization.yaml").unlink()
        write(root, {"apps/prod/config.yaml": CONFIG})
        before = contents(root)
        assert len(built("-f", file, "--path", root / "apps/prod", capsys=capsys)) == 1
        assert contents(root) == before

    @pytest.mark.parametrize("path", ["apps/prod", "./apps/prod/", "apps/../apps/prod"])
    def test_paths_may_be_written_in_many_ways(
        self, root: Path, file: Path, path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(root)
        assert len(built("-f", file, "--path", path, capsys=capsys)) == 2

    def test_a_directory_of_another_name_belongs_to_its_repository(
        self, root: Path, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (root / ".git").mkdir()
        (root / "apps/prod").rename(root / "apps/moved")
        assert len(built("-f", file, "--path", root / "apps/moved", capsys=capsys)) == 2

    def test_files_outside_of_the_root_are_out_of_reach(
        self, root: Path, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(root.parent, {"secret.yaml": CONFIG})
        write(root, {"apps/prod/kustomization.yaml": "resources: [../../../secret.yaml]\n"})
        arguments = ["build", "kustomization", "apps", "--dry-run", "-f", str(file), "--path", str(root / "apps/prod")]
        assert main(arguments) == 1
        assert "leads out of" in capsys.readouterr().err

    def test_ignored_paths(self, root: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (root / "apps/prod/kustomization.yaml").unlink()
        write(root, {"apps/prod/config.yaml": CONFIG, "apps/prod/not.yaml": SERVICE})
        arguments = ["-f", file, "--path", root / "apps/prod"]
        assert [obj["kind"] for obj in built(*arguments, "--ignore-paths", "not.yaml", capsys=capsys)] == ["ConfigMap"]

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            pytest.param([], "hello-", id="a variable without a value is empty"),
            pytest.param(["--strict-substitute"], None, id="strict: it is an error"),
        ],
    )
    def test_strictness(
        self, root: Path, tmp_path: Path, more: list[str], expected: str | None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(root, {"base/config.yaml": CONFIG.replace("hello}", "hello}-${missing}")})
        file = as_file(tmp_path / "ks.yaml", kustomization(postBuild={"substitute": {"other": "x"}}))
        found = built("-f", file, "--path", root / "apps/prod", *more, capsys=capsys, code=int(expected is None))
        assert [obj["data"]["greeting"] for obj in found if obj["kind"] == "ConfigMap"] == (
            [expected] if expected else []
        )

    def test_variables_of_a_cluster_are_said_to_be_missing(
        self, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = as_file(
            tmp_path / "ks.yaml", kustomization(postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "vars"}]})
        )
        assert main(["build", "ks", "apps", "--dry-run", "-f", str(file), "--path", str(root / "apps/prod")]) == 0
        assert "variables of ConfigMap/vars are not known without a cluster" in capsys.readouterr().err

    async def test_secrets(self, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        await encrypted(root)
        key = tmp_path / "age.agekey"
        key.write_text(RING.text)
        file = as_file(tmp_path / "ks.yaml", kustomization(decryption={"provider": "sops"}))
        arguments = ["build", "ks", "apps", "--dry-run", "-f", file, "--path", root / "apps/prod"]
        assert await penstock(*arguments) == 0
        without = list(yaml.safe_load_all(capsys.readouterr().out))
        assert await penstock(*arguments, "--age-key-file", key) == 0
        text = capsys.readouterr().out
        masked = list(yaml.safe_load_all(text))
        assert await penstock(*arguments, "--age-key-file", key, "--show-secrets") == 0
        shown = list(yaml.safe_load_all(capsys.readouterr().out))

        def data(objects: list[Object], prefix: str) -> dict[str, Any]:
            (found,) = (obj for obj in objects if obj["metadata"]["name"].startswith(prefix))
            return dict(found.get("data") or found["stringData"])

        for objects in (without, masked):
            assert data(objects, "keys") == {"password": MASK}
            assert set(data(objects, "made").values()) == {ENCODED_MASK}
            assert data(objects, "settings") == {"greeting": "${greeting:=hello}"}, (
                "what was never encrypted is not masked"
            )
        assert data(shown, "keys") == {"password": "hunter2"}
        assert data(shown, "made") == {"token": base64.b64encode(b"geheim").decode()}
        assert data(masked, "made").keys() == {"token"}
        assert "sops" not in text
        names = [[obj["metadata"]["name"] for obj in objects] for objects in (masked, shown)]
        assert names[0] == names[1]

    async def test_a_decrypted_value_is_masked_wherever_it_lands(
        self, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        await encrypted(root)
        sealed = await RING.encrypt(
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"greeting":"geheim"}}',
            Format.JSON,
            encrypted_regex="^data$",
        )
        files = {
            "apps/prod/kustomization.yaml": "resources: [plain.yaml]\npatches: [{path: patch.yaml}]\n",
            "apps/prod/patch.yaml": sealed.decode(),
        }
        await asyncio.to_thread(write, root, files)
        key = tmp_path / "age.agekey"
        key.write_text(RING.text)
        file = as_file(tmp_path / "ks.yaml", kustomization(decryption={"provider": "sops"}))
        arguments = ["build", "ks", "apps", "--dry-run", "-f", file, "--path", root / "apps/prod"]
        assert await penstock(*arguments, "--age-key-file", key) == 0
        (config,) = yaml.safe_load_all(capsys.readouterr().out)
        assert config["data"] == {"greeting": MASK}

    async def test_an_encrypted_secret_without_decryption_fails_as_in_the_controller(
        self, root: Path, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        await encrypted(root)
        assert await penstock("build", "ks", "apps", "--dry-run", "-f", file, "--path", root / "apps/prod") == 1
        assert "is SOPS encrypted" in capsys.readouterr().err

    def test_recursion(self, root: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        other = write(tmp_path / "other", {"team/config.yaml": CONFIG})
        same, elsewhere, unknown = (
            kustomization("same", path="./base", targetNamespace="a"),
            kustomization(
                "elsewhere", path="team", sourceRef={"kind": "OCIRepository", "name": "team", "namespace": "t"}
            ),
            kustomization("unknown", sourceRef={"kind": "Bucket", "name": "b"}),
        )
        as_file(root / "apps/prod/all.yaml", same, elsewhere, unknown, kustomization())
        write(root, {"apps/prod/kustomization.yaml": "resources: [all.yaml]\n"})
        arguments = ["-f", file, "--path", root / "apps/prod"]
        assert len(built(*arguments, capsys=capsys)) == 4
        found = built(*arguments, "-r", "--local-source", f"OCIRepository/t/team={other}", capsys=capsys)
        owners = [obj["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] for obj in found]
        assert owners == ["apps"] * 4 + ["same"] * 2 + ["elsewhere"]

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            pytest.param([], "Missing argument 'NAME'", id="no name"),
            pytest.param(["apps", "--dry-run"], "with -f", id="no file"),
            pytest.param(["apps", "--dry-run", "-f", "FILE"], "with --path", id="no path"),
            pytest.param(["apps", "--dry-run", "-f", "FILE", "--path", "nowhere"], "is not a directory", id="bad path"),
            pytest.param(["other", "--dry-run", "-f", "FILE", "--path", "."], "has no Kustomization", id="other name"),
            pytest.param(["apps", "--dry-run", "-f", "none", "--path", "."], "cannot be read", id="no such file"),
            pytest.param(
                ["apps", "--dry-run", "-f", "FILE", "--path", ".", "--local-source", "x"],
                "--recursive",
                id="not recursive",
            ),
            pytest.param(
                ["apps", "--dry-run", "-f", "FILE", "--path", ".", "-r", "--local-source", "Git/a=b"],
                "KIND/NAMESPACE/NAME=DIR",
                id="a source that is none",
            ),
        ],
    )
    def test_wrong_use(self, arguments: list[str], told: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        given = [str(file) if one == "FILE" else one for one in arguments]
        assert main(["build", "kustomization", *given]) == 2
        assert told in capsys.readouterr().err

    def test_a_directory_with_that_name_is_still_built(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, {"ks/kustomization.yaml": "resources: [a.yaml]\n", "ks/a.yaml": CONFIG})
        monkeypatch.chdir(tmp_path)
        for more in ([], ["--reorder=none"], ["--enable-managedby-label"]):
            assert main(["build", "ks", *more]) == 0
            assert "name: settings" in capsys.readouterr().out

    def test_formats(self, root: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["build", "ks", "apps", "--dry-run", "-f", str(file), "--path", str(root / "apps/prod")]
        assert main([*arguments, "-o", "name"]) == 0
        assert capsys.readouterr().out == "configmap/prod-settings\nservice/prod-web\n"
        assert main([*arguments, "-o", "json"]) == 0
        assert [item["kind"] for item in json.loads(capsys.readouterr().out)["items"]] == ["ConfigMap", "Service"]


async def test_with_a_cluster(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spec, variables, keys and files are those of the cluster."""
    await define(cluster.client, *(crd(kind) for kind in ("Kustomization", "GitRepository")))
    client, namespace = cluster.client, cluster.namespace
    root = repository(tmp_path / "repo")
    await encrypted(root)
    await client.create(
        CONFIG_MAPS, {"metadata": {"name": "vars"}, "data": {"greeting": "bonjour"}}, namespace=namespace
    )
    keys = {"age.agekey": base64.b64encode(RING.text.encode()).decode()}
    await client.create(SECRETS, {"metadata": {"name": "keys"}, "data": keys}, namespace=namespace)
    body = kustomization(
        namespace=namespace,
        targetNamespace=namespace,
        decryption={"provider": "sops", "secretRef": {"name": "keys"}},
        postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "vars"}]},
    )
    await client.create(KUSTOMIZATIONS, body, namespace=namespace)
    access = ["--kubeconfig", cluster.kubeconfig, "-n", namespace]
    command = ["build", "kustomization", "apps", *access]
    assert await penstock(*command, "--path", root / "apps/prod", "--show-secrets") == 0
    from_disk = capsys.readouterr().out
    found = {obj["metadata"]["name"]: obj for obj in yaml.safe_load_all(from_disk)}
    assert found["settings"]["data"] == {"greeting": "bonjour"}
    assert found["keys"]["stringData"] == {"password": "hunter2"}

    assert await penstock(*command) == 1
    assert f"GitRepository/{namespace}/repo is not there; name a directory with --path" in capsys.readouterr().err
    source: Object = {"metadata": {"name": "repo"}, "spec": {"url": "https://example.com/repo", "interval": "1h"}}
    source |= {"apiVersion": KINDS["GitRepository"].api_version, "kind": "GitRepository"}
    await client.create(KINDS["GitRepository"], source, namespace=namespace)
    assert await penstock(*command) == 1
    assert "has no artifact yet" in capsys.readouterr().err
    async with shelf() as kept:
        files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        url, digest = kept.put(files)
        artifact = {
            "path": "x",
            "url": url,
            "digest": digest,
            "revision": "main@sha1:1",
            "lastUpdateTime": "2026-01-01T00:00:00Z",
        }
        await client.patch(
            KINDS["GitRepository"], "repo", namespace, {"status": {"artifact": artifact}}, subresource="status"
        )
        assert await penstock(*command, "--show-secrets") == 0
        assert capsys.readouterr().out == from_disk
    assert await penstock(*command) == 1
    assert "from outside of the cluster name a directory with --path" in capsys.readouterr().err

    await client.delete(SECRETS, "keys", namespace)
    assert await penstock(*command, "--path", root / "apps/prod") == 0
    out, err = capsys.readouterr()
    assert "encrypted values stay so" in err
    assert ENCODED_MASK in out
    assert await penstock("build", "kustomization", "none", *access, "--path", root) == 1
    assert "Kustomization object 'none' not found in" in capsys.readouterr().err


@pytest.mark.real
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="an overlay"),
        pytest.param({"targetNamespace": "shop", "namePrefix": "a-", "nameSuffix": "-z"}, id="names"),
        pytest.param({"postBuild": {"substitute": {"greeting": "goodbye"}}}, id="variables"),
        pytest.param({"commonMetadata": {"labels": {"team": "a"}, "annotations": {"b": "c"}}}, id="common metadata"),
        pytest.param(
            {"images": [{"name": "app", "newTag": "2"}], "path": "./plain"}, id="manifests without an overlay"
        ),
    ],
)
def test_the_same_objects_as_flux(
    spec: dict[str, Any], root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        program = flux()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: app}\nspec: {containers: [{name: app, image: 'app:1'}]}\n"
    write(root, {"plain/deep/config.yaml": CONFIG, "plain/pod.yaml": pod})
    body = kustomization(**spec)
    file = as_file(tmp_path / "ks.yaml", body)
    path = root / body["spec"]["path"]
    ours = built("-f", file, "--path", path, capsys=capsys)
    command = [program, "build", "kustomization", "apps", "--dry-run", "--kustomization-file", file, "--path", path]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50, cwd=tmp_path)
    assert ours == [obj for obj in yaml.safe_load_all(told.stdout) if obj]
