"""What can be done to discovery: a group that is missing, or that is known to be unknown."""

from __future__ import annotations

import json
from typing import Any

from tests.faults.rules import Rule, Where, answers

DISCOVERY = Where(methods=frozenset({"GET"}), path=r"^/apis?$")


class _Edits(Rule):
    """Changes the groups of an aggregated or an older document."""

    def __init__(self, group: str, **options: Any) -> None:
        super().__init__(where=DISCOVERY, **options)
        self._group = group

    async def body(self, body: bytes, /) -> bytes:
        document = json.loads(body)
        for field in ("items", "groups"):
            if field in document:
                document[field] = [kept for item in document[field] if (kept := self._edit(item)) is not None]
        return json.dumps(document).encode()

    def _edit(self, item: Any) -> Any:
        name = item.get("name") or item.get("metadata", {}).get("name") or ""
        return self._changed(item) if name == self._group else item

    def _changed(self, item: Any, /) -> Any:
        raise NotImplementedError


class _Omits(_Edits):
    def _changed(self, _item: Any, /) -> Any:
        return None


def omits_group(group: str, **options: Any) -> Rule:
    """The group is left out, as if it had never been there: so does a server that is just starting."""
    return _Omits(group, **options)


class _Stales(_Edits):
    def _changed(self, item: Any, /) -> Any:
        versions = [version | {"freshness": "Stale", "resources": []} for version in item["versions"]]
        return item | {"versions": versions}


def stales_group(group: str, **options: Any) -> Rule:
    """The aggregated document says of the group that it could not be read."""
    return _Stales(group, **options)


def fails_group(group: str, status: int = 503, **options: Any) -> Rule:
    """The older way of discovery: the group is listed, but its own document cannot be had."""
    return answers(status, where=Where(path=rf"^/apis/{group}/[^/]+$"), **options)


class _WithoutAggregation(Rule):
    def ask(self, headers: dict[str, str]) -> dict[str, str]:
        return headers | {"accept": "application/json"}


def without_aggregation() -> Rule:
    """The server is of a time before the aggregated document."""
    return _WithoutAggregation(where=DISCOVERY)
