"""Plays requests to an API server, whichever it is, and makes the answers comparable."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from penstock.kube.connector import Connector

if TYPE_CHECKING:
    import aiohttp

JSON = "application/json"
MERGE = "application/merge-patch+json"
PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_VERSION = re.compile(r'((?:resourceVersion\\*":\s*\\*"|current: |record \(|version: )\d+|\(\d+\))')
_SUFFIX = re.compile(r"(gen-|-bad-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_ADDRESS = re.compile(r"\b\d+\.\d+\.\d+\.\d+:\d+\b")
_PATCHED = re.compile(r'(?<=Invalid value: ")\{.*\}(?=": )')
"""The whole object in the answer to a patch that does not fit: the order of its keys is Go's business."""
_COLUMN_TEXT = re.compile(r'"description":"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `{ns}` in path and body is the namespace of the scenario."""

    method: str
    path: str
    body: Any = None
    content_type: str = ""
    accept: str = JSON
    headers: dict[str, str] = field(default_factory=dict[str, str])
    heard: str = ""
    """Words of the answer that come only when the server has heard of an earlier write by a watch of its own."""

    @property
    def sent(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else orjson.dumps(self.body)


def get(path: str, accept: str = JSON) -> Request:
    return Request("GET", path, accept=accept)


def post(path: str, body: Any, content_type: str = JSON, accept: str = JSON) -> Request:
    return Request("POST", path, body, content_type, accept)


def put(path: str, body: Any) -> Request:
    return Request("PUT", path, body, JSON)


def patch(path: str, body: Any, content_type: str = MERGE, *, heard: str = "") -> Request:
    return Request("PATCH", path, body, content_type, heard=heard)


def apply(path: str, body: Any) -> Request:
    return Request("PATCH", path, body, APPLY)


def delete(path: str, body: Any = None) -> Request:
    return Request("DELETE", path, body, JSON if body is not None else "")


@dataclass(frozen=True, slots=True)
class Backend:
    """Where to send requests, and as whom."""

    session: aiohttp.ClientSession
    server: str
    token: str

    async def play(self, requests: list[Request], namespace: str) -> list[dict[str, Any]]:
        """The answers, made comparable: uids, versions, times and the namespace have fixed names."""
        found: list[dict[str, Any]] = []
        for request in requests:
            if request.heard:
                await self._until_heard(request, namespace)
            found.append(await self._answer(request, namespace))
        return found

    async def _until_heard(self, request: Request, namespace: str) -> None:
        rehearsed = replace(request, path=f"{request.path}?dryRun=All")
        async with asyncio.timeout(20):
            while request.heard not in str(await self._answer(rehearsed, namespace)):  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.05)

    async def _answer(self, request: Request, namespace: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": request.accept, "User-Agent": "tester/1.0"}
        headers |= {"Content-Type": request.content_type} if request.content_type else {}
        sent = request.sent
        async with self.session.request(
            request.method,
            self.server + request.path.replace("{ns}", namespace),
            data=sent.replace(b"{ns}", namespace.encode()) if sent is not None else None,
            headers=headers | request.headers,
            skip_auto_headers=["Content-Type"],
        ) as answer:
            text = await answer.text()
            told: dict[str, Any] = {
                "code": answer.status,
                "type": answer.headers.get("Content-Type", ""),
                "body": _body(text, namespace),
            }
            if warnings := answer.headers.getall("Warning", []):
                told["warnings"] = [_plain(warning, namespace) for warning in warnings]
            return told


def connector(authority: str) -> Connector:
    return Connector(ssl=ssl.create_default_context(cadata=authority))


def _body(text: str, namespace: str) -> Any:
    plain = _plain(text, namespace)
    try:
        return _calm(orjson.loads(plain))
    except orjson.JSONDecodeError:
        pass
    try:
        return [_calm(orjson.loads(line)) for line in plain.splitlines()]
    except orjson.JSONDecodeError:
        return plain


def _plain(text: str, namespace: str) -> str:
    text = text.replace(namespace, "{ns}")
    for pattern, name in ((_UID, "<uid>"), (_TIME, "<time>"), (_SUFFIX, r"\1<suffix>"), (_ADDRESS, "<address>")):
        text = pattern.sub(name, text)
    text = _VERSION.sub(lambda match: re.sub(r"\d+", "<version>", match.group()), text)
    return _COLUMN_TEXT.sub('"description":"..."', text)


def _calm(value: Any) -> Any:
    """Continue tokens hold a revision; ages of rows move while one looks."""
    if isinstance(value, dict):
        return {key: "<token>" if key == "continue" else _calm(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_calm(item) for item in value]
    if not isinstance(value, str):
        return value
    return "<age>" if re.fullmatch(r"\d+s", value) else _PATCHED.sub("<object>", value)
