"""What a spec lets into the artifact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.git.objects import changed, content, spec
from tests.sources.git.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube.resources import Object
    from tests.controllers.sources.running import Sources
    from tests.sources.git.server import GitServer


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"ignore": "b/\n"}, {"a.yaml": "1"}, id="ignore"),
        pytest.param({"sparseCheckout": ["./b"]}, {"b/c.yaml": "2"}, id="sparseCheckout"),
    ],
)
@pytest.mark.scenario("sources-18")
@pytest.mark.scenario("sources-26")
async def test_settings_that_shape_the_content(
    sources: Sources, server: GitServer, repository: Repository, change: Object, expected: dict[str, str]
) -> None:
    repository.commit({"a.yaml": "1", "b/c.yaml": "2"})
    await sources.create("apps", spec(server))
    before = await sources.ready("apps")
    status = await changed(sources, "apps", change)
    assert content(sources, "apps") == expected
    assert status["artifact"]["revision"] == before["artifact"]["revision"]
    (field,) = change
    assert status[f"observed{field[0].upper()}{field[1:]}"] == change[field]
    status = await changed(sources, "apps", {field: None})
    assert content(sources, "apps") == {"a.yaml": "1", "b/c.yaml": "2"}
    assert f"observed{field[0].upper()}{field[1:]}" not in status


@pytest.mark.scenario("sources-26")
async def test_a_directory_that_is_not_there(sources: Sources, server: GitServer, repository: Repository) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server, sparseCheckout=["absent"]))
    await sources.ready("apps", "False")
    condition = sources.condition("apps", "FetchFailed")
    assert condition["reason"] == "GitOperationFailed"
    assert "sparse checkout dir 'absent' does not exist in repository" in condition["message"]


@pytest.mark.scenario("sources-27")
async def test_submodules(sources: Sources, server: GitServer, repository: Repository, tmp_path: Path) -> None:
    pinned = Repository(tmp_path / "served" / "library.git").commit({"lib.yaml": "x"})
    modules = '[submodule "lib"]\n path = lib\n url = ../library.git\n'
    repository.commit({"a.yaml": "1", ".gitmodules": modules}, extra=f"160000 {pinned} 0\tlib\n")
    await sources.create("apps", spec(server))
    await sources.ready("apps")
    assert content(sources, "apps") == {"a.yaml": "1"}
    status = await changed(sources, "apps", {"recurseSubmodules": True})
    assert content(sources, "apps") == {"a.yaml": "1", "lib/lib.yaml": "x"}
    assert status["observedRecurseSubmodules"] is True
