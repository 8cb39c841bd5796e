"""Parts that several kinds share: references to other objects, patches, selectors, checks."""

from typing import Annotated, ClassVar, Literal

import msgspec

from penstock.api.wire import DEFAULTED, REQUIRED, Rule, Wire, about

_ONE_KUBECONFIG = "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified"


class LocalReference(Wire, frozen=True, kw_only=True):
    """An object in the same namespace."""

    name: Annotated[str, about("Name of the object.")]


class SecretKeyReference(Wire, frozen=True, kw_only=True):
    """One key of a Secret in the same namespace."""

    name: Annotated[str, about("Name of the Secret.")]
    key: Annotated[str, about("Key to read; without one, `value` and then `value.yaml`.")] = ""


class KubeConfig(Wire, frozen=True, kw_only=True):
    """Another cluster to work on."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.configMapRef) || has(self.secretRef)", _ONE_KUBECONFIG),
        Rule("!has(self.configMapRef) || !has(self.secretRef)", _ONE_KUBECONFIG),
    )

    config_map_ref: Annotated[
        LocalReference | None, about("ConfigMap that says how to log in with a workload identity.")
    ] = None
    secret_ref: Annotated[SecretKeyReference | None, about("Secret that holds a kubeconfig file.")] = None


class Dependency(Wire, frozen=True, kw_only=True):
    """An object of the same kind that has to be ready first."""

    name: Annotated[str, about("Name of the dependency.")]
    namespace: Annotated[str, about("Its namespace; by default the namespace of this object.")] = ""
    ready_expr: Annotated[
        str,
        about("CEL expression over `self` and `dep` that takes the place of the built-in readiness test."),
    ] = ""


class CommonMetadata(Wire, frozen=True, kw_only=True):
    """Labels and annotations for everything that is applied."""

    annotations: Annotated[dict[str, str], about("Annotations to set; equal keys are overwritten.")] = msgspec.field(
        default_factory=dict
    )
    labels: Annotated[dict[str, str], about("Labels to set; equal keys are overwritten.")] = msgspec.field(
        default_factory=dict
    )


class Selector(Wire, frozen=True, kw_only=True):
    """Which objects are meant; what is left out matches everything."""

    group: Annotated[str, about("API group, as a regular expression.")] = ""
    version: Annotated[str, about("API version, as a regular expression.")] = ""
    kind: Annotated[str, about("Kind, as a regular expression.")] = ""
    namespace: Annotated[str, about("Namespace, as a regular expression.")] = ""
    name: Annotated[str, about("Name, as a regular expression.")] = ""
    annotation_selector: Annotated[str, about("Annotations, as a label selector expression.")] = ""
    label_selector: Annotated[str, about("Labels, as a label selector expression.")] = ""


class Patch(Wire, frozen=True, kw_only=True):
    """A patch and the objects it is for."""

    patch: Annotated[str, about("Strategic merge patch or list of JSON 6902 operations, as YAML text.")]
    target: Annotated[Selector | None, about("The objects to patch; may be left out of a strategic merge.")] = None


class Image(Wire, frozen=True, kw_only=True):
    """Another name, tag or digest for a container image."""

    name: Annotated[str, about("Image name to look for, without tag.")]
    new_name: Annotated[str, about("Name to put in its place.")] = ""
    new_tag: Annotated[str, about("Tag to put in its place.")] = ""
    digest: Annotated[str, about("Digest to pin; it is used instead of a tag.")] = ""


class IgnoreRule(Wire, frozen=True, kw_only=True):
    """Fields in which the cluster may differ."""

    paths: Annotated[tuple[str, ...], about("JSON pointers to the fields.")]
    target: Annotated[Selector | None, about("The objects the rule is for; by default all.")] = None


class HealthExpression(Wire, frozen=True, kw_only=True):
    """How to read the health of one kind of object."""

    api_version: Annotated[str, about("API version of the objects.")]
    kind: Annotated[str, about("Kind of the objects.")] = ""
    current: Annotated[str, about("CEL expression that is true when the object is as it should be.")]
    failed: Annotated[str, about("CEL expression that is true when the object has failed.")] = ""
    in_progress: Annotated[str, about("CEL expression that is true while the object is on its way.")] = ""


class NamespaceSelector(Wire, frozen=True, kw_only=True):
    """Namespaces, by their labels."""

    match_labels: Annotated[dict[str, str], about("Labels that a namespace must have; none matches all.")] = (
        msgspec.field(default_factory=dict)
    )


class AccessFrom(Wire, frozen=True, kw_only=True):
    """Other namespaces that may use the object; accepted for old manifests, never enforced."""

    namespace_selectors: Annotated[tuple[NamespaceSelector, ...], about("The namespaces; one match is enough.")]


class Signer(Wire, frozen=True, kw_only=True):
    """Who must have signed without a key."""

    issuer: Annotated[str, about("Issuer of the certificate, as a regular expression.")]
    subject: Annotated[str, about("Subject of the certificate, as a regular expression.")]


class Verification(Wire, frozen=True, kw_only=True):
    """How a signature is checked."""

    provider: Annotated[
        Literal["cosign", "notation"], about("Program whose signatures are expected."), DEFAULTED, REQUIRED
    ] = "cosign"
    secret_ref: Annotated[LocalReference | None, about("Secret with the public keys or certificates to trust.")] = None


class IdentityVerification(Verification, frozen=True, kw_only=True):
    """How a signature is checked, with or without a key."""

    match_oidc_identity: Annotated[
        tuple[Signer, ...], about("Accepted signers when there is no key; one match is enough.")
    ] = msgspec.field(default=(), name="matchOIDCIdentity")
