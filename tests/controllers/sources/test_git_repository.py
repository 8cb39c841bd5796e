"""GitRepositories on a cluster, with the real `git` behind a web server."""

from __future__ import annotations

import tarfile
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from penstock.controllers.sources.git_repository import GitRepositories
from penstock.kube.resources import SECRETS
from penstock.sources.git import Git
from tests.controllers.sources.running import SOON, Sources, running
from tests.sources.git.repositories import Repository
from tests.sources.git.server import GitServer, serving
from tests.sources.git.test_signatures import Signer, ssh_signer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube.resources import Object
    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "served" / "app.git")


@pytest.fixture
async def server(repository: Repository) -> AsyncGenerator[GitServer]:
    async with serving(repository.path.parent) as server:
        yield server


@pytest.fixture
async def sources(cluster: Cluster, tmp_path: Path, metrics: Metrics, server: GitServer) -> AsyncGenerator[Sources]:
    async with (
        Git.open(tmp_path / "mirrors") as git,
        running(cluster, GitRepositories(git), tmp_path, metrics, dependency=0.05, backoff=SOON) as sources,
    ):
        yield sources


async def secret(sources: Sources, name: str, data: dict[str, bytes]) -> None:
    body = {"metadata": {"name": name}, "data": {key: b64encode(value).decode() for key, value in data.items()}}
    await sources.cluster.client.create(SECRETS, body, namespace=sources.cluster.namespace)


async def changed(sources: Sources, name: str, change: Object) -> Object:
    """Change the spec, and wait until that generation of it is Ready."""
    generation = (await sources.patch(name, {"spec": change}))["metadata"]["generation"]
    await sources.until(lambda: sources.status(name).get("observedGeneration") == generation)
    return await sources.ready(name)


def spec(server: GitServer, name: str = "app.git", **more: Any) -> Object:
    return {"url": server.url(name), "interval": "1h", "ref": {"branch": "main"}, **more}


def content(sources: Sources, name: str) -> dict[str, str]:
    """The files of the artifact that the status names."""
    path = sources.store.root / sources.status(name)["artifact"]["path"]
    with tarfile.open(path) as archive:
        files = [(member.name, archive.extractfile(member)) for member in archive]
        return {name: file.read().decode() for name, file in files if file is not None}


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


class TestLogin:
    """What a spec and its Secrets say about logging in."""

    @pytest.mark.scenario("sources-20")
    async def test_with_a_secret(self, sources: Sources, server: GitServer, repository: Repository) -> None:
        server.allow_basic("ann", "s3cret")
        repository.commit({"a.yaml": "1"})
        await sources.create("apps", spec(server, secretRef={"name": "login"}))
        await sources.ready("apps", "False")
        told = f"failed to get secret '{sources.cluster.namespace}/login'"
        assert sources.condition("apps", "FetchFailed")["reason"] == "AuthenticationFailed"
        assert told in sources.condition("apps", "Ready")["message"]
        await secret(sources, "login", {"username": b"ann", "password": b"s3cret"})
        await sources.ready("apps")

    @pytest.mark.scenario("sources-20")
    async def test_a_password_is_never_shown(self, sources: Sources, server: GitServer, repository: Repository) -> None:
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
        self, sources: Sources, server: GitServer, data: dict[str, bytes] | None, provider: str, words: str
    ) -> None:
        more: Object = {"provider": provider}
        if data is not None:
            await secret(sources, "login", data)
            more["secretRef"] = {"name": "login"}
        await sources.create("apps", spec(server, **more))
        await sources.ready("apps", "False")
        stalled = sources.condition("apps", "Stalled")
        assert (stalled["status"], stalled["reason"]) == ("True", "InvalidProviderConfiguration")
        assert words in stalled["message"]
        assert sources.status("apps")["observedGeneration"] == 1

    @pytest.mark.scenario("sources-23")
    async def test_proxy(self, sources: Sources, server: GitServer) -> None:
        await secret(sources, "proxy", {"username": b"x"})
        await sources.create("apps", spec(server, proxySecretRef={"name": "proxy"}))
        await sources.ready("apps", "False")
        assert sources.condition("apps", "FetchFailed")["reason"] == "AuthenticationFailed"
        assert "failed to configure proxy options" in sources.condition("apps", "Ready")["message"]
        assert server.requests == []

    async def test_a_url_that_is_none(self, sources: Sources) -> None:
        await sources.create("apps", {"url": "https://", "interval": "1h"})
        await sources.ready("apps", "False")
        assert sources.condition("apps", "Stalled")["reason"] == "URLInvalid"


