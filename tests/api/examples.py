"""Objects to try things on: valid ones from `objects/`, and what becomes of them when one field is wrong."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

OBJECTS = Path(__file__).parent / "objects"
LEFT_OUT = object()


@cache
def _load(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((OBJECTS / f"{name}.yaml").read_text()))


def names() -> list[str]:
    """The files of examples: one a kind, and one for older versions."""
    return sorted(path.stem for path in OBJECTS.glob("*.yaml"))


def examples(name: str) -> list[dict[str, Any]]:
    """The objects of one file, as fresh copies."""
    return deepcopy(_load(name))


def spoilt(kind: str, *changes: tuple[str, Any]) -> dict[str, Any]:
    """The first example of a kind with some fields changed; LEFT_OUT takes a field away."""
    obj = examples(kind.lower())[0]
    for path, value in changes:
        *parents, last = path.split(".")
        here = obj
        for parent in parents:
            here = here.setdefault(parent, {})
        if value is LEFT_OUT:
            del here[last]
        else:
            here[last] = value
    return obj


@dataclass(frozen=True)
class Wrong:
    """An object with something wrong, and what is said about it."""

    id: str
    kind: str
    path: str
    value: Any
    says: str
    refused_by_server: bool = True

    @property
    def obj(self) -> dict[str, Any]:
        return spoilt(self.kind, (self.path, self.value))


_LONG = "1" + "0" * 400
_NOON = "2030-01-31T12:00:00Z"
_RELEASE = {
    "name": "queue",
    "namespace": "default",
    "version": 1,
    "status": "deployed",
    "chartName": "queue",
    "chartVersion": "2.0.0",
    "configDigest": "sha256:abc",
    "digest": "sha256:abc",
    "firstDeployed": _NOON,
    "lastDeployed": _NOON,
}

# What `decode` refuses. The API server refuses it too, unless it says otherwise.
WRONG = [
    Wrong(
        "a number is not a duration",
        "Kustomization",
        "spec.interval",
        "10",
        'Kustomization/default/storefront: spec.interval: "10" is not a duration like 10m or 1h30m',
    ),
    Wrong(
        "a bare number is not a duration",
        "Kustomization",
        "spec.interval",
        10,
        "Kustomization/default/storefront: spec.interval: 10 is not a duration like 10m or 1h30m",
    ),
    Wrong(
        "a negative duration",
        "Kustomization",
        "spec.timeout",
        "-5m",
        'Kustomization/default/storefront: spec.timeout: "-5m" is not a duration like 10m or 1h30m',
    ),
    Wrong(
        "a duration longer than Go can count",
        "Kustomization",
        "spec.retryInterval",
        "2562048h",
        'Kustomization/default/storefront: spec.retryInterval: "2562048h" is too long; '
        "a duration ends at about 292 years",
        refused_by_server=False,
    ),
    Wrong(
        "a duration of four hundred digits",
        "Kustomization",
        "spec.interval",
        _LONG + "h",
        f'Kustomization/default/storefront: spec.interval: "{_LONG[:40]}..." has more than 100 characters; '
        "no duration needs that",
        refused_by_server=False,
    ),
    Wrong(
        "a duration with a line break",
        "Kustomization",
        "spec.interval",
        "10m\n",
        'Kustomization/default/storefront: spec.interval: "10m\\n" is not a duration like 10m or 1h30m',
    ),
    Wrong(
        "hours where only minutes are taken",
        "GitRepository",
        "spec.timeout",
        "1h",
        'GitRepository/default/storefront: spec.timeout: "1h" is not a duration like 30s or 1m30s '
        "(hours are not taken here)",
    ),
    Wrong(
        "a required field is missing",
        "Kustomization",
        "spec.prune",
        LEFT_OUT,
        "Kustomization/default/storefront: spec.prune: is required",
    ),
    Wrong(
        "no spec at all",
        "GitRepository",
        "spec",
        LEFT_OUT,
        "GitRepository/default/storefront: spec: is required",
        refused_by_server=False,
    ),
    Wrong(
        "a required field of a list entry is missing",
        "Kustomization",
        "spec.dependsOn",
        [{"name": "a"}, {"namespace": "b"}],
        "Kustomization/default/storefront: spec.dependsOn[1].name: is required",
    ),
    Wrong(
        "a word that is not in the list",
        "Kustomization",
        "spec.deletionPolicy",
        "Keep",
        'Kustomization/default/storefront: spec.deletionPolicy: "Keep" is not one of '
        "MirrorPrune, Delete, WaitForTermination, Orphan",
    ),
    Wrong(
        "a source of a kind we do not know",
        "Kustomization",
        "spec.sourceRef.kind",
        "HelmRepository",
        'Kustomization/default/storefront: spec.sourceRef.kind: "HelmRepository" is not one of '
        "OCIRepository, GitRepository, Bucket, ExternalArtifact",
    ),
    Wrong(
        "text where a switch belongs",
        "Kustomization",
        "spec.prune",
        "yes",
        "Kustomization/default/storefront: spec.prune: must be true or false, not a string",
    ),
    Wrong(
        "a list where text belongs",
        "Kustomization",
        "spec.path",
        ["a"],
        "Kustomization/default/storefront: spec.path: must be a string, not a list",
    ),
    Wrong(
        "a map of numbers",
        "Kustomization",
        "spec.postBuild",
        {"substitute": {"REPLICAS": 3}},
        "Kustomization/default/storefront: spec.postBuild.substitute[*]: must be a string, not a number",
    ),
    Wrong(
        "a map with a key that is a number",
        "Kustomization",
        "spec.postBuild",
        {"substitute": {1: "one"}},
        "Kustomization/default/storefront: spec.postBuild.substitute: every key must be a string",
        refused_by_server=False,  # JSON has no such keys; only YAML does
    ),
    Wrong(
        "a time somewhere in a map",
        "HelmRelease",
        "status",
        {"history": [_RELEASE | {"testHooks": {"smoke": {"lastStarted": "noon"}}}]},
        "HelmRelease/default/queue: status.history[0].testHooks[*].lastStarted: "
        "the value is not a time like 2030-01-31T12:00:00Z",
        refused_by_server=False,  # a create does not look at the status
    ),
    Wrong(
        "an entry that is not an object",
        "Kustomization",
        "spec.patches",
        ["- op: remove"],
        "Kustomization/default/storefront: spec.patches[0]: must be an object, not a string",
    ),
    Wrong(
        "a namespace longer than one can be",
        "Kustomization",
        "spec.targetNamespace",
        "n" * 64,
        "Kustomization/default/storefront: spec.targetNamespace: must have 1 to 63 characters",
    ),
    Wrong(
        "an empty prefix",
        "Kustomization",
        "spec.namePrefix",
        "",
        "Kustomization/default/storefront: spec.namePrefix: must have 1 to 200 characters",
    ),
    Wrong(
        "an address that could hold a password is not shown",
        "GitRepository",
        "spec.url",
        "ftp://user:hunter2@git.example.org",
        "GitRepository/default/storefront: spec.url: must match ^(http|https|ssh)://.*$",
    ),
    Wrong(
        "a short address of ssh",
        "GitRepository",
        "spec.url",
        "git@git.example.org:commerce/storefront.git",
        "GitRepository/default/storefront: spec.url: must match ^(http|https|ssh)://.*$",
    ),
    Wrong(
        "an image without its scheme",
        "OCIRepository",
        "spec.url",
        "registry.example.org/x",
        "OCIRepository/default/storefront-manifests: spec.url: must match ^oci://.*$",
    ),
    Wrong(
        "a bucket of nobody",
        "Bucket",
        "spec.provider",
        "minio",
        'Bucket/default/edge: spec.provider: "minio" is not one of generic, aws, gcp, azure',
    ),
    Wrong(
        "an artifact without a name for its producer",
        "ExternalArtifact",
        "spec.sourceRef",
        {"kind": "Generator"},
        "ExternalArtifact/default/generated: spec.sourceRef.name: is required",
    ),
    Wrong(
        "a summary that is too long",
        "Alert",
        "spec.summary",
        "s" * 256,
        "Alert/default/everything: spec.summary: must have at most 255 characters",
    ),
    Wrong(
        "a service that is not known",
        "Provider",
        "spec.type",
        "carrier-pigeon",
        'Provider/default/chat: spec.type: "carrier-pigeon" is not one of slack, discord, msteams, rocket, '
        "generic, generic-hmac, github, gitlab, gitea, giteapullrequestcomment, bitbucketserver, bitbucket, "
        "azuredevops, googlechat, googlepubsub, webex, sentry, azureeventhub, telegram, lark, matrix, opsgenie, "
        "alertmanager, grafana, githubdispatch, githubpullrequestcomment, gitlabmergerequestcomment, pagerduty, "
        "datadog, nats, zulip, otel",
    ),
    Wrong(
        "a token issuer that asks for nothing",
        "Receiver",
        "spec.oidcProviders",
        [{"issuerURL": "https://ci.example.org", "validations": []}],
        "Receiver/default/git-push: spec.oidcProviders[0].validations: must have at least 1 entry",
    ),
    Wrong(
        "retries that are not a number",
        "HelmRelease",
        "spec.install",
        {"remediation": {"retries": "3"}},
        "HelmRelease/default/queue: spec.install.remediation.retries: must be a whole number, not a string",
    ),
    Wrong(
        "a chart without a name",
        "HelmChart",
        "spec.chart",
        LEFT_OUT,
        "HelmChart/default/queue: spec.chart: is required",
    ),
    Wrong(
        "a chart repository of the wrong scheme",
        "HelmRepository",
        "spec.url",
        "s3://charts",
        "HelmRepository/default/charts: spec.url: must match ^(http|https|oci)://.*$",
    ),
]

_KUBECONFIG = "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified"

# What only the API server refuses: rules in CEL. An object, and a part of what the server says.
AGAINST_RULES = [
    (spoilt("Kustomization", ("spec.kubeConfig", {})), _KUBECONFIG),
    (
        spoilt("Kustomization", ("spec.kubeConfig", {"secretRef": {"name": "a"}, "configMapRef": {"name": "b"}})),
        _KUBECONFIG,
    ),
    (spoilt("GitRepository", ("spec.serviceAccountName", "x")), "when provider is 'azure' or 'aws'"),
    (spoilt("Bucket", ("spec.serviceAccountName", "x")), "ServiceAccountName is not supported for the 'generic'"),
    (
        spoilt("Bucket", ("spec.sts", {"provider": "aws", "endpoint": "https://x"})),
        "'ldap' is the only supported STS provider",
    ),
    (
        spoilt("HelmChart", ("spec.sourceRef.kind", "Bucket"), ("spec.verify", {"provider": "cosign"})),
        "spec.verify is only supported when",
    ),
    (spoilt("HelmRelease", ("spec.chartRef", {"kind": "HelmChart", "name": "x"})), "either chart or chartRef"),
    (
        spoilt("HelmRelease", ("spec.install", {"strategy": {"name": "RemediateOnFailure", "retryInterval": "1m"}})),
        ".retryInterval cannot be set when",
    ),
    (
        spoilt("HelmRelease", ("spec.upgrade", {"strategy": {"name": "RemediateOnFailure", "retryInterval": "1m"}})),
        ".retryInterval can only be set when",
    ),
    (spoilt("Provider", ("spec.commitStatusExpr", "'x'")), "spec.commitStatusExpr is only supported for"),
    (spoilt("Receiver", ("spec.secretRef", LEFT_OUT)), "secretRef is required when type is not generic-oidc"),
    (spoilt("Receiver", ("spec.type", "generic-oidc")), "secretRef cannot be set when type is generic-oidc"),
]
