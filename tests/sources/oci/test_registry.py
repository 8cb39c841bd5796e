from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trustme

from penstock.sources.access import Trust
from penstock.sources.oci.credentials import Credential
from penstock.sources.oci.manifest import INDEX, Descriptor, ManifestError, select
from penstock.sources.oci.reference import parse_repository
from penstock.sources.oci.registry import Registry
from penstock.sources.oci.transport import Connection, RegistryError
from tests.sources.oci.stand_in import LOGIN, PASSWORD, USER, StandIn, archive, running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

PLAIN = Connection(insecure=True)
KNOWN = Credential(USER, PASSWORD)


@asynccontextmanager
async def client(server: StandIn, connection: Connection = PLAIN) -> AsyncGenerator[Registry]:
    async with Registry(parse_repository(server.url()), connection) as registry:
        yield registry


async def test_a_tag_is_looked_up_by_one_request_without_a_body() -> None:
    async with running() as server, client(server) as registry:
        digest = server.image({"a": "1"}, "latest")
        assert await registry.digest("latest") == digest
        assert server.paths("HEAD") == ["/v2/app/manifests/latest"]
        assert server.paths("GET") == []  # the question for https does not reach a server without it


async def test_a_registry_that_does_not_say_the_digest_is_read() -> None:
    async with running() as server, client(server) as registry:
        server.says_digest = False
        digest = server.image({"a": "1"}, "latest")
        assert await registry.digest("latest") == digest


async def test_a_layer_is_saved_and_compared(tmp_path: Path) -> None:
    async with running() as server, client(server) as registry:
        digest = server.image({"a": "1" * 3_000_000}, "v1")
        layer = select((await registry.image(digest)).manifest(), "")
        await registry.save_blob(layer, tmp_path / "layer")
        assert (
            (tmp_path / "layer").read_bytes()
            == server.blobs[layer.digest]
            == await registry.read_blob(layer, most=1 << 20)
        )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"wrong", "does not have this digest", id="other bytes of the same length"),
        pytest.param(b"righ", "should have 5 bytes and has 4", id="too few"),
        pytest.param(b"right, and more", "should have 5 bytes and has more", id="too many"),
    ],
)
async def test_a_blob_that_is_not_what_was_promised_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    """A5"""
    async with running() as server, client(server) as registry:
        layer = Descriptor("x", server.blob(b"right"), 5)
        server.blobs[layer.digest] = content
        with pytest.raises(ManifestError, match=told):
            await registry.save_blob(layer, tmp_path / "layer")


async def test_a_blob_larger_than_allowed_is_not_even_asked_for(tmp_path: Path) -> None:
    async with running() as server, client(server) as registry:
        with pytest.raises(ManifestError, match="5000 are allowed"):
            await registry.save_blob(Descriptor("x", server.blob(b"x"), 5001), tmp_path / "layer", most=5000)
        assert server.requests == []


async def test_a_manifest_under_a_wrong_digest_is_refused() -> None:
    async with running() as server, client(server) as registry:
        digest = server.image({"a": "1"})
        server.manifests["app"][digest] = (b'{"schemaVersion": 2}', "x")
        with pytest.raises(ManifestError, match=f"but {digest} was asked for"):
            await registry.manifest(digest)


async def test_an_index_leads_to_the_image_for_linux_on_amd64() -> None:
    async with running() as server, client(server) as registry:
        wanted, other = server.image({"a": "amd64"}), server.image({"a": "arm64"})
        entries = [
            {"mediaType": "m", "digest": digest, "size": 1, "platform": {"os": "linux", "architecture": architecture}}
            for digest, architecture in ((other, "arm64"), (wanted, "amd64"))
        ]
        server.put({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}, "both")
        server.put({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries[:1]}, "arm")
        assert (await registry.image("both")).digest == wanted
        with pytest.raises(ManifestError, match="no image for linux/amd64"):
            await registry.image("arm")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{", id="half a document"),
        pytest.param(b'{"config": {}, "layers": []}', id="no version"),
        pytest.param(
            b'{"schemaVersion":2,"config":{"mediaType":"","digest":"../../x","size":1},"layers":[]}', id="no digest"
        ),
        pytest.param(
            b'{"schemaVersion":2,"layers":[],"config":{"mediaType":"","digest":"sha256:' + b"a" * 64 + b'","size":-1}}',
            id="a negative size",
        ),
    ],
)
async def test_a_damaged_manifest_is_refused(content: bytes) -> None:
    async with running() as server, client(server) as registry:
        server.manifests["app"] = {"bad": (content, "application/json")}
        with pytest.raises(ManifestError):
            (await registry.image("bad")).manifest()


