"""Build and transformers, from the source and from the spec: scenarios of section 22.4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube import Resource
from penstock.kube.resources import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, SECRETS
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.controllers.kustomization.world import World

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
WRONG = f"{config_map('a')}---\npiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"config.yaml": WRONG}, marks=pytest.mark.scenario("22.4 Validation/plain"), id="plain"),
        pytest.param(
            {"config.yaml": WRONG, "kustomization.yaml": "resources: [config.yaml]\n"},
            marks=pytest.mark.scenario("22.4 Validation/overlay"),
            id="overlay",
        ),
    ],
)
async def test_a_document_without_its_api_version(world: World, files: dict[str, str]) -> None:
    await world.source("v1", files)
    await world.kustomization()
    await world.until_failed("BuildFailed", says="apiVersion")
    assert world.status()["lastAttemptedRevision"] == "v1"
    assert not await world.config_map("a"), "one document is wrong: nothing is applied"


@pytest.mark.scenario("22.4 CommonMetadata/1", "22.4 CommonMetadata/2")
async def test_labels_and_annotations_for_everything(world: World) -> None:
    await world.source("v1", {"config.yaml": config_map("a", metadata="annotations: {tenant: test}")})
    common = {"labels": {"tenant": "blue"}, "annotations": {"tenant": "blue"}}
    await world.kustomization(commonMetadata=common)
    await world.until_applied("v1")
    found = (await world.client.get(CONFIG_MAPS, "a", world.namespace))["metadata"]
    assert (found["labels"]["tenant"], found["annotations"]["tenant"]) == ("blue", "blue")

    await world.change({"commonMetadata": None})
    await world.until_applied("v1")
    found = (await world.client.get(CONFIG_MAPS, "a", world.namespace))["metadata"]
    assert "tenant" not in found["labels"]
    assert found["annotations"]["tenant"] == "test"


@pytest.mark.scenario("22.4 NamePrefixSuffix")
async def test_a_prefix_and_a_suffix(world: World) -> None:
    await world.source("v1", {"config.yaml": config_map("a")})
    await world.kustomization(namePrefix="prefix-", nameSuffix="-suffix")
    await world.until_applied("v1")
    assert await world.config_map("prefix-a-suffix")


PODINFO = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: podinfo
  labels: {app: podinfo}
spec:
  replicas: 1
  selector: {matchLabels: {app: podinfo}}
  template:
    metadata: {labels: {app: podinfo}}
    spec:
      containers:
        - {name: podinfo, image: ghcr.io/stefanprodan/podinfo:5.0.0}
        - {name: proxy, image: envoy:1.0.0}
"""
QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata:
  name: common
spec:
  hard: {limits.memory: 1Gi}
"""
INLINE = """
namespace: NAMESPACE
namePrefix: test-
nameSuffix: -transform
commonAnnotations: {test: annotations}
labels: [{pairs: {test: labels}}]
resources: [podinfo.yaml, quota.yaml, namespace.yaml]
configMapGenerator: [{name: metas, literals: [memory=24Gi]}]
secretGenerator: [{name: secret, literals: [password=secret]}]
images: [{name: ghcr.io/stefanprodan/podinfo, newName: podinfo, newTag: 6.0.0}]
replicas: [{name: podinfo, count: 2}]
patchesJson6902:
  - target: {group: apps, version: v1, kind: Deployment, name: podinfo}
    patch: '[{"op": "add", "path": "/metadata/labels/patch", "value": "json6902"}]'
patchesStrategicMerge:
  - |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: podinfo}
    spec: {template: {spec: {serviceAccountName: test}}}
patches: [{path: version.yaml, target: {kind: Deployment}}]
replacements:
  - source: {kind: ConfigMap, name: metas, fieldPath: data.memory}
    targets: [{select: {kind: ResourceQuota}, fieldPaths: ['spec.hard.[limits.memory]']}]
