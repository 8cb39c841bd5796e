"""OCIRepository: one layer of an image in a registry as an artifact."""

from typing import Annotated, Literal

from penstock.api.durations import Duration, Timeout
from penstock.api.meta import ObjectMeta, SourceStatus
from penstock.api.references import IdentityVerification, LocalReference
from penstock.api.wire import DEFAULTED, Wire, about


class OCIReference(Wire, frozen=True, kw_only=True):
    """Which image to take; of several, the first in the order digest, semver, tag counts."""

    digest: Annotated[str, about("Digest of the image, as `sha256:<hex>`.")] = ""
    semver: Annotated[str, about("Range of versions; the highest matching tag is taken.")] = ""
    semver_filter: Annotated[str, about("Regular expression that a tag must match before `semver` looks at it.")] = ""
    tag: Annotated[str, about("Tag to take; `latest` when nothing is given.")] = ""


class LayerSelector(Wire, frozen=True, kw_only=True):
    """Which layer of the image to take, and how."""

    media_type: Annotated[str, about("Media type of the layer; by default the first layer is taken.")] = ""
    operation: Annotated[
        Literal["extract", "copy"],
        about("Unpack the layer and apply the ignore rules (also when left out), or keep its bytes."),
    ] = "extract"


class OCIVerification(IdentityVerification, frozen=True, kw_only=True):
    """Whose signature an image must carry."""

    trusted_root_secret_ref: Annotated[
        LocalReference | None,
        about("Secret with a `trusted_root.json` of a private Sigstore."),
    ] = None


class OCIRepositorySpec(Wire, frozen=True, kw_only=True):
    """Which image, which layer, and how often to look."""

    url: Annotated[str, about("Address of the image, without tag or digest.", pattern="^oci://.*$")]
    interval: Annotated[Duration, about("Time between two looks at the registry.")]
    timeout: Annotated[Timeout, about("Longest time for one remote operation.", also={"default": "60s"})] = (
        Timeout.parse("60s")
    )
    suspend: Annotated[bool, about("Stop looking until this is false again.")] = False
    ref: Annotated[OCIReference | None, about("Which image to take; by default the tag `latest`.")] = None
    layer_selector: Annotated[LayerSelector | None, about("Which layer to take; by default the first.")] = None
    ignore: Annotated[str, about("Files to leave out, in the syntax of .gitignore.")] = ""

    provider: Annotated[
        Literal["generic", "aws", "azure", "gcp"],
        about("How to log in: with a Secret, or at a cloud service."),
        DEFAULTED,
    ] = "generic"
    secret_ref: Annotated[LocalReference | None, about("Secret with a Docker configuration.")] = None
    service_account_name: Annotated[str, about("Service account whose pull secrets or workload identity to use.")] = ""
    cert_secret_ref: Annotated[LocalReference | None, about("Secret with a CA and a client certificate for TLS.")] = (
        None
    )
    proxy_secret_ref: Annotated[LocalReference | None, about("Secret with address and login of a proxy.")] = None
    insecure: Annotated[bool, about("Allow a registry without TLS.")] = False
    verify: Annotated[OCIVerification | None, about("Whose signature is required.")] = None


class OCIRepositoryStatus(SourceStatus, frozen=True, kw_only=True):
    """What was fetched, and with which settings."""

    observed_ignore: Annotated[str | None, about("`ignore` of the current artifact.")] = None
    observed_layer_selector: Annotated[LayerSelector | None, about("`layerSelector` of the current artifact.")] = None
    url: Annotated[str, about("Where the newest artifact can always be fetched.")] = ""


class OCIRepository(Wire, frozen=True, kw_only=True):
    """One layer of an image in a registry as an artifact."""

    metadata: ObjectMeta
    spec: OCIRepositorySpec
    status: OCIRepositoryStatus = OCIRepositoryStatus(observed_generation=-1)
