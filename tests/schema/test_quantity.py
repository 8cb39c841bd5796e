"""Quantities have one written form, whatever a user wrote."""

from __future__ import annotations

import pytest

from penstock.schema.quantity import QuantityError, as_read, canonical, parse


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1023Ki", "1023Ki"),
        ("1000", "1k"),
        ("0", "0"),
        ("0m", "0"),
        ("1e3", "1e3"),
        ("100e1", "1e3"),
        ("12e-3", "12e-3"),
        ("-5", "-5"),
        ("0.0000000001", "1n"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("9999999999999Ei", "9223372036854775807"),
    ],
)
def test_canonical(written: str, stored: str) -> None:
    assert canonical(written) == stored


@pytest.mark.parametrize("text", ["", "x", "1x", ".", "1 Gi", "--1", "1KiB", "1e99999999"])
def test_no_quantity(text: str) -> None:
    with pytest.raises(QuantityError):
        parse(text)


def test_rounding_goes_away_from_zero() -> None:
    assert (parse("1500m").value, parse("-1500m").value, parse("1u").milli) == (2, -2, 1)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("1.500", "1.500", id="looks canonical, so it stays"),
        pytest.param("+1", "+1", id="with a sign too"),
        pytest.param("0100m", "0100m", id="with a leading zero too"),
        pytest.param("1000m", "1", id="three zeros do not look canonical"),
        pytest.param("1.5", "1500m", id="nor does one decimal"),
        pytest.param("1024Mi", "1Gi", id="nor a multiple of eight"),
    ],
)
def test_a_quantity_that_is_only_read(written: str, read: str) -> None:
    assert as_read(written) == read
