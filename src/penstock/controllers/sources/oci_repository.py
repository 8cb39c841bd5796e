"""OCIRepository: one layer of an image as an artifact."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import msgspec

from penstock.api import decode, encode
from penstock.api.ocirepository import LayerSelector, OCIReference, OCIRepository
from penstock.controllers.sources.kind import Outdated, SourceKind
from penstock.controllers.sources.ready import VERIFIED
from penstock.kube.resources import Resource
from penstock.sources import SourceError, Stalled
from penstock.sources.access import AccessError, Trust, proxy, trust
from penstock.sources.oci import Connection, OCIRemote, parse_repository
from penstock.sources.oci.clouds import cloud_credential
from penstock.sources.oci.credentials import Credential, CredentialsError, combine, from_secret
from penstock.sources.oci.reference import InvalidReference, check_digest
from penstock.sources.oci.remote import digest_of
from penstock.sources.oci.verification import CosignKeys, Identity, Keyless, VerificationFailed
from penstock.sources.oci.verification.notation import from_secret as notation
from penstock.sources.remote import AccountUnusable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

    from penstock.controllers.sources.surroundings import Surroundings
    from penstock.kube.resources import Object
    from penstock.sources import Fetched, Remote
    from penstock.sources.oci.remote import Verifier

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
TRUSTED_ROOT = "trusted_root.json"


class OCIRepositories(SourceKind[OCIRepository]):
    """The hooks of OCIRepository."""

    name = "OCIRepository"
    alias = "latest.tar.gz"
    failed = "OCIArtifactPullFailed"

    def decode(self, obj: Object) -> OCIRepository:
        return decode(obj, OCIRepository)

    @asynccontextmanager
    async def open(self, source: OCIRepository, around: Surroundings) -> AsyncGenerator[Remote]:
        spec = source.spec
        connection = await _connection(source, around)
        verifier = await _verifier(source, around, connection)
        yield OCIRemote(spec.url, connection, reference=spec.ref, layer=spec.layer_selector, verifier=verifier)

    def at(self, source: OCIRepository, revision: str) -> OCIRepository | None:
        try:
            digest = check_digest(digest_of(revision))
        except InvalidReference:
            return None
        return msgspec.structs.replace(
            source, spec=msgspec.structs.replace(source.spec, ref=OCIReference(digest=digest))
        )

    def filename(self, source: OCIRepository, revision: str) -> str:
        del source
        return f"{digest_of(revision)}.tar.gz"

    async def outdated(self, source: OCIRepository, around: Surroundings) -> Outdated | None:
        if _layer(source.spec.layer_selector) != _layer(source.status.observed_layer_selector):
            return Outdated("NewRevision", "the layer selector has changed")
        return await super().outdated(source, around)

    def observed(self, source: OCIRepository) -> Object:
        selector = source.spec.layer_selector
        return {**super().observed(source), "observedLayerSelector": encode(selector) if selector else None}

    def verifies(self, source: OCIRepository) -> bool:
        return source.spec.verify is not None

    def stored(self, revision: str) -> str:
        return f"stored artifact for digest '{revision}'"

    def news(self, source: OCIRepository, revision: str, fetched: Fetched | None) -> str:
        told = fetched.summary if fetched is not None else f"with revision '{revision}' from '{source.spec.url}'"
        return f"stored artifact {told}"


def _layer(selector: LayerSelector | None) -> LayerSelector:
    return selector or LayerSelector()


async def _connection(source: OCIRepository, around: Surroundings) -> Connection:
    spec = source.spec
    with _failing("failed to get credential"):
        credential = await _credential(source, around)
    with _failing("failed to get proxy address"):
        between = await _proxy(source, around)
    with _failing(f"failed to generate transport for '{spec.url}'"):
        trusted = await _trust(source, around)
    if credential is None:
        with _failing(f"failed to get credential from {spec.provider}"):
            credential = await _cloud_credential(source, trusted, between)
    return Connection(credential=credential, trust=trusted, proxy=between, insecure=spec.insecure)


async def _credential(source: OCIRepository, around: Surroundings) -> Credential | None:
    """The login of the Secret, or else of the service account's pull secrets; None where a cloud is to be asked."""
    spec = source.spec
    names = [spec.secret_ref.name] if spec.secret_ref else []
    if spec.service_account_name and spec.provider == "generic":
        names += await _pull_secrets(spec.service_account_name, around)
    if not names:
        return Credential() if spec.provider == "generic" else None
    secrets = [(name, await around.secret(name)) for name in names]
    logins = combine(from_secret(data, origin=_origin(name, around)) for name, data in secrets)
    try:
        repository = parse_repository(spec.url)
    except InvalidReference:
        return Credential()  # said, with its own reason, by the place
    return logins.find(repository) or Credential()


