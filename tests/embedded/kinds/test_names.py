"""Names, ports, keys of files: what is wrong with them, in the API server's words."""

from __future__ import annotations

import pytest

from penstock.embedded.kinds import names


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        pytest.param(names.dns_label, "web-1", (), id="a label"),
        pytest.param(names.dns_label, "a.b", ("must not contain dots",), id="a label has no dots"),
        pytest.param(
            names.dns_label, "x" * 64, ("must be no more than 63 characters",), id="a label has 63 characters"
        ),
        pytest.param(names.dns_label, "Web", (names.LABEL_WORDS,), id="a label is lower case"),
        pytest.param(names.dns_1035_label, "1a", (names.LABEL_1035_WORDS,), id="begins with a letter"),
        pytest.param(names.config_key, "..data", ("must not start with '..'",), id="a key is a file name"),
        pytest.param(names.env_name, "1.A-b", (), id="environment names are nearly free"),
        pytest.param(names.path_segment, "system:view", (), id="RBAC names"),
        pytest.param(names.path_segment, "a/b", ("may not contain '/'",), id="but no slash"),
        pytest.param(names.path_segment, "..", ("may not be '..'",), id="and no folder"),
        pytest.param(
            names.port_name,
            "--",
            (
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ),
            id="all that is wrong with a port name",
        ),
    ],
)
def test_words(rule: names.Rule, value: str, expected: tuple[str, ...]) -> None:
    assert rule(value) == expected


@pytest.mark.parametrize(
    ("prefix", "seen"),
    [
        pytest.param("web-", "wea", id="a dash at the end will be followed by more"),
        pytest.param("web", "web", id="anything else is looked at as it is"),
        pytest.param("-", "-", id="a dash alone stays one"),
    ],
)
def test_generate_name(prefix: str, seen: str) -> None:
    assert names.masked(prefix) == seen
