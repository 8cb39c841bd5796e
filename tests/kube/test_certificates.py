from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from penstock.kube import Settings, connect
from penstock.kube.certificates import expiry
from penstock.kube.credentials import Credential, Static
from penstock.kube.errors import ConfigError, Unauthorized, Unreachable
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.loopback import Asked, Wire, serve

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.kube.loopback import Loopback

pytestmark = pytest.mark.usefixtures("hasty")

LONG_AGO = datetime(2020, 1, 1, 12, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def leaf(authority: trustme.CA, *, ended: datetime | None = None, name: str = "127.0.0.1") -> trustme.LeafCert:
    begun = ended - timedelta(days=1) if ended else None
    return authority.issue_cert(name, not_before=begun, not_after=ended, common_name="jane")


def server_side(certificate: trustme.LeafCert, clients: trustme.CA | None = None) -> ssl.SSLContext:
    """With `clients` the server wants a certificate that they signed, as a gateway in front of a cluster may."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def pem(certificate: trustme.LeafCert) -> Credential:
    return Credential(certificate=certificate.cert_chain_pems[0].bytes(), key=certificate.private_key_pem.bytes())


async def ask(server: Loopback, authority: trustme.CA, credential: Credential | None = None) -> None:
    settings = replace(
        server.settings,
        authority=authority.cert_pem.bytes(),
        credentials=Static(credential or Credential()),
    )
    async with connect(settings) as client:
        await client.get(CONFIG_MAPS, "x", "default")


@contextmanager
def gateway(context: ssl.SSLContext) -> Generator[tuple[Settings, list[str]]]:
    """A TLS server that says goodbye with an alert, as real ones do; asyncio's just hangs up."""
    greeted: list[str] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def converse() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(5)
                greeted.append("hello")
                wrapped = context.wrap_socket(connection.dup(), server_side=True, do_handshake_on_connect=False)
                with wrapped, suppress(ssl.SSLError):
                    wrapped.do_handshake()
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass

    thread = threading.Thread(target=converse)
    thread.start()
    try:
        yield Settings(server=f"https://127.0.0.1:{listening.getsockname()[1]}", origin="the test"), greeted
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


async def fine(asked: Asked, wire: Wire) -> None:
    await wire.answer({"metadata": {}})


async def unauthorized(asked: Asked, wire: Wire) -> None:
    await wire.refuse(401, "Unauthorized", "Unauthorized")


async def test_a_server_that_our_authority_signed_is_trusted(authority: trustme.CA) -> None:
    async with serve(fine, tls=server_side(leaf(authority))) as server:
        await ask(server, authority)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("signed_by_us", "ended", "name", "problem"),
    [
        pytest.param(True, LONG_AGO, "127.0.0.1", "certificate has expired", id="expired"),
        pytest.param(False, None, "127.0.0.1", "unable to get local issuer certificate", id="signed by somebody else"),
        pytest.param(
            True,
            None,
            "127.0.0.2",
            "IP address mismatch, certificate is not valid for '127.0.0.1'.",
            id="for another host",
        ),
    ],
)
async def test_a_server_that_cannot_be_trusted_is_told_at_once(
    signed_by_us: bool, ended: datetime | None, name: str, problem: str, authority: trustme.CA
) -> None:
    signer = authority if signed_by_us else trustme.CA()
    async with serve(fine, tls=server_side(leaf(signer, ended=ended, name=name))) as server:
        with pytest.raises(Unreachable) as caught:
            await ask(server, authority)
        assert str(caught.value) == f"no trust between us and {server.settings.server} (the test): {problem}"
        assert not caught.value.retryable
        assert server.asked == []
        assert server.connections <= 1, "a certificate does not get better by asking again"


async def test_a_client_certificate_that_expired_is_told_when_the_server_says_401(authority: trustme.CA) -> None:
    """An API server lets the connection through, and says no more than 'Unauthorized'."""
    async with serve(unauthorized, tls=server_side(leaf(authority))) as server:
        with pytest.raises(Unauthorized) as caught:
            await ask(server, authority, pem(leaf(authority, ended=LONG_AGO)))
        assert str(caught.value) == (
            f"{server.settings.server} (the test) does not accept our client certificate: "
            "it expired on 2020-01-01 12:30 UTC"
        )
        assert len(server.asked) == 1


async def test_a_client_certificate_that_is_good_is_not_blamed_on_its_date(authority: trustme.CA) -> None:
    async with serve(unauthorized, tls=server_side(leaf(authority))) as server:
        with pytest.raises(Unauthorized, match="does not accept our credentials: Unauthorized"):
            await ask(server, authority, pem(leaf(authority)))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
