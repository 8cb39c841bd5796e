"""Which older revisions a source can fetch again, and how it asks for them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.controllers.sources.bucket import Buckets
from penstock.controllers.sources.git_repository import GitRepositories
from penstock.controllers.sources.oci_repository import OCIRepositories

COMMIT, DIGEST = "1a" * 20, "sha256:" + "2b" * 32
GIT = GitRepositories(cast("Any", None))
"""Nothing is fetched here."""


def obj(kind: str, **spec: Any) -> dict[str, Any]:
    base = {"interval": "1h", "url": "oci://example.com/x" if kind == "OCIRepository" else "https://example.com/x"}
    metadata = {"name": "x", "namespace": "x"}
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {**base, **spec},
    }


@pytest.mark.parametrize(
    ("spec", "revision", "branch"),
    [
        pytest.param({"ref": {"branch": "main"}}, f"main@sha1:{COMMIT}", "main", id="of a branch"),
        pytest.param({"ref": {"semver": "1.x"}}, f"v1.0.0@sha1:{COMMIT}", "", id="of a range of versions"),
        pytest.param({}, COMMIT.upper(), "master", id="the hash alone"),
    ],
)
def test_a_commit(spec: dict[str, Any], revision: str, branch: str) -> None:
    asked = GIT.at(GIT.decode(obj("GitRepository", **spec)), revision)
    assert asked is not None
    assert asked.spec.ref is not None
    assert (asked.spec.ref.commit, asked.spec.ref.branch, asked.spec.ref.semver) == (COMMIT, branch, "")


@pytest.mark.parametrize(
    ("spec", "revision"),
    [
        pytest.param({}, "main@sha1:1a1a1a1a", id="a part of the hash"),
        pytest.param({}, "main", id="a name"),
        pytest.param({"include": [{"repository": {"name": "other"}}]}, COMMIT, id="with files of other repositories"),
    ],
)
def test_commits_that_cannot_be_fetched_again(spec: dict[str, Any], revision: str) -> None:
    assert GIT.at(GIT.decode(obj("GitRepository", **spec)), revision) is None


def test_an_image() -> None:
    kind = OCIRepositories()
    source = kind.decode(obj("OCIRepository", ref={"tag": "latest"}))
    asked = kind.at(source, f"latest@{DIGEST}")
    assert asked is not None
    assert asked.spec.ref is not None
    assert (asked.spec.ref.digest, asked.spec.ref.tag) == (DIGEST, "")
    assert kind.at(source, "latest@sha256:2b2b2b2b") is None
    assert kind.at(source, "latest") is None


def test_a_bucket_has_no_past() -> None:
    kind = Buckets()
    source = kind.decode(obj("Bucket", bucketName="x", endpoint="example.com"))
    assert kind.at(source, DIGEST) is None
