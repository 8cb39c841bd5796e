"""HelmRepository: the index of a Helm chart repository, or a registry with charts in it."""

from typing import Annotated, Literal

from penstock.api.durations import MINUTE, Duration, Timeout
from penstock.api.meta import ObjectMeta, SourceStatus
from penstock.api.references import AccessFrom, LocalReference
from penstock.api.wire import DEFAULTED, Wire, about


class HelmRepositorySpec(Wire, frozen=True, kw_only=True):
    """Which repository, and how often to look."""

    url: Annotated[str, about("Address of the repository, over HTTP, HTTPS or OCI.", pattern="^(http|https|oci)://.*$")]
    type: Annotated[Literal["default", "oci"], about("Repository with an index (also when left out), or registry.")] = (
        "default"
    )
    interval: Annotated[Duration, about("Time between two looks at the index; 1m when left out.")] = Duration(MINUTE)
    timeout: Annotated[Timeout, about("Longest time for fetching the index; 1m when left out.")] = Timeout(MINUTE)
    suspend: Annotated[bool, about("Stop looking until this is false again.")] = False

    secret_ref: Annotated[LocalReference | None, about("Secret with the credentials.")] = None
    pass_credentials: Annotated[bool, about("Send the credentials to other hosts too, when charts lie there.")] = False
    provider: Annotated[
        Literal["generic", "aws", "azure", "gcp"],
        about("How to log in at a registry: with a Secret, or at a cloud service."),
        DEFAULTED,
    ] = "generic"
    cert_secret_ref: Annotated[LocalReference | None, about("Secret with a CA and a client certificate for TLS.")] = (
        None
    )
    insecure: Annotated[bool, about("Allow a registry without TLS.")] = False
    access_from: Annotated[AccessFrom | None, about("Accepted, never enforced.")] = None


class HelmRepositoryStatus(SourceStatus, frozen=True, kw_only=True):
    """What was fetched."""

    url: Annotated[str, about("Where the newest index can always be fetched.")] = ""


class HelmRepository(Wire, frozen=True, kw_only=True):
    """The index of a Helm chart repository, or a registry with charts in it."""

    metadata: ObjectMeta
    spec: HelmRepositorySpec
    status: HelmRepositoryStatus = HelmRepositoryStatus(observed_generation=-1)
