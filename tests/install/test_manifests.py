"""What is installed: the objects themselves, and the image that they run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
import yaml

from penstock import __version__
from penstock.cli import main
from penstock.cli.controller import controller
from penstock.errors import UsageError
from penstock.install import InstallOptions, components, manifests
from penstock.install.workload import USER

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster

ROOT = Path(__file__).parents[2]


def named(objects: list[Object], kind: str, name: str = "penstock") -> Object:
    (found,) = (obj for obj in objects if obj["kind"] == kind and obj["metadata"]["name"] == name)
    return found


def arguments(objects: list[Object]) -> list[str]:
    container: dict[str, Any] = named(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    return list(container["args"])


def exported(capsys: pytest.CaptureFixture[str], *more: str) -> list[Object]:
    assert main(["install", "--export", *more]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_the_export_is_the_same_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    outs: list[str] = []
    for _ in range(2):
        assert main(["install", "--export"]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]
    assert list(yaml.safe_load_all(outs[0])) == manifests(InstallOptions())


def test_everything_has_the_labels_of_flux(capsys: pytest.CaptureFixture[str]) -> None:
    for obj in exported(capsys, "-n", "gitops"):
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "flux"
        assert labels["app.kubernetes.io/instance"] == "gitops"
        assert labels["app.kubernetes.io/version"] == f"v{__version__}"
        assert obj["metadata"].get("namespace", "gitops") == "gitops"


@pytest.mark.parametrize(
    ("text", "expected", "definitions", "served"),
    [
        pytest.param("source,kustomize", ("source", "kustomize"), {"kustomizations", "buckets"}, True, id="both"),
        pytest.param("kustomize-controller", ("kustomize",), {"kustomizations", "buckets"}, False, id="Flux's name"),
        pytest.param("source", ("source",), {"buckets"}, True, id="sources alone"),
    ],
)
def test_components(text: str, expected: tuple[str, ...], definitions: set[str], served: bool) -> None:
    chosen = components(text)
    assert chosen == expected
    objects = manifests(InstallOptions(components=chosen))
    plurals = {obj["spec"]["names"]["plural"] for obj in objects if obj["kind"] == "CustomResourceDefinition"}
    assert plurals & {"kustomizations", "buckets"} == definitions
    assert f"--components={','.join(expected)}" in arguments(objects)
    assert any(obj["kind"] == "Service" for obj in objects) is served
    bound = [obj["roleRef"]["name"] for obj in objects if obj["kind"] == "ClusterRoleBinding"]
    assert ("cluster-admin" in bound) is ("kustomize" in expected), "who only fetches is no admin"


@pytest.mark.parametrize("text", ["", "helm", "source,helm-controller"])
def test_components_that_there_are_not(text: str) -> None:
    with pytest.raises(UsageError, match="--components"):
        components(text)


@pytest.mark.parametrize(
    ("options", "image"),
    [
        pytest.param([], f"penstock:v{__version__}", id="alone"),
        pytest.param(
            ["--registry", "registry.example.com/team/"], f"registry.example.com/team/penstock:v{__version__}"
        ),
        pytest.param(["--image", "example.com/p@sha256:1"], "example.com/p@sha256:1", id="by digest"),
    ],
)
def test_the_image(options: list[str], image: str, capsys: pytest.CaptureFixture[str]) -> None:
    pod = named(exported(capsys, *options), "Deployment")["spec"]["template"]["spec"]
    assert [container["image"] for container in pod["containers"]] == [image]


def test_options_reach_the_objects(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--no-watch-all-namespaces", "--log-level=debug", "--controller-arg=--concurrent=9"]
    objects = exported(capsys, *flags, "--no-network-policy", "--image-pull-secret=login", "--cluster-domain=c.example")
    given = arguments(objects)
    assert {"--no-watch-all-namespaces", "--log-level=debug", "--concurrent=9"} <= set(given)
    assert "--storage-adv-addr=penstock.$(RUNTIME_NAMESPACE).svc.c.example." in given
    assert not [obj for obj in objects if obj["kind"] == "NetworkPolicy"]
    assert named(objects, "ServiceAccount")["imagePullSecrets"] == [{"name": "login"}]


def test_several_replicas_share_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    objects = exported(capsys, "--replicas=3")
    deployment = named(objects, "Deployment")
    assert deployment["spec"]["replicas"] == 3
    assert "strategy" not in deployment["spec"]
    assert {"--share-work", "--storage-adv-addr=$(POD_IP):9090"} <= set(arguments(objects))
    assert "--enable-leader-election" not in arguments(objects)


def test_among_tenants_nobody_is_admin(capsys: pytest.CaptureFixture[str]) -> None:
    objects = exported(capsys, "--multi-tenant")
    assert "cluster-admin" not in [obj["roleRef"]["name"] for obj in objects if obj["kind"] == "ClusterRoleBinding"]
    assert {"--no-cross-namespace-refs", "--default-service-account=default"} <= set(arguments(objects))


@pytest.mark.parametrize("multi_tenant", [False, True], ids=["alone", "among tenants"])
def test_the_controllers_know_every_flag(multi_tenant: bool) -> None:
    app = typer.Typer()
    app.command()(controller)
    known = {name for option in typer.main.get_command(app).params for name in (*option.opts, *option.secondary_opts)}
    verb, *flags = arguments(manifests(InstallOptions(multi_tenant=multi_tenant)))
    assert verb == "controller"
    assert {flag.partition("=")[0] for flag in flags} <= known


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--components=helm"], "--components"),
        (["--log-level=loud"], "--log-level"),
        (["--replicas=0"], "--replicas"),
    ],
)
def test_wrong_use(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--export", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("multi_tenant", [False, True], ids=["alone", "among tenants"])
async def test_the_server_takes_every_field(cluster: Cluster, multi_tenant: bool) -> None:
    for obj in manifests(InstallOptions(namespace=cluster.namespace, multi_tenant=multi_tenant, replicas=2)):
        resource = await cluster.client.discovery.resource(obj["apiVersion"], obj["kind"])
        answer = await cluster.client.apply(
            resource, obj, manager="penstock", force=True, dry_run=True, validation="Strict"
        )
        assert answer["metadata"]["name"] == obj["metadata"]["name"]


class TestContainerfile:
    TEXT = (ROOT / "Containerfile").read_text()

    def test_everything_that_is_copied_is_there(self) -> None:
        copied = re.findall(r"^COPY (?!--from)(.+)$", self.TEXT, re.MULTILINE)
        names = [name for line in copied for name in line.split()[:-1]]
        assert names
        assert [name for name in names if not (ROOT / name).exists()] == []

    def test_no_image_is_named(self) -> None:
        assert set(re.findall(r"^FROM (\S+)", self.TEXT, re.MULTILINE)) == {"${BASE}"}

    def test_the_user_is_the_one_of_the_pod(self) -> None:
        assert f"USER {USER}:{USER}" in self.TEXT