async def _pull_secrets(name: str, around: Surroundings) -> list[str]:
    account = await around.get(SERVICE_ACCOUNTS, name)
    if account is None:
        told = f"failed to get service account '{around.namespace}/{name}': there is none"
        raise SourceError(told, reason="AuthenticationFailed")
    return [str(entry["name"]) for entry in account.get("imagePullSecrets") or () if entry.get("name")]


async def _cloud_credential(source: OCIRepository, trusted: Trust, between: str | None) -> Credential:
    spec = source.spec
    if spec.service_account_name:
        raise AccountUnusable
    try:
        repository = parse_repository(spec.url)
    except InvalidReference:
        return Credential()  # said, with its own reason, by the place
    return await cloud_credential(spec.provider, repository, trust=trusted, proxy=between)


async def _proxy(source: OCIRepository, around: Surroundings) -> str | None:
    reference = source.spec.proxy_secret_ref
    if reference is None:
        return None
    return proxy(await around.secret(reference.name), origin=_origin(reference.name, around))


async def _trust(source: OCIRepository, around: Surroundings) -> Trust:
    reference = source.spec.cert_secret_ref
    if reference is None:
        # Plain HTTP has been allowed, so a certificate that nobody vouches for is no loss.
        return Trust(verify=not source.spec.insecure)
    return trust(await around.secret(reference.name), origin=_origin(reference.name, around))


async def _verifier(source: OCIRepository, around: Surroundings, connection: Connection) -> Verifier | None:
    wanted = source.spec.verify
    if wanted is None:
        return None
    if wanted.secret_ref is not None:
        name = wanted.secret_ref.name
        data, origin = await _verification(name, around), _origin(name, around)
        return notation(data, origin=origin) if wanted.provider == "notation" else CosignKeys(data, origin=origin)
    if wanted.provider == "notation":
        raise VerificationFailed("notation", f"verification secret cannot be empty: '{source.spec.url}'")
    root = None
    if wanted.trusted_root_secret_ref is not None:
        name = wanted.trusted_root_secret_ref.name
        root = (await _verification(name, around)).get(TRUSTED_ROOT)
        if root is None:
            raise VerificationFailed("cosign keyless", f"{_origin(name, around)} has no key '{TRUSTED_ROOT}'")
    identities = [Identity(one.issuer, one.subject) for one in wanted.match_oidc_identity]
    # In a thread: it looks for its library on the disk.
    return await asyncio.to_thread(Keyless, identities, trusted_root=root, connection=connection)


async def _verification(name: str, around: Surroundings) -> Mapping[str, bytes]:
    return await around.secret(name, reason="VerificationError", condition=VERIFIED)


def _origin(name: str, around: Surroundings) -> str:
    return f"secret '{around.namespace}/{name}'"


@contextmanager
def _failing(what: str) -> Generator[None]:
    """Say what was being prepared when a Secret failed us."""
    try:
        yield
    except Stalled:
        raise
    except (AccessError, CredentialsError, SourceError) as error:
        raise SourceError(f"{what}: {error}", reason="AuthenticationFailed") from error
