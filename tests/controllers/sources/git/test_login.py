"""What a spec and its Secrets say about logging in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.git.objects import spec
from tests.controllers.sources.secrets import make_secret

if TYPE_CHECKING:
    from penstock.kube.resources import Object
    from tests.controllers.sources.running import Sources
    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer


@pytest.mark.scenario("sources-20")
async def test_with_a_secret(sources: Sources, server: GitServer, repository: Repository) -> None:
    server.allow_basic("ann", "s3cret")
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server, secretRef={"name": "login"}))
    await sources.ready("apps", "False")
    told = f"failed to get secret '{sources.cluster.namespace}/login'"
    assert sources.condition("apps", "FetchFailed")["reason"] == "AuthenticationFailed"
    assert told in sources.condition("apps", "Ready")["message"]
    await make_secret(sources.cluster, "login", {"username": b"ann", "password": b"s3cret"})
    await sources.ready("apps")


@pytest.mark.scenario("sources-20")
async def test_a_password_is_never_shown(sources: Sources, server: GitServer, repository: Repository) -> None:
    server.allow_basic("ann", "right")
    repository.commit({"a.yaml": "1"})
    url = server.url("app.git").replace("://", "://ann:s3cret@")
    await sources.create("apps", {**spec(server), "url": url})
    await sources.ready("apps", "False")
    assert "authentication required" in sources.condition("apps", "Ready")["message"]
    shown = str(sources.status("apps")) + str([event.message for event in sources.heard.events])
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("data", "provider", "words"),
    [
        pytest.param(None, "github", "secretRef with github app data must be specified", id="no secret"),
        pytest.param({"username": b"x"}, "github", "secretRef with github app data must", id="another secret"),
        pytest.param({"githubAppID": b"1"}, "generic", "has github app data but provider is not set to github",
                     id="an App, and no provider"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-22")
async def test_provider(
    sources: Sources, server: GitServer, data: dict[str, bytes] | None, provider: str, words: str
) -> None:
    more: Object = {"provider": provider}
    if data is not None:
        await make_secret(sources.cluster, "login", data)
        more["secretRef"] = {"name": "login"}
    await sources.create("apps", spec(server, **more))
    await sources.ready("apps", "False")
    stalled = sources.condition("apps", "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "InvalidProviderConfiguration")
    assert words in stalled["message"]
    assert sources.status("apps")["observedGeneration"] == 1


@pytest.mark.scenario("sources-23")
async def test_proxy(sources: Sources, server: GitServer) -> None:
    await make_secret(sources.cluster, "proxy", {"username": b"x"})
    await sources.create("apps", spec(server, proxySecretRef={"name": "proxy"}))
    await sources.ready("apps", "False")
    assert sources.condition("apps", "FetchFailed")["reason"] == "AuthenticationFailed"
    assert "failed to configure proxy options" in sources.condition("apps", "Ready")["message"]
    assert server.requests == []


async def test_a_url_that_is_none(sources: Sources) -> None:
    await sources.create("apps", {"url": "https://", "interval": "1h"})
    await sources.ready("apps", "False")
    assert sources.condition("apps", "Stalled")["reason"] == "URLInvalid"
