"""Label selectors, as text and as objects carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.kube.resources import CONFIG_MAPS
from penstock.labels import (
    BadBound,
    BadKey,
    BadOperator,
    BadSelector,
    BadValue,
    matches,
    parse_selector,
    selects,
    written,
)

if TYPE_CHECKING:
    from typing import Any

    from tests.clusters import Cluster

LABELS = {"app": "web", "tier": "front", "example.com/rank": "7", "empty": "", "digits": "1_0"}

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
    ("none>1", False),
    ("none<1", False),
    ("digits>1", False),
    ("app in ()", False),
    ("empty in ()", True),
    ("app in (web,)", True),
    (" ", True),
]


@pytest.mark.parametrize(("selector", "expected"), SELECTORS)
def test_a_text_chooses_labels(selector: str, expected: bool) -> None:
    assert matches(parse_selector(selector), LABELS) is expected


async def test_the_server_thinks_the_same(cluster: Cluster) -> None:
    metadata = {"name": "x", "namespace": cluster.namespace, "labels": LABELS}
    await cluster.client.create(CONFIG_MAPS, {"metadata": metadata})
    for selector, expected in SELECTORS:
        found = await cluster.client.list(CONFIG_MAPS, cluster.namespace, labels=selector or None)
        assert any(one["metadata"]["name"] == "x" for one in found.items) is expected, selector


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b,", "found '', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in ()b", "found 'b', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a<=5", "unable to parse requirement: found '=', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ],
)
def test_what_is_no_selector(text: str, words: str) -> None:
    with pytest.raises(BadSelector) as caught:
        parse_selector(text)
    assert str(caught.value) == words


@pytest.mark.parametrize("key", ["é", "a@b", "/a", "a/", "a/b/c", "A.com/a", "-a", "a" * 64])
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(BadKey, match="is no label key"):
        parse_selector(f"{key}=1")


@pytest.mark.parametrize("value", ["b/c", "é", "-5", "a.", "a" * 64])
@pytest.mark.parametrize("text", ["a={}", "a notin (x, {})", "a>{}"])
def test_what_is_no_value(text: str, value: str) -> None:
    with pytest.raises(BadValue, match="is no value of a label"):
        parse_selector(text.format(value))


@pytest.mark.parametrize("value", ["x", "1_000", "1.5", "9223372036854775808", ""])
def test_what_is_no_number(value: str) -> None:
    with pytest.raises(BadBound, match=f"compares with numbers, not with '{value}'"):
        parse_selector(f"a>{value}")


def test_a_long_text_takes_no_time() -> None:
    """A9."""
    with pytest.raises(BadSelector):
        parse_selector("a" * 100_000 + "(")
    with pytest.raises(BadSelector):
        parse_selector("a in (" + "b, " * 50_000)


IN = {"key": "app", "operator": "In", "values": ["web", "api"]}
NOT_IN = {"key": "app", "operator": "NotIn", "values": ["web"]}
EXISTS = {"key": "app", "operator": "Exists"}
ABSENT = {"key": "app", "operator": "DoesNotExist"}


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param({}, {}, True, id="an empty one takes everything"),
        pytest.param({"matchLabels": None, "matchExpressions": None}, {}, True, id="so does one of nulls"),
        pytest.param({"matchLabels": {"app": "web"}}, {"app": "web", "x": "y"}, True, id="a label is there"),
        pytest.param({"matchLabels": {"app": "web"}}, {"app": "api"}, False, id="a label differs"),
        pytest.param({"matchLabels": {"app": "web", "x": "y"}}, {"app": "web"}, False, id="a label is missing"),
        pytest.param({"matchExpressions": [IN]}, {"app": "api"}, True, id="in"),
        pytest.param({"matchExpressions": [IN]}, {}, False, id="what is missing is in no set"),
        pytest.param({"matchExpressions": [NOT_IN]}, {"app": "web"}, False, id="not in"),
        pytest.param({"matchExpressions": [NOT_IN]}, {}, True, id="what is missing is not in a set"),
        pytest.param({"matchExpressions": [EXISTS]}, {"app": ""}, True, id="exists, be it empty"),
        pytest.param({"matchExpressions": [EXISTS]}, {}, False, id="does not exist"),
        pytest.param({"matchExpressions": [ABSENT]}, {}, True, id="absent"),
        pytest.param({"matchExpressions": [ABSENT]}, {"app": "web"}, False, id="not absent"),
        pytest.param({"matchLabels": {"x": "y"}, "matchExpressions": [IN]}, {"app": "web"}, False, id="all must hold"),
        pytest.param({"matchExpressions": [{"key": "app", "operator": "Near"}]}, {}, False, id="an odd operator"),
    ],
)
def test_a_selector_of_an_object(selector: dict[str, Any], labels: dict[str, str], expected: bool) -> None:
    assert selects(selector, labels) is expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({}, "", id="an empty one"),
        pytest.param({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2", id="labels, by key"),
        pytest.param({"matchExpressions": [IN]}, "app in (api,web)", id="values, sorted"),
        pytest.param({"matchExpressions": [NOT_IN]}, "app notin (web)", id="not in"),
        pytest.param({"matchExpressions": [EXISTS], "matchLabels": {"app": "x"}}, "app=x,app", id="labels come first"),
        pytest.param({"matchExpressions": [ABSENT, {"key": "a", "operator": "Exists"}]}, "a,!app", id="both by key"),
    ],
)
def test_as_text(selector: dict[str, Any], expected: str) -> None:
    assert written(selector) == expected
    parse_selector(expected)


def test_an_operator_that_has_no_words() -> None:
    with pytest.raises(BadOperator, match="Near"):
        written({"matchExpressions": [{"key": "a", "operator": "Near"}]})
