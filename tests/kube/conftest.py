"""What the tests of the Kubernetes client share."""

from __future__ import annotations

import random

import pytest


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses with jitter take a hundredth of their time."""
    monkeypatch.setattr(random, "uniform", lambda low, _high: low / 100)
