from __future__ import annotations

import pytest

SKIPS = """
import pytest

@pytest.mark.skip(reason="{reason}")
def test_one(): ...

def test_two(): ...
"""

MODULE = """
import pytest
pytest.importorskip("a_package_that_nobody_has")

def test_one(): ...
"""

XFAIL = """
import pytest

@pytest.mark.xfail(reason="known")
def test_one():
    assert False
"""


@pytest.fixture(autouse=True)
def plugin(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["tests.skips"]')
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")


@pytest.mark.parametrize(
    ("source", "ci", "status", "told"),
    [
        pytest.param(SKIPS.format(reason="no git"), "true", 1, "*test_one: no git*", id="a package is missing"),
        pytest.param(
            SKIPS.format(reason="no git"), "", 0, "*1 passed, 1 skipped*", id="at home anything may be skipped"
        ),
        pytest.param(
            SKIPS.format(reason="not here: no Go"), "true", 0, "*1 passed, 1 skipped*", id="nobody can install it"
        ),
        pytest.param(MODULE, "true", 1, "*could not import 'a_package_that_nobody_has'*", id="a whole module"),
        pytest.param(XFAIL, "true", 0, "*1 xfailed*", id="an expected failure is no skip"),
    ],
)
def test_skips_in_ci(
    source: str,
    ci: str,
    status: int,
    told: str,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", ci)
    pytester.makepyfile(source)
    result = pytester.runpytest_inprocess()
    assert result.ret == status
    result.stdout.fnmatch_lines([told])
    said = "*skipped in CI, which fails the run*"
    if status:
        result.stdout.fnmatch_lines([said, "*let the reason of the skip begin with 'not here: '*"])
    else:
        result.stdout.no_fnmatch_line(said)


def test_the_workers_of_xdist_are_judged_together(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile(test_one=SKIPS.format(reason="no git"), test_module=MODULE)
    result = pytester.runpytest_inprocess("-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(["test_one.py::test_one: no git", "test_module.py: could not import*"])


def test_a_run_that_ends_otherwise_keeps_its_own_exit_code(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile(test_module=MODULE, test_broken="import nothing_of_that_name")
    assert pytester.runpytest_inprocess().ret == pytest.ExitCode.INTERRUPTED
