"""A registry in memory, for what a real one cannot be made to do: pages, tokens, redirects, faults."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

from penstock.sources.oci.manifest import CONFIG, CONTENT, MANIFEST

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Mapping

USER, PASSWORD = "reader", "open sesame"
LOGIN = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@dataclass
class StandIn:
    """What the registry holds, how it behaves, and what it was asked."""

    host: str = ""
    scheme: str = "http"
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    manifests: dict[str, dict[str, tuple[bytes, str]]] = field(default_factory=dict)
    """By repository, then by tag and by digest: content and media type."""
    auth: str = ""
    """`basic`, `bearer`, or any other challenge as a whole header; empty asks for nothing."""
    token: str = "a-token"
    realm: str = ""
    page: int = 1000
    knows_referrers: bool = True
    says_digest: bool = True
    redirect: str = ""
    """Where blobs are to be fetched instead."""
    faults: list[int] = field(default_factory=list[int])
    """Statuses of the next answers."""
    requests: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Method, path with query, and Authorization of what was asked."""

    def paths(self, method: str = "") -> list[str]:
        return [path for verb, path, _ in self.requests if not method or verb == method]

    def url(self, repository: str = "app") -> str:
        return f"oci://{self.host}/{repository}"

    def blob(self, content: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.blobs[digest] = content
        return digest

    def layer(self, content: bytes, media_type: str = CONTENT, **more: Any) -> dict[str, Any]:
        return {"mediaType": media_type, "digest": self.blob(content), "size": len(content), **more}

    def put(self, document: Mapping[str, Any], *names: str, repository: str = "app") -> str:
        """Keep a manifest under its digest and these tags."""
        content = orjson.dumps(document)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        for name in (digest, *names):
            self.manifests.setdefault(repository, {})[name] = (content, document.get("mediaType", MANIFEST))
        return digest

    def image(
        self,
        files: Mapping[str, str],
        *tags: str,
        annotations: Mapping[str, str] | None = None,
        layers: list[dict[str, Any]] | None = None,
        repository: str = "app",
    ) -> str:
        """An image as `flux push artifact` makes it; its digest."""
        document = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.layer(b"{}", CONFIG),
            "layers": layers if layers is not None else [self.layer(archive(files))],
            "annotations": dict(annotations or {}),
        }
        return self.put(document, *tags, repository=repository)

    def answered(self, header: str) -> bool:
        if self.auth == "basic":
            return header == LOGIN
        return header == f"Bearer {self.token}" if self.auth == "bearer" else True

    def challenge(self) -> str:
        if self.auth == "basic":
            return 'Basic realm="here"'
        realm = self.realm or f"{self.scheme}://{self.host}/token"
        return f'Bearer realm="{realm}",service="registry",scope="repository:app:pull"'


@asynccontextmanager
async def running(tls: ssl.SSLContext | None = None) -> AsyncGenerator[StandIn]:
    registry = StandIn()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{path:.*}", _Handler(registry).answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    registry.host = f"127.0.0.1:{runner.addresses[0][1]}"
    registry.scheme = "https" if tls else "http"
    try:
        yield registry
    finally:
        await runner.cleanup()


def archive(files: Mapping[str, str]) -> bytes:
    """A tar.gz of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


class _Handler:
    def __init__(self, registry: StandIn) -> None:
        self._registry = registry

    async def answer(self, request: web.Request) -> web.StreamResponse:
        registry = self._registry
        login = request.headers.get("Authorization", "")
        registry.requests.append((request.method, request.path_qs, login))
        if request.path == "/token":
            return await self._token(request, login)
        if registry.faults:
            return web.Response(status=registry.faults.pop(0))
        if not registry.answered(login):
            return web.Response(status=401, headers={"WWW-Authenticate": registry.challenge()})
        if request.path == "/v2/":
            return web.Response()
        return await self._asked(request)

    async def _token(self, request: web.Request, login: str) -> web.Response:
        form = await request.post() if request.method == "POST" else {}
        if login not in ("", LOGIN) or form.get("refresh_token", "identity") != "identity":
            return web.Response(status=401)
        return web.json_response({"token": self._registry.token})

    async def _asked(self, request: web.Request) -> web.StreamResponse:
        repository, _, rest = request.path.removeprefix("/v2/").rpartition("/")
        repository, _, what = repository.rpartition("/")
        if what == "uploads" or rest == "uploads":
            return await self._upload(request)
        match what:
            case "tags":
                return self._tags(request, repository)
            case "manifests":
                return await self._manifest(request, repository, rest)
            case "blobs":
                return self._blob(rest)
            case "referrers":
                return self._referrers(request, repository, rest)
            case _:
                return web.Response(status=404)

    def _tags(self, request: web.Request, repository: str) -> web.Response:
        names = sorted(name for name in self._registry.manifests.get(repository, {}) if ":" not in name)
        if repository not in self._registry.manifests:
            return _refused(404, "NAME_UNKNOWN", "repository name not known to registry")
        after = [name for name in names if name > request.query.get("last", "")]
        shown = after[: self._registry.page]
        more = {}
        if len(after) > len(shown):
            more["Link"] = f'</v2/{repository}/tags/list?last={shown[-1]}&n={self._registry.page}>; rel="next"'
        return web.json_response({"name": repository, "tags": shown}, headers=more)

    async def _manifest(self, request: web.Request, repository: str, name: str) -> web.Response:
        if request.method == "PUT":
            content = await request.read()
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
            for key in (name, digest):
                self._registry.manifests.setdefault(repository, {})[key] = (content, request.content_type)
            return web.Response(status=201, headers={"Docker-Content-Digest": digest})
        found = self._registry.manifests.get(repository, {}).get(name)
        if found is None:
            return _refused(404, "MANIFEST_UNKNOWN", "manifest unknown")
        content, media_type = found
        headers = {"Content-Type": media_type}
        if self._registry.says_digest:
            headers["Docker-Content-Digest"] = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return web.Response(body=content, headers=headers)

    def _blob(self, digest: str) -> web.Response:
        if self._registry.redirect:
            return web.Response(status=307, headers={"Location": f"{self._registry.redirect}/v2/app/blobs/{digest}"})
        if digest not in self._registry.blobs:
            return _refused(404, "BLOB_UNKNOWN", "blob unknown to registry")
        return web.Response(body=self._registry.blobs[digest])

    def _referrers(self, request: web.Request, repository: str, digest: str) -> web.Response:
        if not self._registry.knows_referrers:
            return web.Response(status=404, text="404 page not found")
        found: list[dict[str, Any]] = []
        for name, (content, media_type) in self._registry.manifests.get(repository, {}).items():
            document = orjson.loads(content)
            if ":" in name and (document.get("subject") or {}).get("digest") == digest:
                kind = document.get("artifactType") or document["config"]["mediaType"]
                size = len(content)
                found.append({"mediaType": media_type, "digest": name, "size": size, "artifactType": kind})
        start = int(request.query.get("start", "0"))
        stop = start + self._registry.page
        more = {"Link": f'<{request.path}?start={stop}>; rel="next"'} if stop < len(found) else {}
        return web.json_response({"schemaVersion": 2, "manifests": found[start:stop]}, headers=more)

    async def _upload(self, request: web.Request) -> web.Response:
        content = await request.read()
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": f"{request.path}1?state=x"})
        digest = request.query["digest"]
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
            return _refused(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        self._registry.blobs[digest] = content
        return web.Response(status=201)


def _refused(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=status)
