"""Requests whose answers must be the real server's. Every scenario has a namespace of its own, `{ns}`.

Add rows freely, then run `python -m tests.embedded.server.record` to ask the real server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.embedded.server.scenarios.changing import CHANGING
from tests.embedded.server.scenarios.creating import CREATING
from tests.embedded.server.scenarios.pods import BELOW_PODS
from tests.embedded.server.scenarios.reading import READING
from tests.embedded.server.scenarios.secrets import TLS_SECRETS

if TYPE_CHECKING:
    from tests.embedded.server.playing import Request

__all__ = ["SCENARIOS"]

SCENARIOS: dict[str, list[Request]] = {**READING, **CREATING, **CHANGING, **BELOW_PODS, **TLS_SECRETS}
