"""Git over HTTP: logins, certificates, proxies, redirects, and what a hostile server can try."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
import trustme
from aiohttp import web

from penstock.sources import SourceError, Stalled
from penstock.sources.git import Address, Credentials, Git, GitRemote, Proxy, Reference, of_secret
from penstock.sources.git.listing import Place
from tests.sources.git.proxying import proxying
from tests.sources.git.server import GitServer, serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.sources.git.repositories import Repository

MAIN = Reference(branch="main")


@pytest.fixture
def commit(repository: Repository) -> str:
    return repository.commit({"a": "1"})


def remote(git: Git, url: str, secret: Mapping[str, bytes] | None = None, **settings: object) -> GitRemote:
    address = Address.parse(url)
    return GitRemote(git, address, MAIN, of_secret(url, address, secret), **settings)  # type: ignore[arg-type]


async def is_fetched(place: GitRemote, into: Path, commit: str) -> bool:
    """Both ways of asking: our own for the refs, the program for the content."""
    expected = f"main@sha1:{commit}"
    return await place.resolve() == expected == (await place.fetch(into)).revision and (into / "a").read_text() == "1"


@pytest.mark.parametrize(
    ("secret", "user"),
    [
        pytest.param({"username": b"ann", "password": b"s3cret"}, "", id="basic"),
        pytest.param({"username": b"ann\n", "password": b"s3cret\n"}, "", id="basic, made from files"),
        pytest.param({"bearerToken": b"t0ken"}, "", id="bearer"),
        pytest.param({}, "ann:s3cret@", id="in the URL"),
        pytest.param({"password": b"s3cret"}, "ann@", id="the user in the URL"),
    ],
)
@pytest.mark.scenario("sources-20")
async def test_login(git: Git, server: GitServer, commit: str, into: Path, secret: dict[str, bytes], user: str) -> None:
    server.allow_basic("ann", "s3cret")
    server.authorization.add("Bearer t0ken")
    url = server.url("app.git").replace("://", f"://{user}")
    assert await is_fetched(remote(git, url, secret), into, commit)


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        pytest.param({"password": b"s3cret"}, "'password' requires 'username' to be set", id="no user"),
        pytest.param({"bearerToken": b"x", "username": b"ann", "password": b"s3cret"},
                     "basic auth and bearer token cannot be set at the same time", id="two logins"),
        pytest.param({"username": b"ann", "password": b"s3cret\r\nX-Evil: 1"}, "with a line break", id="a header"),
        pytest.param({"tls.crt": b"x"}, "belong together", id="half a certificate"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-20")
def test_secret_that_makes_no_sense(secret: dict[str, bytes], words: str) -> None:
    url = "https://example.com/app.git"
    with pytest.raises(SourceError, match=words) as caught:
        of_secret(url, Address.parse(url), secret)
    assert caught.value.reason == "AuthenticationFailed"
    assert "s3cret" not in str(caught.value)


@pytest.mark.scenario("sources-20")
async def test_a_wrong_password(git: Git, server: GitServer, commit: str, into: Path) -> None:
    server.allow_basic("ann", "right")
    place = remote(git, server.url("app.git"), {"username": b"ann", "password": b"wr0ng"})
    for call in (place.resolve(), place.fetch(into)):
        with pytest.raises(SourceError, match="authentication required") as caught:
            await call
        assert caught.value.reason == "GitOperationFailed"
        assert "wr0ng" not in str(caught.value)


@pytest.mark.parametrize("keys", [("ca.crt",), ("caFile",), ("ca.crt", "caFile")], ids=["ca.crt", "caFile", "both"])
@pytest.mark.scenario("sources-20")
@pytest.mark.scenario("sources-21")
async def test_an_authority_of_ones_own(
    git: Git, secure_server: GitServer, authority: trustme.CA, commit: str, into: Path, keys: tuple[str, ...]
) -> None:
    """`ca.crt` wins over the old key."""
    secret = dict.fromkeys(keys, authority.cert_pem.bytes())
    if len(keys) == 2:
        secret["caFile"] = trustme.CA().cert_pem.bytes()
    assert await is_fetched(remote(git, secure_server.url("app.git"), secret), into, commit)


@pytest.mark.parametrize("secret", [{}, {"ca.crt": trustme.CA().cert_pem.bytes()}], ids=["none", "another"])
@pytest.mark.scenario("sources-20")
async def test_an_authority_that_nobody_trusts(
    git: Git, secure_server: GitServer, commit: str, into: Path, secret: dict[str, bytes]
) -> None:
    with pytest.raises(SourceError, match="its certificate is not trusted"):
        await remote(git, secure_server.url("app.git"), secret).fetch(into)
    assert secure_server.requests == []


@pytest.mark.parametrize("secret", [{"ca.crt": b"x"}, {"tls.crt": b"x", "tls.key": b"y"}], ids=["authority", "own"])
async def test_certificates_that_are_none(git: Git, secret: dict[str, bytes]) -> None:
    with pytest.raises(SourceError, match="cannot be read") as caught:
        await remote(git, "https://127.0.0.1:1/app.git", secret).resolve()
    assert caught.value.reason == "AuthenticationFailed"


async def test_a_client_certificate(
    git: Git, repository: Repository, authority: trustme.CA, commit: str, into: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    own = authority.issue_cert("ann@example.com")
    secret = {
        "ca.crt": authority.cert_pem.bytes(),
        "tls.crt": own.cert_chain_pems[0].bytes(),
        "tls.key": own.private_key_pem.bytes(),
    }
    async with serving(repository.path.parent, tls=tls) as server:
        assert await is_fetched(remote(git, server.url("app.git"), secret), into, commit)
        with pytest.raises(SourceError):
            await remote(git, server.url("app.git"), {"ca.crt": secret["ca.crt"]}).resolve()


class TestProxy:
    """A proxy from a Secret, for both ways of asking."""

    @pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
    @pytest.mark.scenario("sources-23")
    async def test_login(
        self, git: Git, server: GitServer, secure_server: GitServer, authority: trustme.CA, commit: str, into: Path,
        monkeypatch: pytest.MonkeyPatch, *, secure: bool,
    ) -> None:  # fmt: skip
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
        target = secure_server if secure else server
        async with proxying() as proxy:
            proxy.authorization = "Basic " + b64encode(b"ann:s3:cret@").decode()
            data = {"address": f"http://127.0.0.1:{proxy.port}".encode(), "username": b"ann", "password": b"s3:cret@"}
            secret = {"ca.crt": authority.cert_pem.bytes()}
            place = remote(git, target.url("app.git"), secret, proxy=Proxy.of_secret(data))
            assert await is_fetched(place, into, commit)
            kind = "CONNECT" if secure else "GET"
            assert proxy.targets[0] == f"{kind} 127.0.0.1:{target.port}"
            assert len(proxy.targets) >= 2
            wrong = remote(git, target.url("app.git"), secret, proxy=Proxy.of_secret({**data, "password": b"wr0ng"}))
            with pytest.raises(SourceError) as caught:
                await wrong.resolve()
            assert "wr0ng" not in str(caught.value)

    async def test_socks(self, git: Git, server: GitServer, commit: str, into: Path) -> None:
        async with proxying(socks=True) as proxy:
            data = {"address": f"socks5://127.0.0.1:{proxy.port}".encode()}
            assert await is_fetched(remote(git, server.url("app.git"), proxy=Proxy.of_secret(data)), into, commit)
            assert set(proxy.targets) == {f"SOCKS 127.0.0.1:{server.port}"}

    @pytest.mark.parametrize(
        "data",
        [{}, {"address": b""}, {"address": b"ftp://x"}, {"address": b"http://"}, {"address": b"http://a b"},
         {"address": b"http://" + b"x" * 2048}, {"address": b"http://x", "password": b"s3cret"}],
    )  # fmt: skip
    @pytest.mark.scenario("sources-23")
    def test_secret_that_makes_no_sense(self, data: dict[str, bytes]) -> None:
        with pytest.raises(SourceError, match="failed to configure proxy options") as caught:
            Proxy.of_secret(data)
        assert caught.value.reason == "AuthenticationFailed"

    def test_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTPS_PROXY", "http://ann:s3cret@proxy.example:3128")
        monkeypatch.setenv("NO_PROXY", "inside.example")
        found = Proxy.of_environment(Address.parse("https://git.example/x"))
        assert found is not None
        assert (found.url, found.username, found.password) == ("http://proxy.example:3128", "ann", "s3cret")
        assert Proxy.of_environment(Address.parse("https://inside.example/x")) is None
        assert Proxy.of_environment(Address.parse("http://git.example/x")) is None


class TestRedirects:
    """Repositories are renamed; whoever answers with a redirect may also be hostile."""

    async def test_a_renamed_repository(self, git: Git, server: GitServer, commit: str, into: Path) -> None:
        server.redirects["/old.git/info"] = "/app.git/info"
        place = remote(git, server.url("old.git"))
        assert await is_fetched(place, into, commit)
        server.requests.clear()
        await place.resolve()
        assert server.requests == ["POST /app.git/git-upload-pack"]

    async def test_another_host_gets_no_password(
        self, git: Git, server: GitServer, repository: Repository, commit: str, into: Path
    ) -> None:
        async with serving(repository.path.parent) as other:
            server.redirects["/app.git/info"] = other.url("app.git/info")
            place = remote(git, server.url("app.git"), {"username": b"ann", "password": b"s3cret"})
            assert await is_fetched(place, into, commit)
            assert "Authorization" in server.headers[0]
            assert [headers for headers in other.headers if "Authorization" in headers] == []

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            pytest.param("http://169.254.169.254/x", "link-local", id="the metadata service"),
            pytest.param("http://[fe80::1]/x", "link-local", id="link-local, IPv6"),
            pytest.param("http://[::ffff:169.254.169.254]/x", "link-local", id="metadata in disguise"),
            pytest.param("file:///etc", "leads nowhere", id="a file"),
            pytest.param("ssh://127.0.0.1/x", "leads away from https", id="another protocol"),
            pytest.param("http://-evil/x", "leads nowhere", id="an option in place of a host"),
        ],
    )
    async def test_to_where_nobody_goes(
        self, git: Git, server: GitServer, commit: str, into: Path, target: str, words: str
    ) -> None:
        """A11."""
        server.redirects["/app.git"] = target
        with pytest.raises(SourceError, match=words):
            await remote(git, server.url("app.git")).fetch(into)

    async def test_from_https_to_http(
        self, git: Git, server: GitServer, secure_server: GitServer, authority: trustme.CA, commit: str
    ) -> None:
        secure_server.redirects["/app.git"] = server.url("app.git")
        secret = {"ca.crt": authority.cert_pem.bytes()}
        with pytest.raises(SourceError, match="leads away from https"):
            await remote(git, secure_server.url("app.git"), secret).resolve()
        assert server.requests == []

    async def test_without_an_end(self, git: Git, server: GitServer, commit: str) -> None:
        server.redirects["/app.git"] = "/app.git"
        with pytest.raises(SourceError, match="more than 5 redirects"):
            await remote(git, server.url("app.git")).resolve()
        assert len(server.requests) == 6

    async def test_during_the_fetch_are_not_followed(
        self, git: Git, server: GitServer, commit: str, into: Path
    ) -> None:
        """The program would take the login along."""
        place = remote(git, server.url("app.git"), {"username": b"ann", "password": b"s3cret"})
        await place.resolve()
        server.redirects["/app.git/info"] = "http://169.254.169.254/x"
        with pytest.raises(SourceError, match="unable to clone"):
            await place.fetch(into)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ext::sh -c id", Stalled), ("file:///etc", Stalled), ("git://example.com/x", Stalled), ("/etc", Stalled),
        ("git@example.com:x", Stalled), ("ssh://-oProxyCommand=id/x", Stalled), ("ssh://-l@host/x", Stalled),
        ("https://", Stalled), ("https://a b/", Stalled), ("https://host:99999/x", Stalled),
        ("--upload-pack=id", Stalled), ("https://ho\nst/x", Stalled), ("https://[::1/x", Stalled),
    ],
)  # fmt: skip
def test_addresses_that_are_none(url: str, kind: type[Exception]) -> None:
    """A11: nothing but http, https and ssh is ever called."""
    with pytest.raises(kind) as caught:
        Address.parse(url)
    assert getattr(caught.value, "reason", "") == "URLInvalid"


async def test_link_local_addresses_are_not_called(git: Git, into: Path) -> None:
    with pytest.raises(SourceError, match="link-local"):
        await remote(git, "http://169.254.169.254/latest").fetch(into)


def test_texts_show_no_login() -> None:
    from penstock.sources.git.address import shown

    assert shown("https://ann:s3cret@example.com/x?token=s3cret#s3cret") == "https://example.com/x"
    assert "s3cret" not in repr(Credentials(password="s3cret"))


async def test_nothing_secret_is_in_arguments(
    git: Git, server: GitServer, commit: str, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody on the machine can read the arguments of a process."""
    server.allow_basic("ann", "s3cret")
    seen: list[list[str]] = []
    from penstock.sources.git import program

    started = program._started

    def watched(arguments: list[str], *rest: object) -> object:
        seen.append(list(arguments))
        return started(arguments, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(program, "_started", watched)
    await remote(git, server.url("app.git"), {"username": b"ann", "password": b"s3cret"}).fetch(into)
    assert any("fetch" in arguments for arguments in seen)
    encoded = b64encode(b"ann:s3cret").decode()
    assert [arguments for arguments in seen if "s3cret" in str(arguments) or encoded in str(arguments)] == []


async def test_configuration_of_the_machine_is_not_read(
    git: Git, server: GitServer, commit: str, into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a home, nor variables, nor rewritten URLs change what is called."""
    home = tmp_path / "home"
    home.mkdir()
    evil = f'[url "http://127.0.0.1:1/"]\n insteadOf = {server.url("")}\n[core]\n sshCommand = touch {tmp_path}/evil\n'
    (home / ".gitconfig").write_text(evil)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'http.proxy'='http://127.0.0.1:1'")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert await is_fetched(remote(git, server.url("app.git")), into, commit)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"<html>", "answers like no Git server", id="a web page"),
        pytest.param(b"", "answers like no Git server", id="nothing"),
        pytest.param(b"001e# service=git-upload-pack\n0000ffff1234", "is cut off", id="a line that is cut off"),
        pytest.param(
            b"001e# service=git-upload-pack\n0000000fnonsense x\n", "answers like no Git server", id="no hash"
        ),
        pytest.param(b"0015ERR go \x1b[31maway\n", r"go +\[31maway", id="an error with colours"),
    ],
)
async def test_a_server_that_talks_nonsense(git: Git, server: GitServer, into: Path, body: bytes, words: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body)

    server.answer = answer
    with pytest.raises(SourceError, match=words) as caught:
        await remote(git, server.url("app.git")).fetch(into)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("status", [403, 404, 500, 503])
async def test_a_server_that_says_no(git: Git, server: GitServer, status: int) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status)

    server.answer = answer
    words = {403: "authorization failed", 404: "unable to clone: repository not found: git repository: '"}
    with pytest.raises(SourceError, match=words.get(status, f"the server answered {status}")):
        await remote(git, server.url("app.git")).resolve()


async def test_a_server_that_is_not_there(git: Git, into: Path) -> None:
    with pytest.raises(SourceError, match="cannot be reached"):
        await remote(git, "http://127.0.0.1:1/app.git").fetch(into)


def test_credentials_are_for_one_origin() -> None:
    own = Credentials(username="ann", password="s3cret", certificate=b"c", certificate_key=b"k", authority=b"a")
    place = Place(Address.parse("https://git.example/a"), own)
    assert place.at(Address.parse("https://git.example:443/b")).credentials is own
    for url in ("https://git.example:8443/b", "http://git.example/b", "https://evil.example/b"):
        other = place.at(Address.parse(url)).credentials
        assert (other.authorization, other.certificate, other.authority) == ("", b"", b"a")


def test_fingerprints_tell_logins_apart() -> None:
    fields = ("username", "password", "bearer", "authority", "certificate", "certificate_key", "identity")
    found = {Credentials().fingerprint}
    for name in fields:
        binary = name in ("authority", "certificate", "certificate_key", "identity")
        found.add(Credentials(**{name: b"x" if binary else "x"}).fingerprint)  # type: ignore[arg-type]
    assert len(found) == len(fields) + 1
    assert os.sep not in "".join(found)
