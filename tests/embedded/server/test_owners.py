"""Owners that an object names twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.server.owners import once_each

if TYPE_CHECKING:
    from penstock.kube.resources import Object

A: Object = {"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": "u"}
CONTROLLER: Object = {**A, "controller": True}


@pytest.mark.parametrize(
    ("owners", "kept", "warned"),
    [
        pytest.param([A], [A], 0, id="one stays"),
        pytest.param([A, dict(A)], [A], 1, id="the same one again goes"),
        pytest.param([A, CONTROLLER], [A, CONTROLLER], 0, id="one that differs in anything stays"),
        pytest.param([A, CONTROLLER, dict(A)], [A, CONTROLLER], 1, id="wherever it stands"),
    ],
)
def test_an_owner_counts_once(owners: list[Any], kept: list[Any], warned: int) -> None:
    obj: Object = {"metadata": {"ownerReferences": owners}}
    warnings: list[str] = []
    once_each(obj, warnings)
    assert obj["metadata"]["ownerReferences"] == kept
    assert [text.endswith("duplicate UID(s) observed: u") for text in warnings] == [True] * warned
