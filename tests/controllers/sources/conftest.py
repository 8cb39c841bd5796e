"""Fixtures of the source controllers' tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from penstock.runtime.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping


@pytest.fixture
def metrics() -> Metrics:
    """Made outside the event loop: the import of prometheus_client reads files."""
    return Metrics(process=False)


@pytest.fixture(autouse=True)
def lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged, instead of seeing it on the screen."""
    with capture_logs() as captured:
        yield captured
