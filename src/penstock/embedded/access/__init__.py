"""Who may do what: authentication, impersonation, RBAC, and the resources that answer questions about them.

The rules are the real server's: an admin token of `system:masters`, service account tokens signed by the cluster's own
key, everybody else anonymous; RBAC with the check that nobody grants more than they hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.access.authentication import Authenticator
from penstock.embedded.access.authorization import authorize, question
from penstock.embedded.access.escalation import EscalationCheck
from penstock.embedded.access.grants import Grants
from penstock.embedded.access.impersonation import ActingAs, Impersonation, acting_as
from penstock.embedded.access.reviews import AccessReviews, RulesReviews, SelfReviews, TokenReviews
from penstock.embedded.access.token_requests import TokenRequests
from penstock.embedded.access.tokens import Signer, discovery_document

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Context, Plugins, RawHeaders, RequestInfo, User

__all__ = ["install"]


class RoleBasedAccess:
    """Authentication and RBAC together, as the server asks for them."""

    def __init__(self, authenticator: Authenticator, grants: Grants) -> None:
        self._authenticator = authenticator
        self._grants = grants
        self._impersonation = Impersonation(grants)

    def authenticate(self, headers: RawHeaders) -> User:
        """Who asks; whether they may act as whom they name is settled by `authorize`, which knows the request."""
        return acting_as(self._authenticator.authenticate(headers), headers)

    def authorize(self, user: User, info: RequestInfo) -> None:
        asked = question(info)
        if isinstance(user, ActingAs):
            self._impersonation.check(user, asked)
        authorize(self._grants, user, asked)


def install(plugins: Plugins, context: Context) -> None:
    """Make the server ask who may do what."""
    grants = Grants()
    grants.load(context.api)
    signer = Signer(context.signing_key, context.issuer)
    authenticator = Authenticator(
        context.api, signer, admin_token=context.admin_token, issuer=context.issuer, now=context.now
    )
    plugins.access = RoleBasedAccess(authenticator, grants)
    plugins.observers.append(grants)
    plugins.admission.append(EscalationCheck(grants))
    plugins.pages |= {
        "/.well-known/openid-configuration": lambda: discovery_document(context.issuer),
        "/openid/v1/jwks": signer.public_keys,
    }
    reviews = AccessReviews(grants)
    authorization, authentication = "authorization.k8s.io", "authentication.k8s.io"
    plugins.virtual |= {
        (authorization, "subjectaccessreviews", ""): reviews,
        (authorization, "selfsubjectaccessreviews", ""): reviews,
        (authorization, "localsubjectaccessreviews", ""): reviews,
        (authorization, "selfsubjectrulesreviews", ""): RulesReviews(grants),
        (authentication, "selfsubjectreviews", ""): SelfReviews(context.now),
        (authentication, "tokenreviews", ""): TokenReviews(authenticator, context.issuer),
        ("", "serviceaccounts", "token"): TokenRequests(context.api, signer, issuer=context.issuer, now=context.now),
    }
