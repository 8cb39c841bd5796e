"""From commits to artifacts, with the real `git` behind a web server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.git.objects import content, spec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controllers.sources.running import Sources
    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer


@pytest.mark.scenario("sources-1")
@pytest.mark.scenario("sources-14")
async def test_from_a_commit_to_an_artifact(sources: Sources, server: GitServer, repository: Repository) -> None:
    commit = repository.commit({"a.yaml": "1", "picture.jpg": "x"}, "Add a cache")
    await sources.create("apps", spec(server))
    status = await sources.ready("apps")
    assert status["artifact"]["revision"] == f"main@sha1:{commit}"
    assert status["artifact"]["path"] == f"gitrepository/{sources.cluster.namespace}/apps/{commit}.tar.gz"
    assert content(sources, "apps") == {"a.yaml": "1"}
    assert sources.heard.events[0].message == "stored artifact for commit 'Add a cache'"


@pytest.mark.scenario("sources-17")
async def test_nothing_new_is_one_request(sources: Sources, server: GitServer, repository: Repository) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server))
    await sources.ready("apps")
    await sources.asked("apps", "first")
    server.requests.clear()
    seen = len(sources.history)
    await sources.asked("apps", "second")
    assert server.requests == ["POST /app.git/git-upload-pack"]
    ready = [
        one["status"] for obj in sources.history[seen:] for one in obj["status"]["conditions"] if one["type"] == "Ready"
    ]
    assert set(ready) == {"True"}


@pytest.mark.parametrize("field", ["semver", "commit"])
@pytest.mark.scenario("sources-17")
async def test_ranges_and_commits_are_not_fetched_again(
    sources: Sources, server: GitServer, repository: Repository, field: str
) -> None:
    commit = repository.commit({"a.yaml": "1"})
    repository.tag("v1.0.0", annotated=True)
    ref = {"semver": ">=1"} if field == "semver" else {"commit": commit}
    await sources.create("apps", spec(server, ref=ref))
    await sources.ready("apps")
    server.requests.clear()
    await sources.asked("apps", "now")
    assert len(server.requests) == (1 if field == "semver" else 0)


async def test_a_new_commit(sources: Sources, server: GitServer, repository: Repository) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server))
    await sources.ready("apps")
    commit = repository.commit({"a.yaml": "2"})
    status = await sources.asked("apps", "pushed")
    assert status["artifact"]["revision"] == f"main@sha1:{commit}"
    assert content(sources, "apps") == {"a.yaml": "2"}


async def test_a_flapping_source(sources: Sources, server: GitServer, repository: Repository, tmp_path: Path) -> None:
    """A36: whatever comes, the newest wins in the end, and nothing piles up."""
    repository.commit({"a.yaml": "0"})
    await sources.create("apps", spec(server))
    await sources.ready("apps")
    last = ""
    for number in range(30):
        last = repository.commit({"a.yaml": str(number)})
        if number % 3 == 0:
            await sources.request("apps", str(number))
    status = await sources.asked("apps", "last")
    assert status["artifact"]["revision"] == f"main@sha1:{last}"
    assert len(list((tmp_path / "mirrors").glob("*/objects/pack/*.pack"))) <= 21
    assert len(list((tmp_path / "store").rglob("*.tar.gz"))) <= 3


@pytest.mark.scenario("sources-28")
async def test_a_revision_in_the_old_spelling(sources: Sources, server: GitServer, repository: Repository) -> None:
    commit = repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server))
    await sources.ready("apps")
    await sources.patch("apps", {"status": {"artifact": {"revision": f"main/{commit}"}}}, subresource="status")
    await sources.until(lambda: sources.status("apps")["artifact"]["revision"] == f"main/{commit}")
    before = len(sources.heard.events)
    await sources.asked("apps", "now")
    assert len(sources.heard.events) == before
