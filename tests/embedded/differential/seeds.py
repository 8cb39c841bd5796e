"""Which random sequences a run compares: other ones every day, always told at the top of the run."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FIRST = "PENSTOCK_DIFFERENTIAL_SEED"
"""The environment variable that names the first seed."""
COUNT = 2000


def first_seed() -> int:
    """The first seed of this run."""
    return int(os.environ[FIRST])


def pytest_configure() -> None:
    # Workers inherit it, so that all of them agree on the day.
    os.environ.setdefault(FIRST, datetime.now(UTC).strftime("%Y%m%d0000"))


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("backend") != "real":
        return None
    first = first_seed()
    return f"differential: seeds {first} to {first + COUNT - 1} (again with {FIRST}={first})"
