"""Stand-ins for the storages that are clouds: they check the logins and conditions as the real ones do."""

from __future__ import annotations

import base64
import hashlib
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from penstock.sources.bucket.azure import shared_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

KEY = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
"""Of a service account of Google."""
ACCOUNT_KEY = base64.b64encode(b"a key of the account").decode()


@dataclass
class Cloud:
    """One bucket of a stand-in."""

    endpoint: str = ""
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    requests: list[web.Request] = field(default_factory=list[web.Request])
    page: int = 2
    token: str = "a-token"
    assertions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    login: Callable[[web.Request], bool] = lambda request: True
    before_get: Callable[[str], None] = lambda key: None
    """Something that happens in the bucket just before an object is given."""

    def etag(self, key: str) -> str:
        return hashlib.md5(self.objects[key]).hexdigest()


@asynccontextmanager
async def _running(
    cloud: Cloud, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> AsyncGenerator[Cloud]:
    async def answer(request: web.Request) -> web.StreamResponse:
        cloud.requests.append(request)
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    cloud.endpoint = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield cloud
    finally:
        await runner.cleanup()


@asynccontextmanager
async def google() -> AsyncGenerator[Cloud]:
    cloud = Cloud()

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            form = await request.post()
            claims = str(form["assertion"]).split(".")[1]
            cloud.assertions.append(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))))
            return web.json_response({"access_token": cloud.token, "expires_in": 3600})
        if request.headers.get("Authorization") != f"Bearer {cloud.token}":
            return web.json_response({"error": {"message": "Anonymous caller"}}, status=401)
        if not request.raw_path.startswith("/storage/v1/b/bucket"):
            return web.json_response({"error": {"message": "The specified bucket does not exist."}}, status=404)
        rest = request.path.removeprefix("/storage/v1/b/bucket")
        if rest == "":
            return web.json_response({"name": "bucket"})
        if rest == "/o":
            return _google_list(cloud, request)
        return _google_get(cloud, request, rest.removeprefix("/o/"))

    async with _running(cloud, handle):
        yield cloud


def _google_list(cloud: Cloud, request: web.Request) -> web.Response:
    names = sorted(name for name in cloud.objects if name.startswith(request.query.get("prefix", "")))
    start = int(request.query.get("pageToken", "0"))
    items = [{"name": name, "etag": cloud.etag(name), "generation": cloud.etag(name)[:8]} for name in names]
    page: dict[str, Any] = {"items": items[start : start + cloud.page]}
    if start + cloud.page < len(items):
        page["nextPageToken"] = str(start + cloud.page)
    return web.json_response(page)


def _google_get(cloud: Cloud, request: web.Request, key: str) -> web.Response:
    if "alt" in request.query:
        cloud.before_get(key)
    if key not in cloud.objects:
        return web.json_response({"error": {"message": f"No such object: bucket/{key}"}}, status=404)
    generation = cloud.etag(key)[:8]
    if "alt" not in request.query:
        return web.json_response({"name": key, "etag": cloud.etag(key), "generation": generation})
    if request.query.get("ifGenerationMatch", generation) != generation:
        return web.Response(status=412)
    return web.Response(body=cloud.objects[key])


@asynccontextmanager
async def azure() -> AsyncGenerator[Cloud]:
    cloud = Cloud()

    async def handle(request: web.Request) -> web.StreamResponse:
        if not cloud.login(request):
            return web.Response(status=403, text="<Error><Code>AuthenticationFailed</Code></Error>")
        container, _, key = request.path.removeprefix("/account/").partition("/")
        if container != "bucket":
            return web.Response(status=404, text="<Error><Code>ContainerNotFound</Code></Error>")
        return _azure_list(cloud, request) if request.query.get("comp") == "list" else _azure_get(cloud, request, key)

    async with _running(cloud, handle):
        yield cloud


def knows_account_key(request: web.Request) -> bool:
    """Whether the request is signed with the key of the account."""
    sent = {
        name.lower() if name.lower().startswith("x-ms-") else name: value for name, value in request.headers.items()
    }
    url = f"http://{request.host}{request.raw_path}"
    wanted = shared_key(request.method, url, sent, "account", base64.b64decode(ACCOUNT_KEY))
    return request.headers.get("Authorization") == wanted


def _azure_list(cloud: Cloud, request: web.Request) -> web.Response:
    names = sorted(name for name in cloud.objects if name.startswith(request.query.get("prefix", "")))
    start, size = int(request.query.get("marker", "0")), int(request.query.get("maxresults", cloud.page))
    blobs = "".join(
        f"<Blob><Name>{escape(name)}</Name><Properties><Etag>{cloud.etag(name)}</Etag></Properties></Blob>"
        for name in names[start : start + size]
    )
    more = str(start + size) if start + size < len(names) else ""
    return web.Response(
        text=f'<?xml version="1.0"?><EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{more}</NextMarker>'
        "</EnumerationResults>",
        content_type="application/xml",
    )


def _azure_get(cloud: Cloud, request: web.Request, key: str) -> web.Response:
    if request.method == "GET":
        cloud.before_get(key)
    if key not in cloud.objects:
        return web.Response(status=404)
    etag = f'"{cloud.etag(key)}"'
    if request.headers.get("If-Match", etag) != etag:
        return web.Response(status=412)
    return web.Response(body=cloud.objects[key], headers={"ETag": etag})
