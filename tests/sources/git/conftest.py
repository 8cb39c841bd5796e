"""A door to Git, a repository, and a server for it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest
import trustme

from penstock.sources.git import Git
from tests.sources.git.repositories import Repository
from tests.sources.git.server import GitServer, serving

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@pytest.fixture
async def git(tmp_path: Path) -> AsyncGenerator[Git]:
    async with Git.open(tmp_path / "mirrors") as git:
        yield git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "served" / "app.git")


@pytest.fixture
async def server(repository: Repository) -> AsyncGenerator[GitServer]:
    async with serving(repository.path.parent) as server:
        yield server


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def secure_server(repository: Repository, authority: trustme.CA) -> AsyncGenerator[GitServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    async with serving(repository.path.parent, tls=tls) as server:
        yield server


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder
