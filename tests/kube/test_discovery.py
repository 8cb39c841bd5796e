from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.kube import Discovery
from penstock.kube.errors import (
    BadAnswer,
    DiscoveryUnknown,
    Forbidden,
    KubeError,
    NoMatch,
    Status,
    TimedOut,
    Unavailable,
    Unreachable,
)
from tests.kube.discovered import CONFIG_MAPS, DEPLOYMENTS, EVERYTHING, OLD_WIDGETS, WIDGETS, Server

pytestmark = pytest.mark.looptime


@pytest.fixture(params=["v2", "v2beta1", "legacy"])
def server(request: pytest.FixtureRequest) -> Server:
    return Server(legacy=True) if request.param == "legacy" else Server(version=request.param)


class TestReading:
    async def test_a_kind_becomes_a_resource(self, server: Server) -> None:
        discovery = Discovery(server)
        assert [await discovery.resource(one.api_version, one.kind) for one in EVERYTHING] == list(EVERYTHING)
        assert server.readings == 1

    async def test_all_that_is_said_about_a_kind_is_kept(self, server: Server) -> None:
        served = await Discovery(server).served("example.com/v1", "Widget")
        assert served.singular == "widget"
        assert served.short_names == ("wi",)
        assert served.categories == ("all",)
        assert served.verbs == ("get", "list")
        assert served.subresources == ("status",)

    async def test_of_several_versions_the_servers_favourite_is_found(self, server: Server) -> None:
        assert await Discovery(server).find("example.com", "Widget") == WIDGETS

    async def test_everything_is_listed_once(self, server: Server) -> None:
        assert {served.resource for served in await Discovery(server).kinds()} == set(EVERYTHING)

    async def test_a_parent_that_only_has_subresources_is_no_kind(self) -> None:
        server = Server()
        server.garbage["/api"] = {
            "kind": "APIGroupDiscoveryList",
            "items": [{"versions": [{"version": "v1", "resources": [{"resource": "x", "responseKind": None}]}]}],
        }
        assert {served.resource.group for served in await Discovery(server).kinds()} == {"apps", "example.com"}

    async def test_many_who_ask_at_once_share_the_answer(self, server: Server) -> None:
        discovery = Discovery(server)
        await asyncio.gather(*(discovery.resource("v1", "ConfigMap") for _ in range(20)))
        assert server.readings <= 2


