"""Verbs speak in sentences: what the libraries below them log is kept from the terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def silent() -> Generator[None]:
    """No log lines among the words of a verb: a watch that breaks is opened again, and a wait tells its trouble."""
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    try:
        yield
    finally:
        if before is None:
            structlog.reset_defaults()
        else:
            structlog.configure(**before)