async def test_a_manifest_is_bounded() -> None:
    async with running() as server, client(server) as registry:
        server.manifests["app"] = {"big": (b" " * (5 << 20), "x")}
        with pytest.raises(RegistryError, match="larger than"):
            await registry.manifest("big")


async def test_tags_come_in_pages() -> None:
    async with running() as server, client(server) as registry:
        names = [f"v{number:03}" for number in range(25)]
        server.image({}, *names)
        server.page = 10
        assert await registry.tags() == names
        assert len(server.paths()) == 3


@pytest.mark.parametrize(
    ("auth", "credential", "known"),
    [
        pytest.param("basic", KNOWN, True, id="basic"),
        pytest.param("basic", Credential("who", "x"), False, id="basic, wrong password"),
        pytest.param("basic", Credential(), False, id="basic, anonymous"),
        pytest.param("bearer", KNOWN, True, id="token for a login"),
        pytest.param("bearer", Credential(), True, id="token for nobody"),
        pytest.param("bearer", Credential("who", "x"), False, id="token service refuses"),
        pytest.param("bearer", Credential(identity_token="identity"), True, id="token for an identity token"),
        pytest.param("bearer", Credential(registry_token="a-token"), True, id="a token of one's own"),
        pytest.param("bearer", Credential(registry_token="stale"), False, id="a stale token of one's own"),
    ],
)
async def test_logins(auth: str, credential: Credential, known: bool) -> None:
    async with running() as server, client(server, replace(PLAIN, credential=credential)) as registry:
        server.auth = auth
        digest = server.image({"a": "1"}, "latest")
        if known:
            assert await registry.digest("latest") == digest
            return
        with pytest.raises(RegistryError) as caught:
            await registry.digest("latest")
        assert caught.value.status == 401
        assert "x" not in str(caught.value).rpartition(": ")[2].split()


async def test_a_login_is_not_sent_before_it_is_asked_for() -> None:
    async with running() as server, client(server, replace(PLAIN, credential=KNOWN)) as registry:
        server.image({}, "latest")
        await registry.digest("latest")
        assert {login for _, _, login in server.requests} == {""}


async def test_a_token_is_asked_for_once() -> None:
    async with running() as server, client(server, replace(PLAIN, credential=KNOWN)) as registry:
        server.auth = "bearer"
        digest = server.image({"a": "1"}, "latest")
        await registry.digest("latest")
        await registry.image(digest)
        assert len([path for path in server.paths() if path.startswith("/token")]) == 1
        token = next(path for path in server.paths() if path.startswith("/token"))
        assert "service=registry" in token
        assert "scope=repository:app:pull" in token


async def test_a_redirect_to_another_host_gets_no_login() -> None:
    async with running() as server, running() as storage:
        async with client(server, replace(PLAIN, credential=KNOWN)) as registry:
            server.auth = "basic"
            content = archive({"a": "1"})
            layer = Descriptor("x", server.blob(content), len(content))
            storage.blob(content)
            server.redirect = f"http://{storage.host}"
            assert await registry.read_blob(layer, most=1 << 20) == content
        assert server.requests[-1][2] == LOGIN
        assert [login for _, _, login in storage.requests] == [""]


@pytest.mark.parametrize(
    ("target", "told"),
    [
        pytest.param("http://169.254.169.254", "link-local", id="the metadata service of a cloud"),
        pytest.param("http://[fe80::1]", "link-local", id="a neighbour"),
        pytest.param("file:///etc", "not an http", id="a file"),
        pytest.param("http://user:pw@h.io", "not an http", id="a login of its own"),
    ],
)
async def test_some_redirects_are_refused(target: str, told: str) -> None:
    """A11"""
    async with running() as server, client(server) as registry:
        server.redirect = target
        with pytest.raises(RegistryError, match=told):
            await registry.read_blob(Descriptor("x", server.blob(b"x"), 1), most=9)


async def test_a_redirect_in_a_circle_ends() -> None:
    async with running() as server, client(server) as registry:
        server.redirect = f"http://{server.host}"
        with pytest.raises(RegistryError, match="more than 5 redirects"):
            await registry.read_blob(Descriptor("x", server.blob(b"x"), 1), most=9)


@pytest.mark.parametrize("realm", ["http://169.254.169.254/token", "file:///etc/passwd", "http://u:p@h.io/", "nowhere"])
async def test_a_token_service_elsewhere_is_not_asked(realm: str) -> None:
    async with running() as server, client(server, replace(PLAIN, credential=KNOWN)) as registry:
        server.auth, server.realm = "bearer", realm
        with pytest.raises(RegistryError):
            await registry.digest("latest")