class TestWhatIsNotServed:
    @pytest.mark.parametrize(
        ("api_version", "kind", "advice"),
        [
            pytest.param(
                "example.com/v2",
                "Widget",
                "; it serves it as example.com/v1, example.com/v1alpha1",
                id="another version is",
            ),
            pytest.param(
                "other.com/v1", "Thing", "; is its CustomResourceDefinition installed?", id="the CRD is missing"
            ),
            pytest.param("v1", "Thing", "", id="a kind that does not exist"),
        ],
    )
    async def test_it_is_told_with_advice(self, api_version: str, kind: str, advice: str, server: Server) -> None:
        with pytest.raises(NoMatch) as caught:
            await Discovery(server).resource(api_version, kind)
        assert str(caught.value) == f"the cluster does not serve {kind} of {api_version}{advice}"

    async def test_a_kind_that_was_just_installed_is_found(self, server: Server) -> None:
        discovery = Discovery(server)
        server.resources.remove(WIDGETS)
        await discovery.kinds()
        server.resources.append(WIDGETS)
        await asyncio.sleep(2)
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    async def test_asking_again_and_again_does_not_read_again_and_again(self, server: Server) -> None:
        discovery = Discovery(server)
        for _ in range(100):
            with pytest.raises(NoMatch):
                await discovery.resource("other.com/v1", "Thing")
            await asyncio.sleep(0.1)
        assert server.readings <= 7, "10 s, and 2 s of rest after each reading"

    async def test_a_changed_definition_lets_the_next_one_read_at_once(self, server: Server) -> None:
        discovery = Discovery(server)
        server.resources.remove(WIDGETS)
        await discovery.kinds()
        server.resources.append(WIDGETS)
        with pytest.raises(NoMatch):
            await discovery.resource("example.com/v1", "Widget")
        discovery.invalidate()
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    async def test_it_can_be_waited_for(self, server: Server) -> None:
        discovery = Discovery(server)
        server.resources.remove(WIDGETS)
        asyncio.get_running_loop().call_later(3, server.resources.append, WIDGETS)
        await discovery.until_served([("example.com/v1", "Widget"), ("v1", "ConfigMap")])
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    async def test_the_waiting_ends(self, server: Server) -> None:
        with pytest.raises(DiscoveryUnknown, match=r"does not serve Thing of other\.com/v1 after 5 s"):
            await Discovery(server).until_served([("other.com/v1", "Thing"), ("v1", "ConfigMap")], within=5)
        assert server.readings <= 10

    async def test_a_change_is_not_forgotten_when_the_reading_fails(self, server: Server) -> None:
        discovery = Discovery(server)
        server.resources.remove(WIDGETS)
        await discovery.kinds()
        server.resources.append(WIDGETS)
        discovery.invalidate()
        server.failing["/apis"] = Unreachable("gone")
        with pytest.raises(Unreachable):
            await discovery.resource("example.com/v1", "Widget")
        server.failing.clear()
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    async def test_a_change_while_reading_is_not_forgotten(self, server: Server) -> None:
        discovery = Discovery(server)
        server.resources.remove(WIDGETS)
        reading = asyncio.create_task(discovery.kinds())
        await asyncio.sleep(0.05)
        await reading
        refreshing = asyncio.create_task(discovery.refresh())
        await asyncio.sleep(0.005)
        discovery.invalidate()
        await refreshing
        server.resources.append(WIDGETS)
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    async def test_what_is_known_needs_no_reading_even_after_a_change(self, server: Server) -> None:
        discovery = Discovery(server)
        await discovery.kinds()
        discovery.invalidate()
        await discovery.resource("example.com/v1", "Widget")
        assert server.readings == 1


def lose(server: Server) -> None:
    """The group example.com cannot be read: the way an API server says it of an aggregated one that is down."""
    if server.legacy:
        server.failing["/apis/example.com/v1"] = Unavailable(Status(503))
    else:
        server.stale.add("example.com/v1")


class TestAGroupThatCannotBeRead:
    async def test_is_unknown_not_absent(self, server: Server) -> None:
        lose(server)
        discovery = Discovery(server)
        assert await discovery.unknown() == {"example.com/v1"}
        with pytest.raises(DiscoveryUnknown, match=r"whether the cluster serves Widget of example.com/v1 is not known"):
            await discovery.resource("example.com/v1", "Widget")
        with pytest.raises(DiscoveryUnknown):
            await discovery.find("example.com", "ClusterWidget")

    async def test_does_not_hide_the_others(self, server: Server) -> None:
        lose(server)
        discovery = Discovery(server)
        assert await discovery.resource("apps/v1", "Deployment") == DEPLOYMENTS
        assert await discovery.resource("example.com/v1alpha1", "Widget") == OLD_WIDGETS

    async def test_keeps_what_was_known_of_it_for_as_long_as_it_takes(self, server: Server) -> None:
        discovery = Discovery(server)
        await discovery.kinds()
        lose(server)
        for _ in range(10):
            await discovery.refresh()
            assert await discovery.resource("example.com/v1", "Widget") == WIDGETS
            await asyncio.sleep(60)

    @pytest.mark.parametrize(
        "error",
        [Unavailable(Status(503)), Forbidden(Status(403)), TimedOut("late"), Unreachable("gone"), BadAnswer("what?")],
        ids=lambda error: type(error).__name__,
    )
    async def test_however_it_fails(self, error: KubeError) -> None:
        server = Server(legacy=True)
        server.failing["/apis/example.com/v1"] = error
        with pytest.raises(DiscoveryUnknown):
            await Discovery(server).resource("example.com/v1", "Widget")

    async def test_garbage_in_one_group_is_that_groups_trouble(self) -> None:
        server = Server(legacy=True)
        server.garbage["/apis/example.com/v1"] = {"kind": "APIResourceList", "resources": [{"kind": "no name"}]}
        discovery = Discovery(server)
        assert await discovery.resource("apps/v1", "Deployment") == DEPLOYMENTS
        with pytest.raises(DiscoveryUnknown):
            await discovery.resource("example.com/v1", "Widget")


class TestAGroupThatVanishes:
    """A restarting server leaves groups out, and says nothing about it."""

    async def test_is_unknown_for_a_while_and_then_gone(self, server: Server) -> None:
        discovery = Discovery(server)
        await discovery.kinds()
        server.resources = [CONFIG_MAPS, DEPLOYMENTS]
        await discovery.refresh()
        for _ in range(3):
            with pytest.raises(DiscoveryUnknown):
                await discovery.resource("example.com/v1", "Widget")
            with pytest.raises(DiscoveryUnknown):
                await discovery.find("example.com", "Widget")
            await asyncio.sleep(3)
        await asyncio.sleep(3)
        with pytest.raises(NoMatch):
            await discovery.resource("example.com/v1", "Widget")
        with pytest.raises(NoMatch):
            await discovery.find("example.com", "Widget")

    async def test_and_comes_back_is_as_before(self, server: Server) -> None:
        discovery = Discovery(server)
        await discovery.kinds()
        server.resources = [CONFIG_MAPS, DEPLOYMENTS]
        await discovery.refresh()
        server.resources = list(EVERYTHING)
        await asyncio.sleep(3)
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    async def test_after_it_could_not_be_read_gets_its_while_too(self, server: Server) -> None:
        discovery = Discovery(server)
        await discovery.kinds()
        lose(server)
        await asyncio.sleep(100)
        await discovery.refresh()
        server.resources = [CONFIG_MAPS, DEPLOYMENTS]
        server.failing.clear()
        server.stale.clear()
        await discovery.refresh()
        with pytest.raises(DiscoveryUnknown):
            await discovery.resource("example.com/v1", "Widget")


class TestAServerThatCannotBeAsked:
    @pytest.mark.parametrize("path", ["/api", "/apis"])
    async def test_is_an_error_and_never_an_empty_cluster(self, path: str, server: Server) -> None:
        server.failing[path] = Unreachable("gone")
        with pytest.raises(Unreachable):
            await Discovery(server).resource("v1", "ConfigMap")

    async def test_leaves_what_is_known_untouched(self, server: Server) -> None:
        discovery = Discovery(server)
        await discovery.kinds()
        server.failing["/apis"] = Unreachable("gone")
        with pytest.raises(Unreachable):
            await discovery.refresh()
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS

    @pytest.mark.parametrize(
        "document",
        [
            pytest.param([], id="a list"),
            pytest.param({}, id="an empty object"),
            pytest.param({"kind": "Status"}, id="another kind"),
            pytest.param({"kind": "APIGroupDiscoveryList", "items": [1]}, id="a number for a group"),
            pytest.param({"kind": "APIGroupDiscoveryList", "items": [{"versions": [{}]}]}, id="no version"),
            pytest.param({"kind": "APIGroupDiscoveryList", "items": 7}, id="a number for all groups"),
            pytest.param(
                {"kind": "APIGroupList", "groups": [{"versions": [{"version": "v1"}]}]}, id="an older one without names"
            ),
            pytest.param({"kind": "APIGroupList", "groups": [{"versions": [1]}]}, id="an older one with odd versions"),
        ],
    )
    async def test_garbage_is_told_as_such(self, document: Any) -> None:
        server = Server()
        discovery = Discovery(server)
        await discovery.kinds()
        server.garbage["/apis"] = document
        with pytest.raises(BadAnswer, match=r"^discovery at /apis answered"):
            await discovery.refresh()
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS
