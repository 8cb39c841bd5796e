"""Bucket: the objects of a storage bucket as an artifact."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.api import decode
from penstock.api.bucket import Bucket
from penstock.controllers.sources.kind import Outdated, SourceKind
from penstock.sources import SourceError
from penstock.sources.access import AccessError, Trust, proxy, trust
from penstock.sources.bucket import BucketRemote, BucketSecrets

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from penstock.api.references import LocalReference
    from penstock.controllers.sources.surroundings import Surroundings
    from penstock.kube.resources import Object
    from penstock.paths.packing import Excludes
    from penstock.sources import Fetched, Remote


class Buckets(SourceKind[Bucket]):
    """The hooks of Bucket. Ignore rules decide what is fetched, so nothing is left out of the archive."""

    name = "Bucket"
    alias = "latest.tar.gz"
    failed = "BucketOperationFailed"

    def decode(self, obj: Object) -> Bucket:
        return decode(obj, Bucket)

    @asynccontextmanager
    async def open(self, source: Bucket, around: Surroundings) -> AsyncGenerator[Remote]:
        try:
            secrets = await _secrets(source, around)
        except AccessError as error:
            raise SourceError(str(error), reason="AuthenticationFailed") from error
        yield BucketRemote(source.spec, secrets)

    def filename(self, source: Bucket, revision: str) -> str:
        del source
        return f"{revision.rpartition(':')[2]}.tar.gz"

    def rules(self, source: Bucket, tree: Path) -> Excludes | None:
        del source, tree
        return None

    async def outdated(self, source: Bucket, around: Surroundings) -> Outdated | None:
        """Other rules that lead to the same objects change nothing; to others, they change the revision."""
        del source, around
        return None

    def stored(self, revision: str) -> str:
        return f"stored artifact: revision '{revision}'"

    def news(self, source: Bucket, revision: str, fetched: Fetched | None) -> str:
        if fetched is not None:
            return f"stored artifact {fetched.summary}"
        return f"stored artifact with revision '{revision}' from '{source.spec.bucket_name}' bucket"


async def _secrets(source: Bucket, around: Surroundings) -> BucketSecrets:
    spec = source.spec
    sts = spec.sts
    between = await _data(spec.proxy_secret_ref, around)
    return BucketSecrets(
        name=spec.secret_ref.name if spec.secret_ref else "",
        data=await _data(spec.secret_ref, around),
        trust=await _trust(spec.cert_secret_ref, around),
        proxy=None if between is None else proxy(between, origin=_origin(spec.proxy_secret_ref, around)),
        sts_name=sts.secret_ref.name if sts and sts.secret_ref else "",
        sts=await _data(sts.secret_ref if sts else None, around),
        sts_trust=await _trust(sts.cert_secret_ref if sts else None, around),
    )


async def _data(reference: LocalReference | None, around: Surroundings) -> Mapping[str, bytes] | None:
    return None if reference is None else await around.secret(reference.name)


async def _trust(reference: LocalReference | None, around: Surroundings) -> Trust:
    if reference is None:
        return Trust()
    return trust(await around.secret(reference.name), origin=_origin(reference, around))


def _origin(reference: LocalReference | None, around: Surroundings) -> str:
    return f"secret '{around.namespace}/{reference.name}'" if reference else "secret"
