"""Bucket: the objects of a storage bucket as an artifact."""

from typing import Annotated, ClassVar, Literal

from penstock.api.durations import Duration, Timeout
from penstock.api.meta import ObjectMeta, SourceStatus
from penstock.api.references import AccessFrom, LocalReference
from penstock.api.wire import DEFAULTED, Rule, Wire, about


class SecurityTokenService(Wire, frozen=True, kw_only=True):
    """Where to get temporary credentials."""

    provider: Annotated[Literal["aws", "ldap"], about("Protocol that the service speaks.")]
    endpoint: Annotated[str, about("Address of the service.", pattern="^(http|https)://.*$")]
    secret_ref: Annotated[LocalReference | None, about("Secret with user name and password for the service.")] = None
    cert_secret_ref: Annotated[LocalReference | None, about("Secret with a CA and a client certificate for TLS.")] = (
        None
    )


class BucketSpec(Wire, frozen=True, kw_only=True):
    """Which bucket, and how often to look."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.provider == 'aws' || self.provider == 'generic' || !has(self.sts)",
            "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
        ),
        Rule(
            "self.provider != 'aws' || !has(self.sts) || self.sts.provider == 'aws'",
            "'aws' is the only supported STS provider for the 'aws' Bucket provider",
        ),
        Rule(
            "self.provider != 'generic' || !has(self.sts) || self.sts.provider == 'ldap'",
            "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
        ),
        Rule(
            "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.secretRef)",
            "spec.sts.secretRef is not required for the 'aws' STS provider",
        ),
        Rule(
            "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.certSecretRef)",
            "spec.sts.certSecretRef is not required for the 'aws' STS provider",
        ),
        Rule(
            "self.provider != 'generic' || !has(self.serviceAccountName)",
            "ServiceAccountName is not supported for the 'generic' Bucket provider",
        ),
        Rule(
            "!has(self.secretRef) || !has(self.serviceAccountName)",
            "cannot set both .spec.secretRef and .spec.serviceAccountName",
        ),
    )

    bucket_name: Annotated[str, about("Name of the bucket.")]
    endpoint: Annotated[str, about("Host of the storage, with a port if need be.")]
    region: Annotated[str, about("Region of the bucket.")] = ""
    prefix: Annotated[str, about("Beginning of the keys to fetch; by default all.")] = ""
    interval: Annotated[Duration, about("Time between two looks at the bucket.")]
    timeout: Annotated[Timeout, about("Longest time for one fetch.", also={"default": "60s"})] = Timeout.parse("60s")
    suspend: Annotated[bool, about("Stop looking until this is false again.")] = False
    ignore: Annotated[str, about("Files to leave out, in the syntax of .gitignore.")] = ""

    provider: Annotated[
        Literal["generic", "aws", "gcp", "azure"],
        about("Whose storage it is; `generic` is everything that speaks S3."),
        DEFAULTED,
    ] = "generic"
    secret_ref: Annotated[LocalReference | None, about("Secret with the credentials.")] = None
    service_account_name: Annotated[str, about("Service account to log in with; not for the provider generic.")] = ""
    sts: Annotated[SecurityTokenService | None, about("Where to get temporary credentials.")] = None
    cert_secret_ref: Annotated[
        LocalReference | None, about("Secret with a CA and a client certificate for TLS; provider generic.")
    ] = None
    proxy_secret_ref: Annotated[LocalReference | None, about("Secret with address and login of a proxy.")] = None
    insecure: Annotated[bool, about("Allow a storage without TLS.")] = False


class BucketSpecV1beta2(BucketSpec, frozen=True, kw_only=True):
    """What old manifests may say besides; none of it has an effect."""

    access_from: Annotated[AccessFrom | None, about("Accepted for old manifests, never enforced.")] = None


class BucketStatus(SourceStatus, frozen=True, kw_only=True):
    """What was fetched, and with which settings."""

    observed_ignore: Annotated[str | None, about("`ignore` of the current artifact.")] = None
    url: Annotated[str, about("Where the newest artifact can always be fetched.")] = ""


class Bucket(Wire, frozen=True, kw_only=True):
    """The objects of a storage bucket as an artifact."""

    metadata: ObjectMeta
    spec: BucketSpec
    status: BucketStatus = BucketStatus(observed_generation=-1)
