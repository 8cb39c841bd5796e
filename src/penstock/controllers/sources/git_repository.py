"""GitRepository: one commit of a Git repository as an artifact."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from penstock.api import decode, encode
from penstock.api.gitrepository import GitReference, GitRepository
from penstock.controllers.sources.inclusion import add_included, included_artifacts, stored_archive
from penstock.controllers.sources.kind import Outdated, SourceKind
from penstock.controllers.sources.ready import VERIFIED
from penstock.sources import SourceError
from penstock.sources.git import Address, CloudLogin, GitHubApp, GitRemote, Proxy, Reference, Verification, of_secret
from penstock.sources.git.errors import ProviderUnusable
from penstock.sources.git.githubapp import NUMBER
from penstock.sources.git.references import is_hash
from penstock.sources.remote import AccountUnusable
from penstock.sources.store.records import digits_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from penstock.api.gitrepository import GitRepositorySpec
    from penstock.controllers.sources.surroundings import Surroundings
    from penstock.kube.resources import Object
    from penstock.sources import Fetched, Remote
    from penstock.sources.git import Credentials, Git
    from penstock.sources.git.tokens import Lender


class GitRepositories(SourceKind[GitRepository]):
    """The hooks of GitRepository."""

    name = "GitRepository"
    failed = "GitOperationFailed"

    def __init__(self, git: Git, *, local: bool = False) -> None:
        """`local` allows `file://` too, for a rehearsal on one's own machine."""
        self._git, self._local = git, local

    def decode(self, obj: Object) -> GitRepository:
        return decode(obj, GitRepository)

    @asynccontextmanager
    async def open(self, source: GitRepository, around: Surroundings) -> AsyncGenerator[Remote]:
        spec = source.spec
        address = Address.parse(spec.url, local=self._local)
        proxy = await _proxy(spec, address, around)
        remote = GitRemote(
            self._git,
            address,
            Reference.of(spec.ref),
            await _login(spec, address, proxy, around),
            proxy,
            await _verification(spec, around),
            directories=spec.sparse_checkout,
            with_submodules=spec.recurse_submodules,
        )
        # What is missing to complete the artifact is found out before anything is fetched.
        await included_artifacts(spec.include, around)
        yield remote

    def at(self, source: GitRepository, revision: str) -> GitRepository | None:
        """One commit; what other repositories were included then is not known any more."""
        commit, spec = digits_of(revision), source.spec
        if not is_hash(commit) or spec.include:
            return None
        ref = GitReference(branch=Reference.of(spec.ref).branch, commit=commit)
        return msgspec.structs.replace(source, spec=msgspec.structs.replace(spec, ref=ref))

    def filename(self, source: GitRepository, revision: str) -> str:
        del source
        return f"{revision.rpartition(':')[2]}.tar.gz"

    async def outdated(self, source: GitRepository, around: Surroundings) -> Outdated | None:
        spec, status = source.spec, source.status
        included = await included_artifacts(spec.include, around)
        old = [(artifact.revision, artifact.digest) for artifact in status.included_artifacts]
        if [(artifact.revision, artifact.digest) for artifact in included] != old:
            return Outdated("IncludeChange", "included artifacts differ from last observed includes")
        changed = {
            "ignore": spec.ignore != (status.observed_ignore or ""),
            "include": spec.include != status.observed_include,
            "recurseSubmodules": spec.recurse_submodules != status.observed_recurse_submodules,
            "sparseCheckout": spec.sparse_checkout != status.observed_sparse_checkout,
            "verify": _mode(spec) != (status.source_verification_mode or ""),
        }
        names = [name for name, is_changed in changed.items() if is_changed]
        return Outdated("NewRevision", f"{' and '.join(names)} changed since the artifact was built") if names else None

    def observed(self, source: GitRepository) -> Object:
        spec = source.spec
        return {
            "observedIgnore": spec.ignore or None,
            "observedInclude": [encode(one) for one in spec.include] or None,
            "observedRecurseSubmodules": spec.recurse_submodules or None,
            "observedSparseCheckout": list(spec.sparse_checkout) or None,
            "sourceVerificationMode": _mode(spec) or None,
        }

    def verifies(self, source: GitRepository) -> bool:
        return source.spec.verify is not None

    async def include(self, source: GitRepository, tree: Path, around: Surroundings) -> Object:
        artifacts = await included_artifacts(source.spec.include, around)
        for include, artifact in zip(source.spec.include, artifacts, strict=True):
            archive = await stored_archive(include, artifact, around)
            await asyncio.to_thread(add_included, include, archive, tree)
        return {"includedArtifacts": [encode(artifact) for artifact in artifacts] or None}

    def news(self, source: GitRepository, revision: str, fetched: Fetched | None) -> str:
        del source
        summary = fetched.summary if fetched is not None else f"commit '{revision}'"
        return f"stored artifact for {summary}"


def _mode(spec: GitRepositorySpec) -> str:
    if spec.verify is None:
        return ""
    return "HEAD" if spec.verify.mode == "head" else spec.verify.mode


async def _login(
    spec: GitRepositorySpec, address: Address, proxy: Proxy | None, around: Surroundings
) -> Credentials | Lender:
    """How to log in: with the Secret, as the App that the Secret describes, or as ourselves to a cloud."""
    if spec.service_account_name:
        raise AccountUnusable
    name = spec.secret_ref.name if spec.secret_ref is not None else ""
    data: Mapping[str, bytes] | None = await around.secret(name) if name else None
    if spec.provider == "github":
        if data is None:
            raise ProviderUnusable("secretRef with github app data must be specified when provider is set to github")
        return GitHubApp.of_secret(data, proxy=proxy)
    secret = f"{around.namespace}/{name}"
    if data is not None and data.get(NUMBER):
        raise ProviderUnusable(f"secretRef '{secret}' has github app data but provider is not set to github")
    given = of_secret(spec.url, address, data, secret=secret)
    return given if spec.provider == "generic" else CloudLogin(spec.provider, address, given)


async def _proxy(spec: GitRepositorySpec, address: Address, around: Surroundings) -> Proxy | None:
    """The proxy of the spec, else the one that this process was told to use."""
    if spec.proxy_secret_ref is None:
        return Proxy.of_environment(address)
    if address.scheme == "ssh":
        told = "failed to configure proxy options: a proxy is used for http and https, and this is ssh"
        raise SourceError(told, reason="AuthenticationFailed")
    return Proxy.of_secret(await around.secret(spec.proxy_secret_ref.name))


async def _verification(spec: GitRepositorySpec, around: Surroundings) -> Verification | None:
    if spec.verify is None:
        return None
    try:
        data = await around.secret(spec.verify.secret_ref.name, reason="VerificationError", condition=VERIFIED)
    except SourceError as error:
        told = f"public keys secret error: {error}"
        raise SourceError(told, reason=error.reason, condition=error.condition) from error
    return Verification.of_secret(spec.verify.mode, data)
