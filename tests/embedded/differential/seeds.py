"""Which random sequences a run compares, told at the top of the run; the environment may name others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FIRST = "PENSTOCK_DIFFERENTIAL_SEED"
"""The environment variable that names the first seed."""
COUNT = 2000
USUAL = 450_000
"""A fixed beginning: what a change breaks must not hide among rare differences that other seeds still find."""


def first_seed() -> int:
    """The first seed of this run."""
    return int(os.environ[FIRST])


def pytest_configure() -> None:
    # Workers inherit it, so that all of them agree.
    os.environ.setdefault(FIRST, str(USUAL))


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("backend") != "real":
        return None
    first = first_seed()
    return f"differential: seeds {first} to {first + COUNT - 1} (again with {FIRST}={first})"
