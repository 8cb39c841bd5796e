"""What is a version, and which of two is newer."""

from __future__ import annotations

import pytest

from penstock.semver import InvalidVersion, Version


@pytest.mark.parametrize(
    ("text", "full"),
    [
        pytest.param("1.2.3", "1.2.3", id="three numbers"),
        pytest.param("v1.2.3", "1.2.3", id="a leading v"),
        pytest.param("1", "1.0.0", id="missing parts are 0"),
        pytest.param("1.2-rc.1", "1.2.0-rc.1", id="a prerelease after two numbers"),
        pytest.param("01.02.03", "1.2.3", id="leading zeros are read"),
        pytest.param("1.2.3-rc.1+build.7", "1.2.3-rc.1+build.7", id="prerelease and metadata"),
        pytest.param("1.2.3+a-b", "1.2.3+a-b", id="a dash in the metadata"),
        pytest.param("18446744073709551615.0.0", "18446744073709551615.0.0", id="the largest number"),
    ],
)
def test_generous_reading(text: str, full: str) -> None:
    version = Version.parse(text)
    assert (str(version), version.original) == (full, text)


@pytest.mark.parametrize(
    "text",
    ["", "v", "V1.2.3", "1.2.3.4", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.3 ", "1.2.3\n", "latest",
     "18446744073709551616.0.0", "1.2.3-é", "\u0661.2.3", "1.0.0-" + "a" * 300],
)  # fmt: skip
def test_no_version(text: str) -> None:
    with pytest.raises(InvalidVersion, match="is not a semantic version"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("text", "is_tag"),
    [
        pytest.param("v1.2.3", True, id="a v and three numbers"),
        pytest.param("1.2.3-rc.1+x", True, id="no v"),
        pytest.param("v1.2", False, id="two numbers"),
        pytest.param("vv1.2.3", False, id="two v"),
        pytest.param("v01.2.3", False, id="a leading zero"),
        pytest.param("1.2-3.4", False, id="a dash among the numbers"),
        pytest.param("release-1.2.3", False, id="a word before"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_tags(text: str, *, is_tag: bool) -> None:
    if is_tag:
        assert Version.of_tag(text).original == text
        return
    with pytest.raises(InvalidVersion):
        Version.of_tag(text)


def test_order() -> None:
    """The order of the standard, with the library's view of numbers that do not fit into 64 bits: they are words."""
    ascending = [
        "0.9.9", "1.0.0-0", "1.0.0-1", "1.0.0-10", "1.0.0-18446744073709551616", "1.0.0--", "1.0.0-alpha",
        "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0",
        "2.0.0",
    ]  # fmt: skip
    versions = sorted(map(Version.parse, reversed(ascending)), key=lambda version: version.precedence)
    assert [str(version) for version in versions] == [
        "0.9.9", "1.0.0-0", "1.0.0-1", "1.0.0-10", "1.0.0--", "1.0.0-18446744073709551616", *ascending[6:]
    ]  # fmt: skip


def test_metadata_is_no_precedence_and_still_a_difference() -> None:
    one, other = Version.parse("1.0.0+a"), Version.parse("1.0.0+b")
    assert one.precedence == other.precedence
    assert one != other
