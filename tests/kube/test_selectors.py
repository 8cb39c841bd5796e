"""Label selectors that are judged here instead of by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.kube.resources import CONFIG_MAPS
from penstock.kube.selectors import BadSelector, check, matches, written

if TYPE_CHECKING:
    from tests.clusters import Cluster

LABELS = {"app": "web", "tier": "front", "example.com/rank": "7", "empty": ""}

SELECTORS = [
    ("", True),
    ("app=web", True),
    ("app==web", True),
    ("app = web , tier=front", True),
    ("app=web,tier=back", False),
    ("app!=web", False),
    ("none!=web", True),
    ("app", True),
    ("none", False),
    ("!none", True),
    ("! app", False),
    ("app in (web, api)", True),
    ("app in (api)", False),
    ("app notin (api)", True),
    ("none notin (api)", True),
    ("none in (api)", False),
    ("empty=", True),
    ("app=", False),
    ("empty in (,x)", True),
    ("example.com/rank>6", True),
    ("example.com/rank<7", False),
    ("app>1", False),
]


@pytest.mark.parametrize(("selector", "expected"), SELECTORS)
def test_matches(selector: str, expected: bool) -> None:
    assert matches(selector, LABELS) is expected


async def test_the_server_thinks_the_same(cluster: Cluster) -> None:
    metadata = {"name": "x", "namespace": cluster.namespace, "labels": LABELS}
    await cluster.client.create(CONFIG_MAPS, {"metadata": metadata})
    for selector, expected in SELECTORS:
        found = await cluster.client.list(CONFIG_MAPS, cluster.namespace, labels=selector or None)
        assert any(one["metadata"]["name"] == "x" for one in found.items) is expected, selector


@pytest.mark.parametrize(
    "text", ["=x", "a=b,", "a in b", "a in (b", "a in ()b", "a b", ",a", "a=b c", "a>x", "!", "é=1"]
)
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(BadSelector, match="is not a label selector"):
        check(text)


def test_a_long_text_takes_no_time() -> None:
    """A9."""
    with pytest.raises(BadSelector):
        check("a" * 100_000 + "(")
    with pytest.raises(BadSelector):
        check("a in (" + "b, " * 50_000)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, ""),
        ({"matchLabels": {"a": "1", "b": "2"}}, "a=1,b=2"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, "a in (1,2)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, "a notin (1)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]}, "a,!b"),
    ],
)
def test_written(selector: dict[str, object], expected: str) -> None:
    assert written(selector) == expected
    check(expected)


def test_an_operator_that_nobody_knows() -> None:
    with pytest.raises(BadSelector, match="Near"):
        written({"matchExpressions": [{"key": "a", "operator": "Near"}]})
