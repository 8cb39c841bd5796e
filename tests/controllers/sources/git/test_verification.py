"""Signatures; how they are checked is tested with `penstock.sources.git`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.git.objects import changed, spec
from tests.controllers.sources.secrets import make_secret
from tests.sources.git.test_signatures import Signer, ssh_signer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controllers.sources.running import Sources
    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer


@pytest.fixture
async def keys(sources: Sources, tmp_path: Path) -> Signer:
    signer = ssh_signer(tmp_path / "signer")
    await make_secret(sources.cluster, "keys", {signer.name: signer.public})
    return signer


@pytest.mark.scenario("sources-24")
async def test_from_signed_to_unsigned_and_back(
    sources: Sources, server: GitServer, repository: Repository, keys: Signer
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
async def test_a_change_of_mode(sources: Sources, server: GitServer, repository: Repository, keys: Signer) -> None:
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
    sources: Sources, server: GitServer, repository: Repository, keys: Signer
) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server, verify={"mode": "Tag", "secretRef": {"name": "keys"}}))
    await sources.ready("apps", "False")
    assert sources.condition("apps", "Stalled")["reason"] == "InvalidVerificationMode"
    assert sources.condition("apps", "SourceVerified")["status"] == "False"


@pytest.mark.scenario("sources-24")
async def test_keys_that_are_not_there(sources: Sources, server: GitServer, repository: Repository) -> None:
    repository.commit({"a.yaml": "1"})
    await sources.create("apps", spec(server, verify={"mode": "HEAD", "secretRef": {"name": "absent"}}))
    await sources.ready("apps", "False")
    condition = sources.condition("apps", "SourceVerified")
    assert (condition["status"], condition["reason"]) == ("False", "VerificationError")
    assert condition["message"].startswith("public keys secret error: ")
