"""Which versions lie in a range."""

from __future__ import annotations

import pytest

from penstock.semver import Constraint, InvalidConstraint, Version


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        pytest.param("1.2.3", "1.2.3 v1.2.3 1.2.3+x", "1.2.4 1.2.3-a", id="one version"),
        pytest.param("=1.2", "1.2.0 1.2.9", "1.3.0", id="equal to two parts is all their patches"),
        pytest.param("!=1.2.x", "1.3.0 2.0.0", "1.2.0 1.2.7", id="not equal to a wildcard"),
        pytest.param("!=1", "2.0.0", "1.0.0 1.9.0", id="not equal to a major"),
        pytest.param(">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9", id="greater than two parts"),
        pytest.param(">11", "12.0.0", "11.1.0", id="greater than a major"),
        pytest.param("<=1.2", "1.2.9 1.0.0", "1.3.0", id="at most two parts"),
        pytest.param("<1.2", "1.1.9", "1.2.0", id="less than two parts"),
        pytest.param("=>1.2 =<2", "1.2.0 2.9.9", "1.1.0 3.0.0", id="operators written backwards"),
        pytest.param("1.2 - 1.4.5", "1.2.0 1.4.5", "1.1.9 1.4.6", id="a range with a dash"),
        pytest.param("1 - 2, 1.5 - 3", "1.5.0 2.9.0", "1.4.0 3.0.0", id="two ranges with dashes"),
        pytest.param("~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2", id="tilde"),
        pytest.param("~1", "1.0.0 1.9.0", "2.0.0", id="tilde and a major"),
        pytest.param("~>2.1", "2.1.4", "2.2.0", id="tilde of the other kind"),
        pytest.param("~0.0.0", "0.0.0 7.0.0", "", id="tilde and zeros is everything"),
        pytest.param("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0", id="caret"),
        pytest.param("^0.2.3", "0.2.3 0.2.9", "0.3.0", id="caret below 1"),
        pytest.param("^0.0.3", "0.0.3", "0.0.4", id="caret below 0.1"),
        pytest.param("^0.0", "0.0.9", "0.1.0", id="caret and two zeros"),
        pytest.param("^0", "0.9.0", "1.0.0", id="caret and a zero"),
        pytest.param("*", "0.0.0 9.9.9", "1.0.0-rc.1", id="everything but prereleases"),
        pytest.param("1.x || >=3 <3.5", "1.7.0 3.4.0", "2.0.0 3.5.0", id="alternatives"),
        pytest.param(">=1.0.0, <2.0.0", "1.5.0", "2.0.0", id="a comma"),
        pytest.param(">= 1.0.0-0", "1.0.0-rc.1 1.5.0-a 1.0.0", "0.9.0", id="a prerelease in the range lets them in"),
        pytest.param(">=1.0.0 <2.0.0-0", "1.5.0-rc.1", "2.0.0", id="one of the group is enough"),
        pytest.param(">=1.0.0 || >=2.0.0-0", "2.1.0-a", "1.5.0-a", id="but not one of another group"),
        pytest.param("*-0", "1.0.0-rc.1 1.0.0", "", id="a wildcard with a prerelease"),
        pytest.param("^1.0.0-alpha", "1.0.0-beta 1.4.0-a", "2.0.0-a", id="caret and prereleases"),
    ],
)
def test_range(text: str, inside: str, outside: str) -> None:
    constraint = Constraint.parse(text)
    assert [version for version in inside.split() if not constraint.allows(Version.parse(version))] == []
    assert [version for version in outside.split() if constraint.allows(Version.parse(version))] == []


def test_prereleases_on_request() -> None:
    constraint, version = Constraint.parse(">=1.0.0"), Version.parse("1.5.0-rc.1")
    assert not constraint.allows(version)
    assert constraint.allows(version, prereleases=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "improper constraint", id="nothing"),
        pytest.param("latest", 'improper constraint: "latest"', id="a word"),
        pytest.param(">>1.0.0", "improper constraint", id="an unknown operator"),
        pytest.param("1.0.0 ||", "improper constraint", id="an empty alternative"),
        pytest.param("1|2", "improper constraint", id="half an or"),
        pytest.param("xx", "improper constraint", id="half a wildcard"),
        pytest.param(">1.0.0<2.0.0", "improper constraint", id="no separator"),
        pytest.param("99999999999999999999999.0.0", "improper constraint", id="a number beyond 64 bits"),
        pytest.param("1.0.0" + " " * 600, "too long", id="more than 512 bytes"),
        pytest.param("||".join(["1"] * 33), "too many", id="more than 32 alternatives"),
    ],
)
def test_no_range(text: str, words: str) -> None:
    with pytest.raises(InvalidConstraint, match=words):
        Constraint.parse(text)


def test_runs_of_spaces_cost_no_time() -> None:
    """A9: with backtracking this one would take minutes."""
    with pytest.raises(InvalidConstraint):
        Constraint.parse("1 " + " " * 500 + "!")
