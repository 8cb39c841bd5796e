from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.embedded.status import StatusError
from tests.embedded.access.asking import ask, bind, headers, token, who
from tests.embedded.lifecycle.running import create

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine
    from tests.embedded.access.asking import Headers


@pytest.mark.parametrize(
    ("asked", "name", "groups"),
    [
        pytest.param({"user": "jane"}, "jane", ("system:authenticated",), id="a user"),
        pytest.param(
            {"user": "jane", "group": "dev"}, "jane", ("dev", "system:authenticated"), id="with a group of her own"
        ),
        pytest.param(
            {"user": "system:serviceaccount:ns:sa"},
            "system:serviceaccount:ns:sa",
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
            id="a service account has its groups",
        ),
        pytest.param(
            {"user": "system:serviceaccount:ns:sa", "group": "x"},
            "system:serviceaccount:ns:sa",
            ("x", "system:authenticated"),
            id="unless others are named",
        ),
        pytest.param({"user": "system:anonymous"}, "system:anonymous", ("system:unauthenticated",), id="nobody"),
        pytest.param(
            {"user": "jane", "group": "system:unauthenticated"}, "jane", ("system:unauthenticated",), id="unknown jane"
        ),
        pytest.param({"user": ""}, "admin", ("system:masters", "system:authenticated"), id="an empty name is no name"),
    ],
)
async def test_who_one_becomes(engine: Engine, asked: dict[str, str], name: str, groups: tuple[str, ...]) -> None:
    user = who(engine, headers(**asked))

    assert (user.name, user.groups) == (name, groups)


async def test_extras_keep_their_order_and_lose_their_escapes(engine: Engine) -> None:
    sent = [*headers(user="jane", uid="u1"), (b"impersonate-extra-a%2fb", b"1"), (b"impersonate-extra-a%2fb", b"2")]

    user = who(engine, sent)

    assert (user.uid, dict(user.extra)) == ("u1", {"a/b": ["1", "2"]})


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        pytest.param(
            {"group": "a"}, 'UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)', id="a group alone"
        ),
        pytest.param({"uid": "a"}, 'UID:"a", Groups:[]string(nil), Extra:map[string][]string(nil)', id="a uid alone"),
        pytest.param(
            {"extra-foo": "a"},
            'UID:"", Groups:[]string(nil), Extra:map[string][]string{"foo":[]string{"a"}}',
            id="an extra alone",
        ),
    ],
)
async def test_without_a_user_it_is_a_bad_request(engine: Engine, asked: dict[str, str], shown: str) -> None:
    with pytest.raises(StatusError) as refused:
        who(engine, headers(**asked))

    assert refused.value.code == 400
    told = f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
    assert refused.value.message == told


async def _proxy(engine: Engine, *rules: dict[str, list[str]]) -> str:
    sent = await token(engine, "proxy")
    await create(engine, "ClusterRole", "proxy", rules=list(rules))
    await bind(engine, "proxy", {"kind": "ServiceAccount", "name": "proxy", "namespace": "default"})
    return sent


LEGACY = (
    {"apiGroups": [""], "resources": ["users"], "resourceNames": ["jane"], "verbs": ["impersonate"]},
    {"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["ok"], "verbs": ["impersonate"]},
    {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["dev"], "verbs": ["impersonate"]},
    {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["userextras/scopes"],
        "resourceNames": ["view"],
        "verbs": ["impersonate"],
    },
)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"user": "jane"}, id="a user"),
        pytest.param({"user": "jane", "group": "dev"}, id="with a group"),
        pytest.param({"user": "system:serviceaccount:x:ok"}, id="a service account"),
        pytest.param({"user": "jane", "extra-scopes": "view"}, id="with an extra"),
    ],
)
async def test_the_right_is_needed_and_enough(engine: Engine, asked: dict[str, str]) -> None:
    sent = await _proxy(engine, *LEGACY)

    assert ask(engine, "/version", headers(sent, **asked)).name == asked["user"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param(
            {"user": "joe"},
            'users "joe" is forbidden: User "{proxy}" cannot impersonate resource "users" in API group "" '
            "at the cluster scope",
            id="another user",
        ),
        pytest.param(
            {"user": "jane", "group": "ops"},
            'groups "ops" is forbidden: User "{proxy}" cannot impersonate resource "groups" in API group "" '
            "at the cluster scope",
            id="another group",
        ),
        pytest.param(
            {"user": "system:serviceaccount:x:nok"},
            'serviceaccounts "nok" is forbidden: User "{proxy}" cannot impersonate resource "serviceaccounts" '
            'in API group "" in the namespace "x"',
            id="another service account",
        ),
        pytest.param(
            {"user": "jane", "uid": "1"},
            'uids.authentication.k8s.io "1" is forbidden: User "{proxy}" cannot impersonate resource "uids" '
            'in API group "authentication.k8s.io" at the cluster scope',
            id="a uid",
        ),
        pytest.param(
            {"user": "jane", "extra-scopes": "edit"},
            'userextras.authentication.k8s.io "edit" is forbidden: User "{proxy}" cannot impersonate resource '
            '"userextras/scopes" in API group "authentication.k8s.io" at the cluster scope',
            id="another extra",
        ),
    ],
)
async def test_without_the_right(engine: Engine, asked: dict[str, str], message: str) -> None:
    sent = await _proxy(engine, *LEGACY)
    ask(engine, "/version", headers(sent, user="jane"))  # from now on the server asks for this right first

    with pytest.raises(StatusError) as refused:
        ask(engine, "/version", headers(sent, **asked))

    assert refused.value.message == message.format(proxy="system:serviceaccount:default:proxy")


async def test_who_never_impersonated_hears_of_the_constrained_right(engine: Engine) -> None:
    with pytest.raises(StatusError) as refused:
        ask(engine, "/api/v1/pods", headers(None, user="jane"))

    assert refused.value.message == (
        'pods is forbidden: User "system:anonymous" cannot impersonate-on:user-info:list resource "pods" '
        'in API group "" at the cluster scope'
    )


async def test_a_constrained_right_is_for_what_it_names(engine: Engine) -> None:
    authentication = "authentication.k8s.io"
    sent: Headers = headers(
        await _proxy(
            engine,
            {"apiGroups": [authentication], "resources": ["users"], "verbs": ["impersonate:user-info"]},
            {"nonResourceURLs": ["/version"], "verbs": ["impersonate-on:user-info:get"]},
        ),
        user="jane",
    )

    assert ask(engine, "/version", sent).name == "jane"
    with pytest.raises(StatusError, match="cannot impersonate-on:user-info:get path"):
        ask(engine, "/healthz", sent)


async def test_rights_are_those_of_the_impersonated(engine: Engine) -> None:
    with pytest.raises(StatusError, match='User "jane" cannot list'):
        ask(engine, "/api/v1/pods", headers(user="jane"))
    assert ask(engine, "/api/v1/pods", headers(user="jane", group="system:masters")).name == "jane"
