from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kube import Client, Identity, connect
from penstock.kube.identity import BadIdentity
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.loopback import Asked, Wire, serve


async def whoami(asked: Asked, wire: Wire) -> None:
    await wire.answer({"metadata": {"name": asked.headers.get("impersonate-user", "the controller itself")}})


async def seen_by(client: Client) -> str:
    return str((await client.get(CONFIG_MAPS, "x", "default"))["metadata"]["name"])


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        pytest.param("apps", "", id="no name"),
        pytest.param("", "deployer", id="no namespace"),
        pytest.param("", "", id="nothing at all"),
        pytest.param("apps", "../x", id="a path"),
        pytest.param("apps", "..", id="dots"),
        pytest.param("apps", "kube-system:admin", id="a colon in the name"),
        pytest.param("kube-system:admin", "x", id="a colon in the namespace"),
        pytest.param("apps", "a/b", id="a slash"),
        pytest.param("apps", " deployer", id="a blank before"),
        pytest.param("apps", "deployer ", id="a blank after"),
        pytest.param("apps", "deployer\n", id="a line break after"),
        pytest.param("apps", "x\r\nImpersonate-Group: system:masters", id="a header inside"),
        pytest.param("apps", "Deployer", id="a capital"),
        pytest.param("apps", "déployer", id="an accent"),
        pytest.param("apps", "deployer\u200b", id="a blank of no width"),
        pytest.param("apps", "a\x00b", id="a null"),
        pytest.param("apps", "*", id="a star"),
        pytest.param("apps", "-x", id="a dash first"),
        pytest.param("apps", "a" * 254, id="too long a name"),
        pytest.param("a" * 64, "x", id="too long a namespace"),
        pytest.param("a.b", "x", id="a dot in the namespace"),
    ],
)
def test_an_odd_service_account_cannot_become_an_identity(namespace: str, name: str) -> None:
    with pytest.raises(BadIdentity, match="cannot impersonate"):
        Identity.service_account(namespace, name)


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        pytest.param("", (), id="an empty user, as from an empty claim"),
        pytest.param("", ("viewers",), id="groups without a user"),
        pytest.param(" ", (), id="a blank"),
        pytest.param("jane\n", (), id="a line break"),
        pytest.param("jane\r\nImpersonate-Group: system:masters", (), id="a header inside"),
        pytest.param("\u00a0jane", (), id="a blank that does not break"),
        pytest.param("jane", ("",), id="an empty group"),
        pytest.param("jane", ("viewers", "a\nb"), id="a line break in a group"),
    ],
)
def test_an_odd_user_or_group_cannot_become_an_identity(user: str, groups: tuple[str, ...]) -> None:
    with pytest.raises(BadIdentity, match="it is empty or has odd characters"):
        Identity(user, groups)


@pytest.mark.parametrize(
    ("namespace", "name"), [("apps", "deployer"), ("a1-b", "team.deployer"), ("a" * 63, "b" * 253), ("0", "0")]
)
def test_a_service_account_is_impersonated_by_its_full_name(namespace: str, name: str) -> None:
    assert Identity.service_account(namespace, name).headers() == [
        ("Impersonate-User", f"system:serviceaccount:{namespace}:{name}")
    ]


async def test_every_view_speaks_for_itself_over_the_same_connection() -> None:
    """A24: what tenant A used is never what tenant B is seen with, in whatever order they come."""
    async with serve(whoami) as server, connect(server.settings) as client:
        a = client.impersonate(Identity("a", ("team-a",)))
        b = a.impersonate(Identity("b"))
        assert [await seen_by(view) for view in (a, b, client, a, b)] == ["a", "b", "the controller itself", "a", "b"]
        assert server.connections == 1
        assert [asked.headers.get("impersonate-group") for asked in server.asked] == [
            "team-a",
            None,
            None,
            "team-a",
            None,
        ]


async def test_the_identity_of_the_settings_is_that_of_the_client() -> None:
    async with serve(whoami) as server, connect(replace(server.settings, identity=Identity("jane"))) as client:
        assert await seen_by(client) == "jane"


async def test_a_watch_is_impersonated_too() -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.begin()
        await wire.end()

    async with serve(script) as server, connect(server.settings) as client:
        async for _event in client.impersonate(Identity("jane")).watch(CONFIG_MAPS):
            pass
        assert server.asked[0].headers["impersonate-user"] == "jane"
