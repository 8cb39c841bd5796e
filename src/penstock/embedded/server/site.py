"""Everything that is not a resource: versions, health, discovery and documents."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from penstock.embedded.server.answers import Answer, json_answer, not_found_page, text_answer
from penstock.embedded.server.discovery import Discovery
from penstock.embedded.server.openapi import OpenApi
from penstock.embedded.status import method_not_allowed, not_served

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine
    from penstock.embedded.server.app import Call
    from penstock.kube.resources import Object

VERSION: Object = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.4+penstock",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": f"python{platform.python_version()}",
    "compiler": platform.python_implementation().lower(),
    "platform": f"linux/{'amd64' if platform.machine() in ('x86_64', 'AMD64') else 'arm64'}",
}
"""The API that is served, marked so that nobody takes this for a real cluster."""

_HEALTH = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd")


class Site:
    """Answers requests that name no resource."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._discovery = Discovery(engine.catalog, engine.address)
        self._openapi = OpenApi(engine.catalog)

    async def answer(self, call: Call) -> Answer:
        path = call.info.path
        parts = [part for part in path.split("/") if part]
        page = self._page(call, parts)
        if page is None:
            return not_found_page()
        if call.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        return page

    def _page(self, call: Call, parts: list[str]) -> Answer | None:
        match parts:
            case []:
                return json_answer({"paths": self._roots()})
            case ["version"]:
                return json_answer(VERSION)
            case [check] if check in _HEALTH:
                return text_answer(self._health(check, verbose="verbose" in call.query))
            case [check, part] if check in _HEALTH and part in _CHECKS:
                return text_answer("ok")
            case ["api" | "apis" as root]:
                return self._root(call, core=root == "api")
            case ["api", version]:
                return self._version("", version)
            case ["apis", group]:
                known = group in self._engine.catalog.groups()
                return json_answer(self._discovery.group(group)) if known else None
            case ["apis", group, version]:
                return self._version(group, version)
            case ["openapi", *rest]:
                return self._document(rest)
            case _:
                return self._plugged(call)

    def _plugged(self, call: Call) -> Answer | None:
        page = self._engine.plugins.pages.get(call.info.path)
        return json_answer(page()) if page is not None else None

    def _root(self, call: Call, *, core: bool) -> Answer:
        discovery = self._discovery
        if discovery.wants_aggregated(call.header(b"accept")):
            return discovery.aggregated(core=core, known=call.header(b"if-none-match"))
        return json_answer(discovery.core_versions() if core else discovery.groups())

    def _version(self, group: str, version: str) -> Answer | None:
        found = self._discovery.resources(group, version)
        if found is not None:
            return json_answer(found)
        if self._engine.catalog.has_builtin(group):
            raise not_served()
        return None

    def _document(self, rest: list[str]) -> Answer | None:
        match rest:
            case ["v2"]:
                return json_answer(self._openapi.swagger())
            case ["v3"]:
                return json_answer(self._openapi.index())
            case ["v3", *path]:
                body = self._openapi.document("/".join(path))
                return Answer(200, body) if body is not None else None
            case _:
                return None

    def _health(self, check: str, *, verbose: bool) -> str:
        if not verbose:
            return "ok"
        lines = [f"[+]{name} ok\n" for name in _CHECKS]
        return "".join(lines) + f"{check} check passed\n"

    def _roots(self) -> list[str]:
        catalog = self._engine.catalog
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for group in catalog.groups():
            if group:
                found.append(f"/apis/{group}")
                found += [f"/apis/{group}/{version}" for version in catalog.versions(group)]
        return sorted([*found, "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"])
