"""Tables and formats, as every verb prints them."""

from __future__ import annotations

import pytest

from penstock.cli.output import Output, documents, printable, table


def test_table_is_padded_and_has_no_trailing_blanks() -> None:
    shown = table(["NAME", "READY", "MESSAGE"], [["apps", "True", "fine"], ["infrastructure", "False", ""]])
    assert shown == ("NAME             READY   MESSAGE\napps             True    fine\ninfrastructure   False\n")


def test_table_without_header_or_rows() -> None:
    assert table(None, [["apps"]]) == "apps\n"
    assert table(None, []) == ""
    assert table(["NAME"], []) == "NAME\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ünïcode", "plain ünïcode", id="what can be printed stays"),
        pytest.param("two\nlines\tand tabs", "two lines and tabs", id="white space becomes blanks"),
        pytest.param("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m", id="escape codes become visible"),
        pytest.param("\x9b2J", "\\x9b2J", id="one-byte escape codes too"),
    ],
)
def test_nothing_can_take_over_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_objects_are_documents() -> None:
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b"}},
    ]
    assert documents(objects, None).count("---\n") == 1
    assert documents(objects, Output.NAME) == "namespace/a\ndeployment.apps/b\n"
