"""An admission webhook on loopback whose address is known before it answers, as that of a program that still starts."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trustme
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.kube import Object

    Judge = Callable[[Object], "Object"]
    """From the object under admission to the rest of the response: `allowed`, `status`, `patch` as a list."""


class Webhook:
    """A port that refuses connections until `answering` is entered."""

    def __init__(self, judge: Judge) -> None:
        """Makes certificates, so not in an event loop."""
        self._judge = judge
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        authority = trustme.CA()
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(self._tls)
        self._bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
        self.asked: list[str] = []
        """The names of the objects that were judged."""

    def client_config(self) -> dict[str, str]:
        """How a webhook configuration names it."""
        host, port = self._socket.getsockname()
        return {"url": f"https://{host}:{port}/", "caBundle": self._bundle}

    @asynccontextmanager
    async def answering(self) -> AsyncGenerator[None]:
        app = web.Application()
        app.router.add_post("/", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket, ssl_context=self._tls).start()
            yield
        finally:
            await runner.cleanup()

    def close(self) -> None:
        self._socket.close()

    async def _answer(self, request: web.Request) -> web.Response:
        asked: dict[str, Any] = (await request.json())["request"]
        self.asked.append(str(asked["object"]["metadata"].get("name") or asked["object"]["metadata"]["generateName"]))
        response = {"uid": asked["uid"], "allowed": True, **self._judge(asked["object"])}
        if "patch" in response:
            patch = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
            response |= {"patch": patch, "patchType": "JSONPatch"}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
