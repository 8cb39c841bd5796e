from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.durations import HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND, Duration, InvalidDuration, Timeout

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("30s", 30 * SECOND),
        ("1h30m", 90 * MINUTE),
        ("1.5s", 1500 * MILLISECOND),
        ("1.s", SECOND),
        (".5s", 500 * MILLISECOND),
        ("300ms", 300 * MILLISECOND),
        ("176.163666ms", 176_163_666),
        ("3h5m7.25s", 3 * HOUR + 5 * MINUTE + 7_250 * MILLISECOND),
        ("5m5m", 10 * MINUTE),
        ("14ns", 14),
        ("12us", 12 * MICROSECOND),
        ("12µs", 12 * MICROSECOND),
        ("12μs", 12 * MICROSECOND),
        ("0.9ns", 0),
        pytest.param("0.3333333333333333333h", 20 * MINUTE, id="digits past 63 bits round as floats do"),
        pytest.param("0.9223372036854775807h", 3320413933267, id="as many digits as 63 bits hold"),
        pytest.param("9007199254.740993ms", 9007199254740993, id="past what a float counts exactly"),
        pytest.param("9223372036854775807ns", LARGEST, id="the largest"),
        pytest.param("9223372036s854ms775us807ns", LARGEST, id="the largest, in pieces"),
        pytest.param("000000000000000000000000001s", SECOND, id="leading zeros"),
    ],
)
def test_parse(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "is not a duration", id="nothing"),
        pytest.param("3", "is not a duration", id="no unit"),
        pytest.param("s", "is not a duration", id="no number"),
        pytest.param(".s", "is not a duration", id="only a point"),
        pytest.param("1d", "is not a duration", id="days"),
        pytest.param("1 h", "is not a duration", id="a space"),
        pytest.param("+5s", "is not a duration", id="a plus"),
        pytest.param("٣s", "is not a duration", id="other digits"),
        pytest.param("5s\n", "is not a duration", id="a line break"),
        pytest.param("-1s", "is negative", id="negative"),
        pytest.param("9223372036854775808ns", "is too long", id="one past the largest"),
        pytest.param("2562047h47m16.854775808s", "is too long", id="one past the largest, in pieces"),
        pytest.param("9" * 90 + "h", "is too long", id="ninety digits"),
        pytest.param("9" * 1_000_000 + "h", "more than 100 characters", id="a million digits"),
        pytest.param("0s" * 500_000, "more than 100 characters", id="half a million terms"),
    ],
)
def test_parse_refuses(text: str, says: str) -> None:
    with pytest.raises(InvalidDuration, match=says) as caught:
        Duration.parse(text)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (176_163_666, "176.163666ms"),
        (SECOND, "1s"),
        (30 * SECOND, "30s"),
        (2_000 * MILLISECOND + 1, "2.000000001s"),
        (4 * MINUTE + 30 * SECOND, "4m30s"),
        (5 * MINUTE, "5m0s"),
        (HOUR, "1h0m0s"),
        (HOUR + MILLISECOND, "1h0m0.001s"),
        (LARGEST, "2562047h47m16.854775807s"),
    ],
)
def test_writes_as_go_does(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text
    assert f"{Duration(nanoseconds)}" == text


@given(st.integers(0, LARGEST))
def test_what_is_written_is_read_back(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds


@given(st.text(alphabet="0123456789.hmsun-+ µ", max_size=30))
def test_any_text_is_a_duration_in_range_or_refused(text: str) -> None:
    try:
        duration = Duration.parse(text)
    except InvalidDuration:
        return
    assert 0 <= duration <= LARGEST


@pytest.mark.parametrize("text", ["1ns", "1us", ".5s", "1.s", "0", "1h\n", "1H", "", None, 10, 1.5, True, ["1h"], {}])
def test_a_field_takes_only_what_the_api_server_takes(text: object) -> None:
    with pytest.raises(InvalidDuration, match="is not a duration like 10m or 1h30m"):
        Duration.from_field(text)


def test_a_field_of_a_megabyte_is_refused_at_once() -> None:
    with pytest.raises(InvalidDuration, match="more than 100 characters"):
        Duration.from_field("0s" * 500_000)


def test_a_timeout_takes_no_hours() -> None:
    assert Timeout.from_field("1m30s") == 90 * SECOND
    with pytest.raises(InvalidDuration, match="hours are not taken here"):
        Timeout.from_field("1h")


def test_seconds_are_for_the_clock() -> None:
    assert Duration.parse("1m0.5s").seconds == 60.5