"""
VERSION = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: podinfo
  labels: {app.kubernetes.io/version: 1.21.0}
"""
FILES = """
resources: [podinfo.yaml, quota.yaml, namespace.yaml]
generators: [generators.yaml]
transformers: [patches.yaml, replacements.yaml, transformers.yaml]
"""
GENERATORS = """
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: metas}
literals: [memory=24Gi]
---
apiVersion: builtin
kind: SecretGenerator
metadata: {name: secret}
literals: [password=secret]
"""
PATCHES = """
apiVersion: builtin
kind: PatchJson6902Transformer
metadata: {name: json}
target: {group: apps, version: v1, kind: Deployment, name: podinfo}
jsonOp: '[{"op": "add", "path": "/metadata/labels/patch", "value": "json6902"}]'
---
apiVersion: builtin
kind: PatchStrategicMergeTransformer
metadata: {name: merge}
patches: |
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: podinfo}
  spec: {template: {spec: {serviceAccountName: test}}}
---
apiVersion: builtin
kind: PatchTransformer
metadata: {name: file}
path: version.yaml
target: {kind: Deployment}
---
apiVersion: builtin
kind: ImageTagTransformer
metadata: {name: image}
imageTag: {name: ghcr.io/stefanprodan/podinfo, newName: podinfo, newTag: 6.0.0}
---
apiVersion: builtin
kind: ReplicaCountTransformer
metadata: {name: replicas}
replica: {name: podinfo, count: 2}
fieldSpecs: [{path: spec/replicas, create: true, kind: Deployment}]
"""
REPLACEMENTS = """
apiVersion: builtin
kind: ReplacementTransformer
metadata: {name: replacements}
replacements:
  - source: {kind: ConfigMap, name: metas, fieldPath: data.memory}
    targets: [{select: {kind: ResourceQuota}, fieldPaths: ['spec.hard.[limits.memory]']}]
"""
TRANSFORMERS = """
apiVersion: builtin
kind: AnnotationsTransformer
metadata: {name: annotations}
annotations: {test: annotations}
fieldSpecs: [{path: metadata/annotations, create: true}]
---
apiVersion: builtin
kind: LabelTransformer
metadata: {name: labels}
labels: {test: labels}
fieldSpecs: [{path: metadata/labels, create: true}]
---
apiVersion: builtin
kind: NamespaceTransformer
metadata: {name: namespace, namespace: NAMESPACE}
fieldSpecs: [{path: metadata/name, kind: Namespace, create: true}]
---
apiVersion: builtin
kind: PrefixSuffixTransformer
metadata: {name: prefix}
prefix: test-
suffix: -transform
fieldSpecs: [{path: metadata/name}]
"""


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"kustomization.yaml": INLINE, "version.yaml": VERSION},
            marks=pytest.mark.scenario("22.4 KustomizeTransformer"),
            id="fields",
        ),
        pytest.param(
            {
                "kustomization.yaml": FILES,
                "version.yaml": VERSION,
                "generators.yaml": GENERATORS,
                "patches.yaml": PATCHES,
                "replacements.yaml": REPLACEMENTS,
                "transformers.yaml": TRANSFORMERS,
            },
            marks=pytest.mark.scenario("22.4 KustomizeTransformerFiles"),
            id="files",
        ),
    ],
)
async def test_everything_that_kustomize_does(world: World, files: dict[str, str]) -> None:
    made = await world.client.create(NAMESPACES, {"metadata": {"generateName": "transformers-"}})
    place = made["metadata"]["name"]
    tree = {
        "podinfo.yaml": PODINFO,
        "quota.yaml": QUOTA,
        "namespace.yaml": config_map("placeholder"),
        **{name: text.replace("NAMESPACE", place) for name, text in files.items()},
    }
    await world.source("v1", tree)
    await world.kustomization(prune=False, targetNamespace=None)
    await world.until_applied("v1")

    quota = await world.client.get(QUOTAS, "test-common-transform", place)
    assert quota["spec"]["hard"] == {"limits.memory": "24Gi"}
    assert quota["metadata"]["annotations"]["test"] == "annotations"
    assert quota["metadata"]["labels"]["test"] == "labels"
    for resource, name in ((CONFIG_MAPS, "test-metas-transform"), (SECRETS, "test-secret-transform")):
        names = [one["metadata"]["name"] for one in (await world.client.list(resource, place)).items]
        assert any(name in one for one in names), names
    deployment = await world.client.get(DEPLOYMENTS, "test-podinfo-transform", place)
    labels = deployment["metadata"]["labels"]
    assert (labels["patch"], labels["app.kubernetes.io/version"]) == ("json6902", "1.21.0")
    spec = deployment["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == "test"
    assert spec["containers"][0]["image"] == "podinfo:6.0.0"
    assert deployment["spec"]["replicas"] == 2
    await world.client.delete(NAMESPACES, place)


@pytest.mark.scenario("22.4 FluxTransformers")
async def test_images_and_patches_of_the_spec(world: World) -> None:
    digest = f"sha256:{'a' * 64}"
    await world.source("v1", {"deployment.yaml": PODINFO})
    json_patch = '[{"op": "add", "path": "/metadata/labels/patch1", "value": "ok"}]'
    merge_patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: podinfo, labels: {patch2: ok}}\n"
    await world.kustomization(
        images=[
            {"name": "ghcr.io/stefanprodan/podinfo", "newName": "podinfo", "newTag": "6.1.0"},
            {"name": "envoy", "digest": digest},
        ],
        patches=[{"patch": json_patch, "target": {"labelSelector": "app=podinfo"}}, {"patch": merge_patch}],
    )
    await world.until_applied("v1")
    found = await world.client.get(DEPLOYMENTS, "podinfo", world.namespace)
    assert found["metadata"]["labels"].items() >= {"patch1": "ok", "patch2": "ok"}.items()
    images = [one["image"] for one in found["spec"]["template"]["spec"]["containers"]]
    assert images == ["podinfo:6.1.0", f"envoy@{digest}"]


