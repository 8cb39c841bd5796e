"""An object as the API server reads and writes it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.embedded.kinds.decode import DecodeError, decode


def config_map(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **fields}


def test_what_is_empty_or_unknown_goes() -> None:
    sent = config_map(data={}, binaryData=None, unknown=1, metadata={"name": "a", "labels": {}, "annotations": None})
    assert decode(sent) == config_map()


def test_what_go_always_writes_is_there() -> None:
    role = decode({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"}})
    assert role["rules"] is None


def test_the_sent_object_stays_as_it_is() -> None:
    sent = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": "b"}}
    assert decode(sent)["data"] == {"a": "Yg=="}
    assert sent["stringData"] == {"a": "b"}


def test_times_are_in_utc() -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}
    read = decode({**lease, "spec": {"renewTime": "2024-01-02T05:04:05+02:00"}})
    assert read["spec"]["renewTime"] == "2024-01-02T03:04:05.000000Z"


def test_kinds_that_are_not_built_in_are_left_alone() -> None:
    sent = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"a": None}}
    assert decode(sent) is sent


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param(
            {"data": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            id="a number for a text",
        ),
        pytest.param(
            {"metadata": []},
            "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
            id="a list for a struct",
        ),
        pytest.param(
            {"metadata": {"generation": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
            id="a fraction for a whole number",
        ),
        pytest.param({"binaryData": {"a": "x"}}, "illegal base64 data at input byte 0", id="no base64"),
        pytest.param(
            {"metadata": {"creationTimestamp": "now"}},
            'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
            id="no time",
        ),
    ],
)
def test_wrong_types_are_told_in_the_words_of_go(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(config_map(**fields))
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            {"storageClassName": {}, "resources": {"limits": {"storage": "x"}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a quantity that cannot be read is told first",
        ),
        pytest.param(
            {"storageClassName": {}, "volumeName": 1},
            "json: cannot unmarshal object into Go struct field PersistentVolumeClaimSpec.spec.storageClassName "
            "of type string",
            id="of values of wrong types the first is told",
        ),
    ],
)
def test_which_of_two_mistakes_is_told(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": spec})
    assert str(refused.value) == words


def test_a_reader_of_its_own_knows_where_its_value_stands() -> None:
    update = {"rollingUpdate": {"maxUnavailable": []}, "type": []}
    with pytest.raises(DecodeError) as refused:
        decode({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {}, "spec": {"updateStrategy": update}})
    assert str(refused.value) == (
        "json: cannot unmarshal array into Go struct field "
        "RollingUpdateDaemonSet.spec.updateStrategy.rollingUpdate.maxUnavailable of type int32"
    )
