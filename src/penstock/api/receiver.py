"""Receiver: a webhook that makes objects reconcile at once."""

from typing import Annotated, ClassVar, Literal

import msgspec

from penstock.api.alert import EventObject
from penstock.api.durations import Duration
from penstock.api.meta import ObjectMeta, Status
from penstock.api.references import LocalReference
from penstock.api.wire import Rule, Wire, about


class ReceiverObject(EventObject, frozen=True, kw_only=True):
    """The objects to reconcile."""

    filter: Annotated[str, about("CEL expression over `res` and `req`; the object is left alone when it is false.")] = (
        ""
    )


class TokenVariable(Wire, frozen=True, kw_only=True):
    """A value that expressions can use."""

    name: Annotated[str, about("Name of the variable.")]
    expression: Annotated[str, about("CEL expression over `claims` that gives its value.")]


class TokenValidation(Wire, frozen=True, kw_only=True):
    """Something that must be true of a token."""

    expression: Annotated[str, about("CEL expression over `claims` and `vars`.")]
    message: Annotated[str, about("What to say when it is false.")]


class TokenIssuer(Wire, frozen=True, kw_only=True):
    """Whose tokens open the webhook."""

    issuer_url: Annotated[str, about("Address of the OpenID issuer.", pattern="^https?://")] = msgspec.field(
        name="issuerURL"
    )
    audience: Annotated[str, about("Audience of the token; `notification-controller` when left out.")] = ""
    variables: Annotated[tuple[TokenVariable, ...], about("Values for the validations, in this order.")] = ()
    validations: Annotated[tuple[TokenValidation, ...], about("What must be true of a token; all of it.", min_length=1)]


class ReceiverSpec(Wire, frozen=True, kw_only=True):
    """Who calls, and what to reconcile then."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type != 'generic-oidc' || (has(self.oidcProviders) && size(self.oidcProviders) > 0)",
            "generic-oidc receivers must define at least one oidcProvider",
        ),
        Rule(
            "self.type == 'generic-oidc' || !has(self.oidcProviders) || size(self.oidcProviders) == 0",
            "oidcProviders can only be set when type is generic-oidc",
        ),
        Rule(
            "self.type != 'generic-oidc' || !has(self.secretRef)",
            "secretRef cannot be set when type is generic-oidc",
        ),
        Rule(
            "self.type == 'generic-oidc' || has(self.secretRef)",
            "secretRef is required when type is not generic-oidc",
        ),
    )

    type: Annotated[
        Literal[
            "generic",
            "generic-hmac",
            "generic-oidc",
            "github",
            "gitlab",
            "bitbucket",
            "harbor",
            "dockerhub",
            "quay",
            "gcr",
            "nexus",
            "acr",
            "cdevents",
        ],
        about("Who calls, and so how the call is checked."),
    ]
    events: Annotated[tuple[str, ...], about("Events of the caller to react to; by default all.")] = ()
    resources: Annotated[tuple[ReceiverObject, ...], about("The objects to reconcile.")]
    resource_filter: Annotated[
        str, about("CEL expression over `res` and `req`; objects for which it is false are left alone.")
    ] = ""
    secret_ref: Annotated[LocalReference | None, about("Secret with the `token` that callers must know.")] = None
    oidc_providers: Annotated[
        tuple[TokenIssuer, ...],
        about(
            "Whose tokens open the webhook; for the type generic-oidc.",
            also={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["issuerURL"]},
        ),
    ] = ()
    interval: Annotated[Duration, about("Time between two checks of the Receiver itself.", also={"default": "10m"})] = (
        Duration.parse("10m")
    )
    suspend: Annotated[bool, about("Turn callers away until this is false again.")] = False


class ReceiverStatus(Status, frozen=True, kw_only=True):
    """Where the webhook is."""

    webhook_path: Annotated[str, about("Path of the webhook; whoever knows it can call.")] = ""


class Receiver(Wire, frozen=True, kw_only=True):
    """A webhook that makes objects reconcile at once."""

    metadata: ObjectMeta
    spec: ReceiverSpec
    status: ReceiverStatus = ReceiverStatus(observed_generation=-1)