def delete(*names: str) -> str:
    """A patch that takes these ConfigMaps out of the build."""
    return "---\n".join(
        f"$patch: delete\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n" for name in names
    )


@pytest.mark.parametrize(
    "patches",
    [
        pytest.param(
            [{"patch": delete("cm1", "cm2")}],
            marks=pytest.mark.scenario("22.4 MultiplePatchDelete/1"),
            id="in one patch",
        ),
        pytest.param(
            [{"patch": delete("cm1")}, {"patch": delete("cm2")}],
            marks=pytest.mark.scenario("22.4 MultiplePatchDelete/2"),
            id="in two",
        ),
    ],
)
async def test_a_patch_that_deletes(world: World, patches: list[dict[str, Any]]) -> None:
    await world.source("v1", {f"{name}.yaml": config_map(name) for name in ("cm1", "cm2", "cm3")})
    await world.kustomization(patches=patches)
    await world.until_applied("v1")
    present = [name for name in ("cm1", "cm2", "cm3") if await world.config_map(name)]
    assert present == ["cm3"]
    await world.delete()
    await world.until_gone()


@pytest.mark.scenario("22.4 BuildMetadata/1", "22.4 BuildMetadata/2")
async def test_where_an_object_came_from(world: World) -> None:
    async def annotations() -> Object:
        found: Object = (await world.client.get(CONFIG_MAPS, "a", world.namespace))["metadata"].get("annotations") or {}
        return found

    await world.source("v1", {"config.yaml": config_map("a")})
    await world.kustomization(buildMetadata=["originAnnotations"])
    await world.until_applied("v1")
    assert "config.kubernetes.io/origin" in await annotations()
    await world.change({"buildMetadata": None})
    await world.until_applied("v1")
    assert "config.kubernetes.io/origin" not in await annotations()
