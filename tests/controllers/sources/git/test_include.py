"""Files of other GitRepositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.git.objects import content, spec
from tests.sources.git.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube.resources import Object
    from tests.controllers.sources.running import Sources
    from tests.sources.git.server import GitServer


@pytest.fixture
def library(tmp_path: Path) -> Repository:
    library = Repository(tmp_path / "served" / "library.git")
    library.commit({"lib.yaml": "x", "sub/deep.yaml": "y"})
    return library


@pytest.mark.scenario("sources-25")
async def test_waits_for_what_is_not_there(
    sources: Sources, server: GitServer, repository: Repository, library: Repository
) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server, include=[{"repository": {"name": "lib"}}]))
    await sources.ready("apps", "False")
    condition = sources.condition("apps", "IncludeUnavailable")
    assert (condition["status"], condition["reason"]) == ("True", "NotFound")
    assert ("Normal", "NotFound") in sources.heard.reasons
    assert server.requests == [], "nothing is fetched that could not be completed"
    await sources.create("lib", spec(server, "library.git", ref={"branch": "absent"}))
    await sources.until(lambda: sources.condition("apps", "IncludeUnavailable").get("reason") == "NoArtifact")
    await sources.patch("lib", {"spec": {"ref": {"branch": "main"}}})
    await sources.ready("apps")
    assert content(sources, "apps") == {"a.yaml": "1", "lib/lib.yaml": "x", "lib/sub/deep.yaml": "y"}
    assert sources.condition("apps", "IncludeUnavailable") == {}


@pytest.mark.scenario("sources-25")
async def test_paths(sources: Sources, server: GitServer, repository: Repository, library: Repository) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("lib", spec(server, "library.git"))
    await sources.ready("lib")
    include = [
        {"repository": {"name": "lib"}, "fromPath": "sub", "toPath": "vendor/sub"},
        {"repository": {"name": "lib"}, "fromPath": "lib.yaml", "toPath": "vendor/one.yaml"},
    ]
    await sources.create("apps", spec(server, include=include))
    status = await sources.ready("apps")
    assert content(sources, "apps") == {"a.yaml": "1", "vendor/one.yaml": "x", "vendor/sub/deep.yaml": "y"}
    assert status["observedInclude"] == include
    assert [one["digest"] for one in status["includedArtifacts"]] == [sources.status("lib")["artifact"]["digest"]] * 2


@pytest.mark.scenario("sources-25")
async def test_a_change_there_is_a_change_here(
    sources: Sources, server: GitServer, repository: Repository, library: Repository
) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("lib", spec(server, "library.git"))
    await sources.ready("lib")
    await sources.create("apps", spec(server, include=[{"repository": {"name": "lib"}}]))
    before = await sources.ready("apps")
    library.commit({"lib.yaml": "new"})
    await sources.asked("lib", "pushed")
    after = await sources.asked("apps", "now")
    assert content(sources, "apps") == {"a.yaml": "1", "lib/lib.yaml": "new"}
    assert after["artifact"]["revision"] == before["artifact"]["revision"]
    assert after["artifact"]["digest"] != before["artifact"]["digest"]
    steady = await sources.asked("apps", "again")
    assert steady["artifact"] == after["artifact"]


@pytest.mark.parametrize(
    ("include", "reason"),
    [
        pytest.param({"toPath": "../x"}, "IllegalPath", id="a target outside"),
        pytest.param({"toPath": "a/../../x"}, "IllegalPath", id="a target outside, by a way round"),
        pytest.param({"fromPath": "../../etc"}, "CopyFailure", id="a source outside"),
        pytest.param({"fromPath": "absent"}, "CopyFailure", id="a source that is not there"),
        pytest.param({"toPath": "taken"}, "CopyFailure", id="a target that is there"),
        pytest.param({"toPath": "a.yaml/x"}, "CopyFailure", id="a file in the way"),
    ],
)
@pytest.mark.scenario("sources-25")
async def test_paths_that_lead_nowhere(
    sources: Sources, server: GitServer, repository: Repository, library: Repository, include: Object,
    reason: str,
) -> None:  # fmt: skip
    repository.commit({"a.yaml": "1", "taken/b": "2"})
    await sources.create("lib", spec(server, "library.git"))
    await sources.ready("lib")
    await sources.create("apps", spec(server, include=[{"repository": {"name": "lib"}, **include}]))
    await sources.ready("apps", "False")
    assert sources.condition("apps", "StorageOperationFailed")["reason"] == reason
    assert "artifact" not in sources.status("apps")