async def test_an_unknown_way_to_log_in_is_named() -> None:
    async with running() as server, client(server) as registry:
        server.auth = "Negotiate"
        server.answered = lambda header: False  # type: ignore[method-assign]
        server.challenge = lambda: "Negotiate"  # type: ignore[method-assign]
        with pytest.raises(RegistryError, match="login by negotiate"):
            await registry.digest("latest")


@pytest.mark.looptime
@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
async def test_a_moment_of_trouble_is_tried_again(status: int) -> None:
    async with running() as server, client(server) as registry:
        server.image({"a": "1"}, "latest")
        server.faults = [status, status]
        assert not (await registry.manifest("latest")).is_index
        assert len(server.paths()) == 3
        server.faults = [status] * 3
        with pytest.raises(RegistryError) as caught:
            await registry.manifest("latest")
        assert caught.value.status == status


@pytest.mark.parametrize("status", [400, 403, 404, 429])
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    async with running() as server, client(server) as registry:
        server.faults = [status] * 9
        with pytest.raises(RegistryError) as caught:
            await registry.manifest("latest")
        assert caught.value.status == status
        assert len(server.paths()) == 1


async def test_an_error_says_what_the_registry_says() -> None:
    async with running() as server, client(server) as registry:
        server.image({}, "latest")
        with pytest.raises(RegistryError) as caught:
            await registry.manifest("missing")
        told = f"GET http://{server.host}/v2/app/manifests/missing: MANIFEST_UNKNOWN: manifest unknown"
        assert str(caught.value) == told


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls(authority: trustme.CA, *, wants_certificate: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    if wants_certificate:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def known(authority: trustme.CA) -> Trust:
    client = authority.issue_cert("client@example.com")
    return Trust(
        authority=authority.cert_pem.bytes(),
        certificate=client.cert_chain_pems[0].bytes(),
        key=client.private_key_pem.bytes(),
    )


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("own", "insecure", "wants_certificate", "reached"),
    [
        pytest.param("ca", False, False, True, id="an authority of one's own"),
        pytest.param("none", False, False, False, id="an unknown authority"),
        pytest.param("all", False, True, True, id="a client certificate"),
        pytest.param("ca", False, True, False, id="without the client certificate it wants"),
        pytest.param("blind", True, False, True, id="insecure trusts whoever answers"),
    ],
)
async def test_tls(authority: trustme.CA, own: str, insecure: bool, wants_certificate: bool, reached: bool) -> None:
    trusts = {
        "ca": Trust(authority=authority.cert_pem.bytes()),
        "none": Trust(),
        "all": known(authority),
        "blind": Trust(verify=False),
    }
    async with running(tls(authority, wants_certificate=wants_certificate)) as server:
        digest = server.image({}, "latest")
        async with client(server, Connection(trust=trusts[own], insecure=insecure)) as registry:
            if reached:
                assert await registry.digest("latest") == digest
                return
            with pytest.raises(RegistryError):
                await registry.digest("latest")
            assert server.requests == []


@pytest.mark.looptime
async def test_plain_http_is_spoken_only_when_asked_for() -> None:
    async with running() as server, client(server, Connection()) as registry:
        server.image({}, "latest")
        with pytest.raises(RegistryError):
            await registry.digest("latest")
        assert server.requests == []


async def test_the_answer_of_referrers_or_its_tag() -> None:
    async with running() as server, client(server) as registry:
        subject = server.image({"a": "1"}, "latest")
        document = {
            "schemaVersion": 2,
            "config": server.layer(b"{}", "c"),
            "layers": [],
            "artifactType": "signature",
            "subject": {"mediaType": "m", "digest": subject, "size": 1},
        }
        attached = server.put(document)
        assert [one.digest for one in await registry.referrers(subject)] == [attached]
        server.knows_referrers = False
        assert await registry.referrers(subject) == ()
        entry = {"mediaType": "m", "digest": attached, "size": 1, "artifactType": "signature"}
        server.put({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}, subject.replace(":", "-"))
        assert [one.digest for one in await registry.referrers(subject)] == [attached]


async def test_a_proxy_stands_between() -> None:
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = Connection(insecure=True, proxy=f"http://me:word@127.0.0.1:{port}")
    async with server, Registry(parse_repository("oci://registry.example/app"), connection) as registry:
        with pytest.raises(RegistryError) as caught:
            await registry.digest("latest")
    assert asked[0].startswith("CONNECT registry.example:443")
    assert "Proxy-Authorization: Basic " in asked[0]
    assert "word" not in str(caught.value)


async def test_a_socks_proxy_is_refused_by_name() -> None:
    connection = Connection(proxy="socks5://127.0.0.1:1")
    with pytest.raises(RegistryError, match="socks5"):
        async with Registry(parse_repository("oci://registry.example/app"), connection):
            raise AssertionError("it opened")
