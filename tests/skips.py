"""A pytest plugin: in CI (`CI=true`) a skipped test fails the run, unless what it needs cannot be installed.

A test says so by a reason that begins with `not here: `, as in `pytest.skip("not here: no Go toolchain")`. It is for
things that no package registry has. A package that is merely missing belongs into the Makefile.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

ALLOWED = "not here: "


def pytest_configure(config: pytest.Config) -> None:
    # The workers of xdist report to their controller, which alone decides.
    if os.environ.get("CI", "").lower() in ("true", "1") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(HonestSkips())


class HonestSkips:
    """Remembers the skips that have no good reason, and fails the run for them."""

    def __init__(self) -> None:
        self._unexcused: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not hasattr(report, "wasxfail"):
            self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._unexcused and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if not self._unexcused:
            return
        terminalreporter.section("skipped in CI, which fails the run", red=True)
        for test, reason in self._unexcused.items():
            terminalreporter.line(f"{test}: {reason}")
        terminalreporter.line(
            f"Install what they need; where nobody can, let the reason of the skip begin with {ALLOWED!r}."
        )

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped:
            return
        reason = _reason(report)
        if not reason.startswith(ALLOWED):
            self._unexcused[report.nodeid] = reason


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    told = report.longrepr
    text = told[2] if isinstance(told, tuple) else str(told)
    return text.removeprefix("Skipped: ")