@pytest.mark.parametrize(
    ("signed_by_us", "ended", "problem"),
    [
        pytest.param(True, LONG_AGO, "certificate expired", id="expired"),
        pytest.param(False, None, "unknown ca", id="signed by somebody else"),
        pytest.param(None, None, "certificate required|handshake failure", id="none at all"),
    ],
)
async def test_a_client_certificate_that_the_connection_is_refused_for(
    signed_by_us: bool | None, ended: datetime | None, problem: str, version: ssl.TLSVersion, authority: trustme.CA
) -> None:
    context = server_side(leaf(authority), clients=authority)
    context.minimum_version = context.maximum_version = version
    signer = authority if signed_by_us else trustme.CA()
    credential = Credential() if signed_by_us is None else pem(leaf(signer, ended=ended))
    with gateway(context) as (settings, greeted):
        settings = replace(settings, authority=authority.cert_pem.bytes(), credentials=Static(credential))
        async with connect(settings) as client:
            with pytest.raises(Unreachable, match=problem) as caught:
                await client.get(CONFIG_MAPS, "x", "default")
    assert str(caught.value).startswith(f"no trust between us and {settings.server} (the test): ")
    assert not caught.value.retryable
    assert len(greeted) == 1


async def test_a_client_certificate_that_is_good_opens_the_door(authority: trustme.CA) -> None:
    async with serve(fine, tls=server_side(leaf(authority), clients=authority)) as server:
        await ask(server, authority, pem(leaf(authority)))
        assert len(server.asked) == 1


async def test_a_new_client_certificate_is_used_for_new_connections(authority: trustme.CA) -> None:
    class Rotating:
        credential = pem(leaf(authority))

        async def fetch(self) -> Credential:
            return replace(self.credential, fresh_until=0.0)

    rotating = Rotating()
    async with serve(fine, tls=server_side(leaf(authority), clients=authority)) as server:
        settings = replace(server.settings, authority=authority.cert_pem.bytes(), credentials=rotating)
        async with connect(settings) as client:
            await client.get(CONFIG_MAPS, "x", "default")
            await client.get(CONFIG_MAPS, "x", "default")
            assert server.connections == 1
            rotating.credential = pem(leaf(authority))
            await client.get(CONFIG_MAPS, "x", "default")
            assert server.connections == 2


class TestSettings:
    @pytest.mark.parametrize("content", [b"", b"\n", b"garbage", b"\xff", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
    def test_an_authority_that_is_none(self, content: bytes) -> None:
        """Above all an empty one: to OpenSSL that means whatever the system trusts."""
        settings = Settings(server="https://127.0.0.1:1", origin="the test", authority=content)
        with pytest.raises(ConfigError, match=r"^the test: the certificate authority is not a PEM certificate$"):
            settings.tls(Credential())

    def test_a_key_of_another_certificate(self, authority: trustme.CA) -> None:
        one, other = leaf(authority), leaf(authority)
        credential = replace(pem(one), key=other.private_key_pem.bytes())
        with pytest.raises(ConfigError, match="damaged, encrypted, or do not belong together"):
            Settings(server="https://127.0.0.1:1", origin="the test").tls(credential)

    def test_a_key_with_a_password_is_refused_without_asking_for_it(self, authority: trustme.CA) -> None:
        one = leaf(authority)
        key = serialization.load_pem_private_key(one.private_key_pem.bytes(), None)
        locked = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        )
        with pytest.raises(ConfigError, match="damaged, encrypted, or do not belong together"):
            Settings(server="https://127.0.0.1:1", origin="the test").tls(replace(pem(one), key=locked))

    def test_insecure_means_that_nothing_is_checked(self) -> None:
        context = Settings(server="https://127.0.0.1:1", origin="the test", verify=False).tls(Credential())
        assert context is not None
        assert context.verify_mode == ssl.CERT_NONE

    def test_no_secret_is_left_in_a_file(self, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
        written: list[object] = []
        monkeypatch.setattr("pathlib.Path.write_bytes", lambda *_: written.append(1))
        Settings(server="https://127.0.0.1:1", origin="the test").tls(pem(leaf(authority)))
        assert written == []


@pytest.mark.parametrize(
    "ends",
    [datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC), datetime(2061, 2, 3, 4, 5, 6, tzinfo=UTC)],
    ids=["two digits of the year", "four digits of the year"],
)
def test_when_a_certificate_ends(ends: datetime, authority: trustme.CA) -> None:
    certificate = authority.issue_cert("x", not_before=LONG_AGO, not_after=ends)
    assert expiry(certificate.cert_chain_pems[0].bytes()) == ends


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"garbage",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\n%%\n-----END CERTIFICATE-----\n",
    ],
)
def test_a_certificate_that_cannot_be_read_has_no_end(content: bytes) -> None:
    assert expiry(content) is None
