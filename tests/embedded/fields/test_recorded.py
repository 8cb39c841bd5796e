"""What a real API server answered, line by line: managers with their times and order, conflicts, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.embedded.fields.record import FILE
from tests.embedded.fields.replay import replayed

if TYPE_CHECKING:
    from penstock.kube.resources import Object


def _lines() -> list[Any]:
    lines: list[Object] = [orjson.loads(line) for line in FILE.read_bytes().splitlines()]
    return [pytest.param(line, id=_name(line)) for line in lines]


def _name(line: Object) -> str:
    how = line["type"].removeprefix("application/").partition("+")[0]
    below = f"/{line['subresource']}" if line["subresource"] else ""
    return f"{line['seed']}.{line['step']} {line['verb']} {how} {line['kind']}{below} {line['code']}"


@pytest.mark.parametrize("line", _lines())
def test_the_same_as_the_real_server(line: Object) -> None:
    before = orjson.dumps([line["live"], line["sent"]])
    ours, theirs = replayed(line)
    assert ours == theirs
    # Equal sets may be written in different orders; the server has one.
    assert _written(ours) == _written(theirs)
    assert orjson.dumps([line["live"], line["sent"]]) == before, "what was given has been changed"


def _written(entries: Any) -> list[bytes]:
    return [orjson.dumps(entry["fieldsV1"]) for entry in entries if isinstance(entry, dict)]
