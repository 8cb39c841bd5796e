"""Keys and values of labels: what is wrong with them, in the API server's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.labels import label_value, qualified_name
from penstock.labels.names import SUBDOMAIN_WORDS, dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "must be no more than 63 bytes"
PREFIX = "prefix part must be non-empty"


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        pytest.param(dns_subdomain, "a.b", (), id="a subdomain"),
        pytest.param(dns_subdomain, "a..b", (SUBDOMAIN_WORDS,), id="no empty part"),
        pytest.param(qualified_name, "app", (), id="a key"),
        pytest.param(qualified_name, "example.com/Name_1", (), id="a key with a domain"),
        pytest.param(qualified_name, "Example.com/a", (f"prefix part {SUBDOMAIN_WORDS}",), id="domains are lower case"),
        pytest.param(qualified_name, "/a", (PREFIX,), id="a slash comes after a domain"),
        pytest.param(qualified_name, "x" * 64, (f"name part {LONG}",), id="a key has 63 bytes"),
        pytest.param(label_value, "", (), id="a value may be empty"),
        pytest.param(label_value, "x" * 64, (LONG,), id="a value has 63 bytes"),
    ],
)
def test_words(rule: Callable[[str], tuple[str, ...]], value: str, expected: tuple[str, ...]) -> None:
    assert rule(value) == expected
