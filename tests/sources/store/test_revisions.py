"""Older revisions in the store: found by what people write, spared when somebody is pinned to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.sources.store import ArtifactStore, Retention, RevisionMissing
from tests.sources.store.artifacts import NAME, OTHER, OWNER, REVISION

if TYPE_CHECKING:
    from pathlib import Path

OLDER = "main@sha1:" + "2" * 40


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(OLDER, id="whole"),
        pytest.param("main@sha1:2222222", id="abbreviated"),
        pytest.param("sha1:22222222", id="without a name"),
        pytest.param("2" * 40, id="the hash alone"),
        pytest.param("other@sha1:" + "2" * 40, id="by whatever branch it came"),
    ],
)
async def test_revisions_are_found_again(store: ArtifactStore, files: Path, wanted: str) -> None:
    older = await store.put_tree(OWNER, "2.tar.gz", files, revision=OLDER, metadata={"made": "by hand"})
    await store.put_tree(OWNER, NAME, files, revision=REVISION)
    assert await store.find(OWNER, wanted) == older


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        pytest.param("main@sha1:" + "3" * 40, f"there are {REVISION}", id="never fetched"),
        pytest.param("main", "not in the artifact store", id="a name moves"),
        pytest.param("111", "not in the artifact store", id="too short"),
        pytest.param("", "not in the artifact store", id="nothing"),
        pytest.param("../../x", "not in the artifact store", id="a path"),
    ],
)
async def test_revisions_that_are_not_there(store: ArtifactStore, files: Path, wanted: str, says: str) -> None:
    await store.put_tree(OWNER, NAME, files, revision=REVISION)
    with pytest.raises(RevisionMissing, match=says):
        await store.find(OWNER, wanted)
    with pytest.raises(RevisionMissing, match="there is none"):
        await store.find(OTHER, REVISION)


async def test_revisions_whose_file_or_record_is_gone(store: ArtifactStore, files: Path) -> None:
    gone = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    unreadable = await store.put_tree(OWNER, "2.tar.gz", files, revision=OLDER)
    store.file(gone).unlink()
    store.file(unreadable).with_name(".2.tar.gz.record").write_text("{")
    for revision in (REVISION, OLDER):
        with pytest.raises(RevisionMissing, match="there is none"):
            await store.find(OWNER, revision)


async def test_revisions_that_are_spared(tmp_path: Path, files: Path) -> None:
    store = ArtifactStore(tmp_path / "store", address="test", retention=Retention(0, 1), now=lambda: 4e9)
    current = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    spared = await store.put_tree(OWNER, "2.tar.gz", files, revision=OLDER)
    await store.put_tree(OWNER, "3.tar.gz", files, revision="main@sha1:" + "3" * 40)
    assert await store.collect(current, sparing=["2222222"]) == 1
    assert await store.find(OWNER, OLDER) == spared
    assert await store.collect(current) == 1
    assert {path.name for path in store.file(current).parent.iterdir() if path.name.endswith(".record")} == {
        f".{NAME}.record"
    }
