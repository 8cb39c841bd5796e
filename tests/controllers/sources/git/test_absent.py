"""What a repository does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.git.objects import spec

if TYPE_CHECKING:
    from penstock.kube.resources import Object
    from tests.controllers.sources.running import Sources
    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer


@pytest.mark.parametrize(
    ("ref", "reason", "words"),
    [
        pytest.param({"branch": "absent"}, "GitOperationFailed", "couldn't find remote ref 'refs/heads/absent'",
                     id="a branch"),
        pytest.param({"commit": "1" * 40}, "GitOperationFailed", "unable to resolve commit object", id="a commit"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-16")
async def test_what_is_not_there(
    sources: Sources, server: GitServer, repository: Repository, ref: Object, reason: str, words: str
) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server, ref=ref))
    await sources.ready("apps", "False")
    assert sources.condition("apps", "FetchFailed")["reason"] == reason
    assert words in sources.condition("apps", "Ready")["message"]


@pytest.mark.scenario("sources-19")
async def test_an_empty_repository(sources: Sources, server: GitServer, repository: Repository) -> None:
    await sources.create("apps", spec(server))
    await sources.ready("apps", "False")
    assert sources.says("apps", "FetchFailed") == ("True", "EmptyGitRepository", "git repository is empty")
    repository.commit({"a.yaml": "1"})
    await sources.ready("apps")
