from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from penstock.errors import PenstockError, UsageError
from penstock.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 3, 1, 12, 30, 15, 678_000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def back_to_normal() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


class Lines:
    """Logs of a configured process, as written."""

    def __init__(self, encoding: str = "json", level: str = "info") -> None:
        self.stream = io.StringIO()
        logs.configure(encoding=encoding, level=level, stream=self.stream, now=lambda: NOW)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def parsed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


def fail(error: Exception) -> None:
    raise error


def test_a_line_has_the_keys_that_tools_for_flux_know() -> None:
    lines = Lines()
    with structlog.contextvars.bound_contextvars(controller="kustomization", reconcileID="4711"):
        structlog.get_logger().info("applied", revision="main@sha1:abc", changed=3)
    assert lines.parsed == [
        {
            "level": "info",
            "ts": "2026-03-01T12:30:15.678Z",
            "msg": "applied",
            "controller": "kustomization",
            "reconcileID": "4711",
            "revision": "main@sha1:abc",
            "changed": 3,
        }
    ]
    assert lines.text.startswith('{"level":"info","ts":')


def test_an_exception_becomes_error_and_stacktrace() -> None:
    lines = Lines()
    error = PenstockError("the build of https://bob:hunter2@git.example/x failed")
    try:
        fail(error)
    except PenstockError:
        structlog.get_logger().exception("reconcile failed")
    (line,) = lines.parsed
    assert line["level"] == "error"
    assert line["error"] == "the build of https://***@git.example/x failed"
    assert "test_logs.py" in line["stacktrace"]
    assert "hunter2" not in lines.text


async def test_a_traceback_names_causes_and_places_without_reading_files() -> None:
    lines = Lines()
    try:
        try:
            fail(LookupError("the first"))
        except LookupError:
            fail(ExceptionGroup("several", [ValueError("the second")]))
    except ExceptionGroup:
        structlog.get_logger().exception("reconcile failed")
    stack = lines.parsed[0]["stacktrace"].splitlines()
    heads = [line for line in stack if not line.startswith(" ")]
    assert heads == ["LookupError: the first", "ValueError: the second", "ExceptionGroup: several (1 sub-exception)"]
    assert any("test_logs.py:" in line for line in stack)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param("trace", "debug info warning error", id="trace"),
        pytest.param("debug", "debug info warning error", id="debug"),
        pytest.param("info", "info warning error", id="info"),
        pytest.param("error", "error", id="error"),
    ],
)
def test_levels(level: str, expected: str) -> None:
    lines = Lines(level=level)
    log = structlog.get_logger()
    log.debug("x")
    log.info("x")
    log.warning("x")
    log.error("x")
    assert " ".join(line["level"] for line in lines.parsed) == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param("trace", "debug info warning error", id="trace tells all"),
        pytest.param("debug", "info warning error", id="debug"),
        pytest.param("info", "warning error", id="info: only what is wrong"),
    ],
)
def test_libraries_log_through_us(level: str, expected: str) -> None:
    lines = Lines(level=level)
    library = logging.getLogger("some.library")
    library.debug("a %s", "b")
    library.info("a %s", "b")
    library.warning("a %s", "b")
    library.error("a %s", "b")
    assert " ".join(line["level"] for line in lines.parsed) == expected
    assert {(line["msg"], line["logger"]) for line in lines.parsed} == {("a b", "some.library")}


def test_secrets_are_redacted_wherever_they_stand() -> None:
    lines = Lines()
    structlog.get_logger().info("cloning https://a:b@c/", token="t0ps3cret", inner={"password": "t0ps3cret"})
    assert "t0ps3cret" not in lines.text
    assert "a:b" not in lines.text


def test_the_console_form_is_for_people() -> None:
    lines = Lines(encoding="console")
    structlog.get_logger().info("applied", changed=3, password="t0ps3cret")
    assert "applied" in lines.text
    assert "changed=3" in lines.text
    assert "t0ps3cret" not in lines.text
    assert "\x1b" not in lines.text


@pytest.mark.parametrize(
    ("encoding", "level", "told"),
    [
        pytest.param("xml", "info", '--log-encoding: "xml" is not json or console', id="encoding"),
        pytest.param("json", "loud", '--log-level: "loud" is not trace, debug, info or error', id="level"),
    ],
)
def test_bad_flags(encoding: str, level: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        logs.configure(encoding=encoding, level=level)
    assert str(caught.value) == told
