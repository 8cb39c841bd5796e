"""Provider: a service that events can be sent to."""

from typing import Annotated, ClassVar, Literal

from penstock.api.durations import Duration, Timeout
from penstock.api.meta import ObjectMeta
from penstock.api.references import LocalReference
from penstock.api.wire import Rule, Wire, about

_COMMIT_STATUS_TYPES = ("github", "gitlab", "gitea", "bitbucketserver", "bitbucket", "azuredevops")


class ProviderSpec(Wire, frozen=True, kw_only=True):
    """Which service, and how to reach it."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            " || ".join(f"self.type == '{name}'" for name in _COMMIT_STATUS_TYPES) + " || !has(self.commitStatusExpr)",
            "spec.commitStatusExpr is only supported for the "
            + ", ".join(f"'{name}'" for name in _COMMIT_STATUS_TYPES)
            + " provider types",
        ),
    )

    type: Annotated[
        Literal[
            "slack",
            "discord",
            "msteams",
            "rocket",
            "generic",
            "generic-hmac",
            "github",
            "gitlab",
            "gitea",
            "giteapullrequestcomment",
            "bitbucketserver",
            "bitbucket",
            "azuredevops",
            "googlechat",
            "googlepubsub",
            "webex",
            "sentry",
            "azureeventhub",
            "telegram",
            "lark",
            "matrix",
            "opsgenie",
            "alertmanager",
            "grafana",
            "githubdispatch",
            "githubpullrequestcomment",
            "gitlabmergerequestcomment",
            "pagerduty",
            "datadog",
            "nats",
            "zulip",
            "otel",
        ],
        about("The service."),
    ]
    address: Annotated[str, about("Where the service is; an `address` in the Secret wins.", max_length=2048)] = ""
    channel: Annotated[str, about("Room, topic or the like inside the service.", max_length=2048)] = ""
    username: Annotated[str, about("Name to post under.", max_length=2048)] = ""
    secret_ref: Annotated[LocalReference | None, about("Secret with address, token, headers and the like.")] = None
    service_account_name: Annotated[
        str, about("Service account to log in with, where the service knows workload identities.")
    ] = ""
    cert_secret_ref: Annotated[LocalReference | None, about("Secret with a CA and a client certificate for TLS.")] = (
        None
    )
    proxy: Annotated[
        str,
        about(
            "Address of a proxy; `proxySecretRef` has taken its place.", pattern="^(http|https)://.*$", max_length=2048
        ),
    ] = ""
    proxy_secret_ref: Annotated[LocalReference | None, about("Secret with address and login of a proxy.")] = None
    timeout: Annotated[Timeout, about("Longest time for sending one event; 15s when left out.")] = Timeout.parse("15s")
    interval: Annotated[Duration | None, about("Accepted for old manifests; has no effect.")] = None
    commit_status_expr: Annotated[
        str, about("CEL expression over `event`, `alert` and `provider` that names the commit status.")
    ] = ""
    suspend: Annotated[bool, about("Send nothing until this is false again.")] = False


class Provider(Wire, frozen=True, kw_only=True):
    """A service that events can be sent to."""

    metadata: ObjectMeta
    spec: ProviderSpec