class TestInclude:
    """Files of other GitRepositories."""

    @pytest.fixture
    def library(self, tmp_path: Path) -> Repository:
        library = Repository(tmp_path / "served" / "library.git")
        library.commit({"lib.yaml": "x", "sub/deep.yaml": "y"})
        return library

    @pytest.mark.scenario("sources-25")
    async def test_waits_for_what_is_not_there(
        self, sources: Sources, server: GitServer, repository: Repository, library: Repository
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
    async def test_paths(
        self, sources: Sources, server: GitServer, repository: Repository, library: Repository
    ) -> None:
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
        assert [one["digest"] for one in status["includedArtifacts"]] == [
            sources.status("lib")["artifact"]["digest"]
        ] * 2

    @pytest.mark.scenario("sources-25")
    async def test_a_change_there_is_a_change_here(
        self, sources: Sources, server: GitServer, repository: Repository, library: Repository
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
        self, sources: Sources, server: GitServer, repository: Repository, library: Repository, include: Object,
        reason: str,
    ) -> None:  # fmt: skip
        repository.commit({"a.yaml": "1", "taken/b": "2"})
        await sources.create("lib", spec(server, "library.git"))
        await sources.ready("lib")
        await sources.create("apps", spec(server, include=[{"repository": {"name": "lib"}, **include}]))
        await sources.ready("apps", "False")
        assert sources.condition("apps", "StorageOperationFailed")["reason"] == reason
        assert "artifact" not in sources.status("apps")


class TestVerification:
    """Signatures; how they are checked is tested with `penstock.sources.git`."""

    @pytest.fixture
    async def keys(self, sources: Sources, tmp_path: Path) -> Signer:
        signer = ssh_signer(tmp_path / "signer")
        await secret(sources, "keys", {signer.name: signer.public})
        return signer

    @pytest.mark.scenario("sources-24")
    async def test_from_signed_to_unsigned_and_back(
        self, sources: Sources, server: GitServer, repository: Repository, keys: Signer
    ) -> None:
        signed = keys.commit(repository, {"a.yaml": "1"})
        await sources.create("apps", spec(server, verify={"mode": "HEAD", "secretRef": {"name": "keys"}}))
        status = await sources.ready("apps")
        told = f"verified signature of\n\t- commit '{signed}' with key '{keys.shown}'"
        assert sources.says("apps", "SourceVerified") == ("True", "Succeeded", told)
        assert status["sourceVerificationMode"] == "HEAD"
        unsigned = repository.commit({"a.yaml": "evil"})
        await sources.asked("apps", "pushed")
        ready = sources.condition("apps", "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "InvalidCommitSignature")
        assert unsigned in ready["message"]
        assert sources.status("apps")["artifact"] == status["artifact"], "A41: the old one is still served"
        status = await changed(sources, "apps", {"verify": None})
        assert sources.condition("apps", "SourceVerified") == {}
        assert "sourceVerificationMode" not in status

    @pytest.mark.scenario("sources-24")
    async def test_a_change_of_mode(
        self, sources: Sources, server: GitServer, repository: Repository, keys: Signer
    ) -> None:
        signed = keys.commit(repository, {"a.yaml": "1"})
        tag = keys.tag(repository, "v1.0.0")
        verify = {"mode": "HEAD", "secretRef": {"name": "keys"}}
        await sources.create("apps", spec(server, ref={"tag": "v1.0.0"}, verify=verify))
        await sources.ready("apps")
        status = await changed(sources, "apps", {"verify": {**verify, "mode": "TagAndHEAD"}})
        message = sources.condition("apps", "SourceVerified")["message"]
        assert f"tag 'v1.0.0@{tag}'" in message
        assert f"commit '{signed}'" in message
        assert status["sourceVerificationMode"] == "TagAndHEAD"

    @pytest.mark.scenario("sources-24")
    async def test_a_tag_is_wanted_and_there_is_none(
        self, sources: Sources, server: GitServer, repository: Repository, keys: Signer
    ) -> None:
        repository.commit({"a.yaml": "1"})
        await sources.create("apps", spec(server, verify={"mode": "Tag", "secretRef": {"name": "keys"}}))
        await sources.ready("apps", "False")
        assert sources.condition("apps", "Stalled")["reason"] == "InvalidVerificationMode"
        assert sources.condition("apps", "SourceVerified")["status"] == "False"

    @pytest.mark.scenario("sources-24")
    async def test_keys_that_are_not_there(self, sources: Sources, server: GitServer, repository: Repository) -> None:
        repository.commit({"a.yaml": "1"})
        await sources.create("apps", spec(server, verify={"mode": "HEAD", "secretRef": {"name": "absent"}}))
        await sources.ready("apps", "False")
        condition = sources.condition("apps", "SourceVerified")
        assert (condition["status"], condition["reason"]) == ("False", "VerificationError")
        assert condition["message"].startswith("public keys secret error: ")
