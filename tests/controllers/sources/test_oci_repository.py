"""OCIRepositories on a cluster, with a registry on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import tarfile
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import trustme

from penstock.controllers.sources.oci_repository import SERVICE_ACCOUNTS, OCIRepositories
from penstock.sources.oci.manifest import CHART, REVISION, SOURCE
from tests.controllers.sources.running import NEVER, Sources, running
from tests.controllers.sources.secrets import make_secret
from tests.sources.oci.signing import START, Notary, attach, new_key, public, sign_bundle, sign_legacy, statement
from tests.sources.oci.sigstore_authority import Sigstore
from tests.sources.oci.stand_in import PASSWORD, USER, StandIn, archive
from tests.sources.oci.stand_in import running as registry

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube.resources import Object
    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

DOCKER = "kubernetes.io/dockerconfigjson"


def spec(server: StandIn, **more: object) -> Object:
    return {"url": server.url(), "interval": "1h", "insecure": True, **more}


def names(folder: Path, status: Object) -> list[str]:
    with tarfile.open(folder / "store" / status["artifact"]["path"]) as found:
        return [name for name in found.getnames() if name != "."]


def says(sources: Sources, name: str, kind: str) -> str:
    return " ".join(sources.says(name, kind) or ())


@pytest.mark.scenario("sources-29")
async def test_references(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics) as sources:
        tags = ("latest", "6.1.0", "6.1.7", "6.2.0-rc.1", "6.2.0-rc.2")
        digests = {tag: server.image({"tag": tag}, tag) for tag in tags}
        wanted: dict[str, tuple[Object | None, str]] = {
            "latest": (None, "latest"),
            "tag": ({"tag": "6.1.0"}, "6.1.0"),
            "semver": ({"semver": ">=6.1 <6.2"}, "6.1.7"),
            "filter": ({"semver": ">=6.1.0-0", "semverFilter": ".*-rc.*"}, "6.2.0-rc.2"),
        }
        for name, (ref, tag) in wanted.items():
            await sources.create(name, spec(server, **({"ref": ref} if ref else {})))
            status = await sources.ready(name)
            digest = digests[tag]
            assert status["artifact"]["revision"] == f"{tag}@{digest}"
            assert status["artifact"]["path"].endswith(f"/{name}/{digest}.tar.gz")
            assert status["url"].endswith(f"/ocirepository/{cluster.namespace}/{name}/latest.tar.gz")
            told = f"stored artifact for digest '{tag}@{digest}'"
            assert sources.says(name, "Ready") == ("True", "Succeeded", told)
        await sources.create("digest", spec(server, ref={"digest": digests["6.1.0"], "tag": "latest"}))
        assert (await sources.ready("digest"))["artifact"]["revision"] == digests["6.1.0"]


@pytest.mark.scenario("sources-29")
@pytest.mark.parametrize(
    ("more", "kind", "told"),
    [
        pytest.param(
            {"ref": {"semver": "<="}},
            "FetchFailed",
            "True ReadOperationFailed failed to determine the artifact tag for '{url}': semver '<=' parse error",
            id="a bad range",
        ),
        pytest.param(
            {"ref": {"tag": "gone"}},
            "FetchFailed",
            "True OCIArtifactPullFailed failed to determine artifact digest: GET",
            id="an absent tag",
        ),
        pytest.param(
            {"url": "oci://registry.example/app:v1"},
            "Stalled",
            "True URLInvalid URL validation failed for 'oci://registry.example/app:v1': URL must not contain a tag",
            id="a tag in the URL",
        ),
    ],
)
async def test_references_that_lead_nowhere(
    cluster: Cluster, tmp_path: Path, metrics: Metrics, more: Object, kind: str, told: str
) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        server.image({"a": "1"}, "1.0.0")
        await sources.create("app", spec(server, **more))
        await sources.ready("app", "False")
        assert told.format(url=server.url()) in says(sources, "app", kind)
        assert "artifact" not in sources.status("app")
        assert sources.heard.events[-1].type == "Warning"
        going_on = sources.says("app", "Reconciling")
        assert (going_on is None) is (kind == "Stalled")


@pytest.mark.scenario("sources-30")
async def test_nothing_new_costs_one_request(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics) as sources:
        server.image({"a.yaml": "1", "b.jpg": "2"}, "latest")
        await sources.create("app", spec(server))
        before = await sources.ready("app")
        assert names(tmp_path, before) == ["a.yaml"]
        server.requests.clear()
        after = await sources.asked("app", "now")
        assert after["artifact"] == before["artifact"]
        assert server.paths() == ["/v2/app/manifests/latest"]
        assert sources.heard.reasons == [("Normal", "NewArtifact")]
        await sources.patch("app", {"spec": {"layerSelector": {"operation": "copy"}}})
        await sources.until(lambda: sources.status("app").get("observedLayerSelector") is not None)
        status = await sources.ready("app")
        assert status["artifact"]["digest"] != before["artifact"]["digest"]
        assert status["observedLayerSelector"] == {"operation": "copy"}
        await sources.patch("app", {"spec": {"layerSelector": None, "ignore": "a.yaml"}})
        await sources.until(lambda: sources.status("app").get("observedIgnore") == "a.yaml")
        assert names(tmp_path, await sources.ready("app")) == ["b.jpg"]


@pytest.mark.scenario("sources-31")
async def test_layers(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        content = archive({"Chart.yaml": "x"})
        layers = [server.layer(archive({"a.yaml": "1"})), server.layer(content, CHART)]
        server.image({}, "latest", layers=layers)
        for name, selector in {
            "extract": {"mediaType": CHART, "operation": "extract"},
            "copy": {"mediaType": CHART, "operation": "copy"},
        }.items():
            await sources.create(name, spec(server, layerSelector=selector))
            status = await sources.ready(name)
            assert names(tmp_path, status) == ["Chart.yaml"]
            same = status["artifact"]["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            assert same is (name == "copy")
        await sources.create("absent", spec(server, layerSelector={"mediaType": "text/none"}))
        await sources.ready("absent", "False")
        told = "failed to find layer with media type 'text/none' in artifact"
        assert sources.says("absent", "FetchFailed") == ("True", "OCIArtifactLayerOperationFailed", told)


def docker(server: StandIn, password: str = PASSWORD) -> dict[str, bytes]:
    entry = {"username": USER, "password": password}
    return {".dockerconfigjson": orjson.dumps({"auths": {server.host: entry}})}


@pytest.mark.scenario("sources-32")
@pytest.mark.parametrize(
    ("auth", "more", "known"),
    [
        pytest.param("basic", {"secretRef": {"name": "pull"}}, True, id="a pull secret"),
        pytest.param("bearer", {"secretRef": {"name": "pull"}}, True, id="a pull secret for a token"),
        pytest.param("basic", {"serviceAccountName": "robot"}, True, id="a service account"),
        pytest.param("basic", {"secretRef": {"name": "wrong"}}, False, id="a wrong password"),
        pytest.param("basic", {"secretRef": {"name": "missing"}}, False, id="a missing Secret"),
        pytest.param("basic", {"serviceAccountName": "nobody"}, False, id="a missing service account"),
        pytest.param("basic", {}, False, id="nobody"),
        pytest.param("bearer", {}, True, id="a token for nobody"),
    ],
)
async def test_logins(cluster: Cluster, tmp_path: Path, metrics: Metrics, auth: str, more: Object, known: bool) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        server.auth = auth
        server.image({"a": "1"}, "latest")
        await make_secret(cluster, "pull", docker(server), DOCKER)
        await make_secret(cluster, "wrong", docker(server, "hunter2"), DOCKER)
        account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        account["imagePullSecrets"] = [{"name": "pull"}]
        await cluster.client.create(SERVICE_ACCOUNTS, account, namespace=cluster.namespace)
        await sources.create("app", spec(server, **more))
        await sources.ready("app", "True" if known else "False")
        if not known:
            assert "AuthenticationFailed failed to get credential: failed to get " in says(
                sources, "app", "FetchFailed"
            ) or "OCIArtifactPullFailed failed to determine artifact digest: " in says(sources, "app", "FetchFailed")
            assert "hunter2" not in str(sources.history) + str(sources.heard.events)


def _server_context(authority: trustme.CA, *, wants_certificate: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    if wants_certificate:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.scenario("sources-32")
@pytest.mark.parametrize(
    ("keys", "wants_certificate", "reached"),
    [
        pytest.param({"ca.crt": "ca"}, False, True, id="self-signed"),
        pytest.param({"caFile": "ca"}, False, True, id="an old key"),
        pytest.param({"ca.crt": "ca", "tls.crt": "cert", "tls.key": "key"}, True, True, id="a client certificate"),
        pytest.param({"caFile": "ca", "certFile": "cert", "keyFile": "key"}, True, True, id="all old keys"),
        pytest.param({"ca.crt": "ca", "tls.crt": "cert"}, True, False, id="a certificate without a key"),
        pytest.param({"ca.crt": "other"}, False, False, id="another authority"),
    ],
)
async def test_certificates(
    cluster: Cluster, tmp_path: Path, metrics: Metrics, keys: dict[str, str], wants_certificate: bool, reached: bool
) -> None:
    authority = await asyncio.to_thread(trustme.CA)
    client = authority.issue_cert("client@example.com")
    parts = {
        "ca": authority.cert_pem.bytes(),
        "other": (await asyncio.to_thread(trustme.CA)).cert_pem.bytes(),
        "cert": client.cert_chain_pems[0].bytes(),
        "key": client.private_key_pem.bytes(),
    }
    context = _server_context(authority, wants_certificate=wants_certificate)
    kind = OCIRepositories()
    async with registry(context) as server, running(cluster, kind, tmp_path, metrics, backoff=NEVER) as sources:
        server.image({"a": "1"}, "latest")
        await make_secret(cluster, "certs", {key: parts[part] for key, part in keys.items()})
        await sources.create("app", spec(server, insecure=False, timeout="20s", certSecretRef={"name": "certs"}))
        await sources.ready("app", "True" if reached else "False")
        if "tls.crt" in keys and not reached:
            assert "failed to generate transport for" in says(sources, "app", "FetchFailed")


@pytest.mark.scenario("sources-32")
async def test_plain_http_only_when_asked_for(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        server.image({"a": "1"}, "latest")
        await sources.create("app", spec(server, insecure=False))
        await sources.ready("app", "False")
        assert server.requests == []
        await sources.patch("app", {"spec": {"insecure": True}})
        await sources.ready("app")


@pytest.mark.scenario("sources-33")
async def test_cosign_keys(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    ours, theirs = new_key(), new_key()
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        digest = server.image({"a": "1"}, "latest")
        await make_secret(cluster, "keys", {"cosign.pub": public(ours)})
        await make_secret(cluster, "others", {"cosign.pub": public(theirs)})
        verify = {"provider": "cosign", "secretRef": {"name": "keys"}}
        await sources.create("app", spec(server, verify=verify))
        await sources.ready("app", "False")
        told = (
            "failed to verify the signature using provider 'cosign': no matching signatures were found for "
            f"'{server.host}/app@{digest}'"
        )
        assert sources.says("app", "SourceVerified") == ("False", "VerificationError", told)
        assert sources.says("app", "Ready") == ("False", "VerificationError", told)
        sign_bundle(server, digest, ours)
        status = await sources.asked("app", "1")
        verified = f"verified signature of revision latest@{digest}"
        assert sources.says("app", "SourceVerified") == ("True", "Succeeded", verified)
        server.requests.clear()
        await sources.asked("app", "2")
        assert server.paths() == ["/v2/app/manifests/latest"], "what was verified is not verified again"
        await sources.patch("app", {"spec": {"verify": {"secretRef": {"name": "others"}}}})
        await sources.ready("app", "False")
        assert sources.status("app")["artifact"] == status["artifact"], "the old artifact stays"
        await sources.patch("app", {"spec": {"verify": None}})
        await sources.ready("app")
        assert sources.says("app", "SourceVerified") is None


@pytest.mark.scenario("sources-33")
async def test_an_unsigned_successor_replaces_nothing(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    """A41: a floating tag moves to an image that nobody signed."""
    ours = new_key()
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        good = server.image({"a": "good"}, "1.0.0")
        sign_legacy(server, good, ours)
        await make_secret(cluster, "keys", {"cosign.pub": public(ours)})
        verify = {"provider": "cosign", "secretRef": {"name": "keys"}}
        await sources.create("app", spec(server, ref={"semver": "1.x"}, verify=verify))
        before = await sources.ready("app")
        server.image({"a": "evil"}, "1.0.0")
        after = await sources.asked("app", "now")
        assert after["artifact"] == before["artifact"]
        assert "False VerificationError" in says(sources, "app", "Ready")


@pytest.mark.scenario("sources-33")
async def test_notation(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    notary, other = Notary(start=START, days=36500), Notary()
    statement = {
        "name": "all",
        "registryScopes": ["*"],
        "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:x"],
        "trustedIdentities": ["*"],
    }
    policy = orjson.dumps({"version": "1.0", "trustPolicies": [statement]})
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        notary.sign(server, server.image({"a": "1"}, "latest"))
        several = {"trustpolicy.json": policy, "a.crt": other.authority, "b.pem": notary.authority}
        await make_secret(cluster, "several", several)
        await make_secret(cluster, "no-policy", {"a.crt": notary.authority})
        await make_secret(cluster, "stranger", {"trustpolicy.json": policy, "a.crt": other.authority})
        for name, told in {"several": "", "no-policy": "'trustpolicy.json' not found", "stranger": "trusted"}.items():
            verify = {"provider": "notation", "secretRef": {"name": name}}
            await sources.create(name, spec(server, verify=verify))
            await sources.ready(name, "False" if told else "True")
            assert told in says(sources, name, "SourceVerified")
        await sources.create("nothing", spec(server, verify={"provider": "notation"}))
        await sources.ready("nothing", "False")
        assert "verification secret cannot be empty" in says(sources, "nothing", "SourceVerified")


@pytest.mark.scenario("sources-33")
async def test_cosign_without_keys(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    sigstore = await asyncio.to_thread(Sigstore)
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        digest = server.image({"a": "1"}, "latest")
        bundle = sigstore.bundle(statement(digest), issuer="https://issuer.example", subject="https://example/app")
        attach(server, digest, bundle)
        await make_secret(cluster, "root", {"trusted_root.json": sigstore.trusted_root()})
        for name, subject in {"ours": "^https://example/app$", "theirs": "^https://example/other$"}.items():
            verify = {
                "provider": "cosign",
                "matchOIDCIdentity": [{"issuer": "^https://issuer.example$", "subject": subject}],
                "trustedRootSecretRef": {"name": "root"},
            }
            await sources.create(name, spec(server, verify=verify))
        await sources.ready("ours")
        assert "True Succeeded verified signature of revision" in says(sources, "ours", "SourceVerified")
        await sources.ready("theirs", "False")
        told = says(sources, "theirs", "SourceVerified")
        assert "False VerificationError failed to verify the signature using provider 'cosign keyless': " in told
        assert "none of the expected identities matched" in told


@pytest.mark.scenario("sources-34")
async def test_metadata_and_origin(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    annotations = {SOURCE: "https://git.example/app", REVISION: "main@sha1:abc", "org.example/x": "y"}
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics) as sources:
        digest = server.image({"a": "1"}, "latest", annotations=annotations)
        await sources.create("app", spec(server))
        status = await sources.ready("app")
        assert status["artifact"]["metadata"] == annotations
        assert [event.message for event in sources.heard.events] == [
            (
                f"stored artifact with revision 'latest@{digest}' from '{server.url()}', "
                "origin source 'https://git.example/app', origin revision 'main@sha1:abc'"
            )
        ]


async def test_a_cloud_that_gives_no_login_is_told(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with registry() as server, running(cluster, OCIRepositories(), tmp_path, metrics, backoff=NEVER) as sources:
        cases: dict[str, tuple[dict[str, Any], str]] = {
            "own": ({}, "True AuthenticationFailed failed to get credential from aws: '127.0.0.1:"),
            "account": ({"serviceAccountName": "x"}, "True FeatureGateDisabled to use spec.serviceAccountName"),
        }
        for name, (more, told) in cases.items():
            await sources.create(name, spec(server, provider="aws", **more))
            await sources.ready(name, "False")
            assert told in says(sources, name, "FetchFailed")
        assert server.requests == []
