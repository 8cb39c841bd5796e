"""The three patches that are no apply."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock.embedded.fields import PatchError, json_patch, merge_patch, strategic_patch, strategic_patch_with_rest
from penstock.embedded.fields.jsonpatch import MAX_OPERATIONS
from tests.embedded.fields.objects import config, deployment, schema_of

if TYPE_CHECKING:
    from penstock.kube.resources import Object

REJECTED = "the server rejected our request due to an error in our request"
DOC: Object = {"a": {"b": 1}, "list": ["x", "y"], "n": None, "html": "<p>", "a/b": {"~": 2}}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param({"op": "add", "path": "/c", "value": 3}, {"c": 3}, id="add a key"),
        pytest.param({"op": "add", "path": "/list/1", "value": "z"}, {"list": ["x", "z", "y"]}, id="add before"),
        pytest.param({"op": "add", "path": "/list/-", "value": "z"}, {"list": ["x", "y", "z"]}, id="add at the end"),
        pytest.param({"op": "add", "path": "/list/-1", "value": "z"}, {"list": ["x", "y", "z"]}, id="from behind"),
        pytest.param({"op": "add", "path": "/c"}, {"c": None}, id="no value is null"),
        pytest.param({"op": "replace", "path": "/c", "value": 3}, {"c": 3}, id="replace makes a key"),
        pytest.param({"op": "remove", "path": "/list/0"}, {"list": ["y"]}, id="remove an item"),
        pytest.param({"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1}, id="move"),
        pytest.param({"op": "copy", "from": "/a", "path": "/c"}, {"c": {"b": 1}}, id="copy"),
        pytest.param({"op": "test", "path": "/a", "value": {"b": 1}}, {}, id="test"),
        pytest.param({"op": "test", "path": "/missing", "value": None}, {}, id="what is not there is null"),
        pytest.param({"op": "replace", "path": "/a~1b/~0", "value": 3}, {"a/b": {"~": 3}}, id="escapes"),
    ],
)
def test_json_patch(operation: Object, expected: Object) -> None:
    before = copy.deepcopy(DOC)
    assert json_patch(DOC, [operation]) == {**DOC, **expected}
    assert before == DOC


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "remove", "path": "/missing"}, id="remove what is not there"),
        pytest.param({"op": "add", "path": "/a/b/c", "value": 1}, id="below a number"),
        pytest.param({"op": "add", "path": "", "value": 1}, id="add nowhere"),
        pytest.param({"op": "add", "path": "/list/3", "value": 1}, id="past the end"),
        pytest.param({"op": "add", "path": "/list/x", "value": 1}, id="no index"),
        pytest.param({"op": "replace", "path": "/list/2", "value": 1}, id="an item that is not there"),
        pytest.param({"op": "test", "path": "/a/b", "value": 2}, id="another value"),
        pytest.param({"op": "test", "path": "/a/b", "value": 1.0}, id="1 is not 1.0"),
        pytest.param({"op": "test", "path": "/html", "value": "<p>"}, id="the server escapes HTML before it compares"),
        pytest.param({"op": "move", "from": "/missing", "path": "/c"}, id="move what is not there"),
        pytest.param({"op": "guess", "path": "/a"}, id="no such operation"),
        pytest.param({"path": "/a"}, id="no operation"),
        pytest.param({"op": "add", "value": 1}, id="no path"),
        pytest.param(None, id="nothing"),
    ],
)
def test_json_patch_that_does_not_fit(operation: Any) -> None:
    sent = orjson.loads(orjson.dumps([operation]))  # no string of it is one of the document's
    with pytest.raises(PatchError) as caught:
        json_patch(DOC, sent)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (422, "Invalid", REJECTED)


@pytest.mark.parametrize(
    ("patch", "validation", "message"),
    [
        pytest.param(
            {},
            "Warn",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        pytest.param({}, "Ignore", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        pytest.param(
            ["x"],
            "Strict",
            "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp",
        ),
        pytest.param(
            [{"op": 1}],
            "Warn",
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
    ],
)
def test_json_patch_of_the_wrong_shape(patch: Any, validation: str, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patch(DOC, patch, validation=validation)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_a_string_that_the_patch_itself_put_there() -> None:
    operations = [
        {"op": "add", "path": "/html", "value": "<q>" * 2},
        {"op": "test", "path": "/html", "value": "<q>" * 2},
    ]
    assert json_patch(DOC, operations)["html"] == "<q><q>"


def test_maps_that_were_opened_are_sorted() -> None:
    live: Object = {"z": {"y": 1, "x": 1}, "b": {"d": 1, "c": 1}}
    made = json_patch(live, [{"op": "add", "path": "/z/a", "value": {"q": 1, "p": 1}}])
    assert str(made) == str({"b": {"d": 1, "c": 1}, "z": {"a": {"q": 1, "p": 1}, "x": 1, "y": 1}})
    merged = merge_patch(live, {"z": {"a": {"q": 1, "p": 1}}})
    assert str(merged) == str({"b": {"d": 1, "c": 1}, "z": {"a": {"p": 1, "q": 1}, "x": 1, "y": 1}})


def test_a_copy_is_a_copy() -> None:
    operations = [
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/c/x", "value": 1},
        {"op": "add", "path": "/a/y", "value": 2},
    ]
    assert json_patch({"a": {"b": 1}}, operations) == {"a": {"b": 1, "y": 2}, "c": {"b": 1, "x": 1}}


def test_json_patch_has_limits() -> None:
    with pytest.raises(PatchError) as caught:
        json_patch(DOC, [{"op": "test", "path": "/a", "value": 1}] * (MAX_OPERATIONS + 1))
    assert caught.value.code == 413
    doubled: list[Object] = [{"op": "add", "path": "/a", "value": ["x" * 1000]}]
    doubled += [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40
    with pytest.raises(PatchError) as caught:
        json_patch(DOC, doubled)
    assert caught.value.message == REJECTED


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"a": None}, {"list": [1]}, id="null removes"),
        pytest.param({"a": {"c": 2}}, {"a": {"b": 1, "c": 2}, "list": [1]}, id="maps merge"),
        pytest.param({"list": [2]}, {"a": {"b": 1}, "list": [2]}, id="lists are replaced"),
        pytest.param(
            {"new": {"x": None, "y": [{"z": None}]}}, {"a": {"b": 1}, "list": [1], "new": {"y": [{}]}}, id="nulls"
        ),
        pytest.param({"a": [{"x": None}]}, {"a": [{"x": None}], "list": [1]}, id="a list for a map keeps its nulls"),
    ],
)
def test_merge_patch(patch: Object, expected: Object) -> None:
    assert merge_patch({"a": {"b": 1}, "list": [1]}, patch) == expected


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param(None, "Invalid JSON Patch", id="null"),
        pytest.param(
            [1],
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            id="a list",
        ),
    ],
)
def test_merge_patch_of_the_wrong_shape(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        merge_patch({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


LIVE = deployment(
    {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}], "args": ["one"]},
    {"name": "b", "image": "1"},
    strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
)
LIVE["metadata"]["finalizers"] = ["x", "y"]


def patched(patch: Object) -> Object:
    before = copy.deepcopy((LIVE, patch))
    made = strategic_patch(LIVE, patch, schema_of(LIVE))
    assert before == (LIVE, patch)
    return made


def in_pod(**spec: Any) -> Object:
    return {"spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("patch", "names"),
    [
        pytest.param(in_pod(containers=[{"name": "c"}]), ["c", "a", "b"], id="a new item"),
        pytest.param(in_pod(containers=[{"name": "b", "image": "2"}]), ["a", "b"], id="an item that is there"),
        pytest.param(in_pod(containers=[{"name": "a", "$patch": "delete"}]), ["b"], id="delete"),
        pytest.param(in_pod(containers=[{"name": "c"}, {"$patch": "replace"}]), ["c"], id="replace"),
        pytest.param(
            in_pod(**{"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}), ["b", "a"], id="another order"
        ),
    ],
)
def test_strategic_lists(patch: Object, names: list[str]) -> None:
    assert [each["name"] for each in patched(patch)["spec"]["template"]["spec"]["containers"]] == names


def test_strategic_merges_inside_items() -> None:
    made = patched(in_pod(containers=[{"name": "a", "env": [{"name": "Y", "value": "2"}], "args": ["two"]}]))
    first = made["spec"]["template"]["spec"]["containers"][0]
    assert first["env"] == [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]
    assert first["args"] == ["two"], "a list without a key is replaced"


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"finalizers": ["z"]}, ["z", "x", "y"], id="united"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["x"]}, ["y"], id="delete from it"),
        pytest.param({"$setElementOrder/finalizers": ["y", "x"]}, ["y", "x"], id="another order"),
        pytest.param({"finalizers": None}, None, id="null"),
    ],
)
def test_strategic_primitive_lists(patch: Object, expected: list[str] | None) -> None:
    assert patched({"metadata": patch})["metadata"].get("finalizers") == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"$retainKeys": ["type"], "type": "Recreate"}, {"type": "Recreate"}, id="retain keys"),
        pytest.param({"$patch": "replace", "type": "Recreate"}, {"type": "Recreate"}, id="replace"),
        pytest.param({"$patch": "delete"}, {}, id="delete"),
    ],
)
def test_strategic_maps(patch: Object, expected: Object) -> None:
    assert patched({"spec": {"strategy": patch}})["spec"]["strategy"] == expected


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            in_pod(containers=[{"image": "2"}]),
            500,
            "map: map[image:2] does not contain declared merge key: name",
            id="no key",
        ),
        pytest.param(
            {"spec": {"strategy": {"$patch": "merge"}}},
            500,
            "unknown patch type: merge in map: map[$patch:merge]",
            id="merge",
        ),
        pytest.param(
            in_pod(containers=[{"name": "a", "$patch": "merge"}]),
            500,
            "merging lists cannot yet be specified in the patch",
            id="merge a list",
        ),
        pytest.param(
            {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}},
            400,
            "invalid patch format of retainKeys",
            id="more than is retained",
        ),
        pytest.param(
            in_pod(**{"containers": [{"name": "a"}, {"name": "b"}], "$setElementOrder/containers": [{"name": "b"}]}),
            500,
            "The order in patch list:\n[map[name:a] map[name:b]]\n"
            " doesn't match $setElementOrder list:\n[map[name:b]]\n",
            id="an order that is not its own",
        ),
        pytest.param(
            in_pod(**{"$setElementOrder/containers": ["a"]}),
            500,
            "value for key 0 is not a map",
            id="an order of names",
        ),
    ],
)
def test_strategic_patches_that_do_not_fit(patch: Object, code: int, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        patched(patch)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_what_is_left_of_a_strategic_patch() -> None:
    patch = {"metadata": {"$patch": "replace"}, "data": {"$retainKeys": ["a"], "a": "1"}, "binaryData": {"b": None}}
    _, rest = strategic_patch_with_rest(config(a="2", b="2"), patch, schema_of(config()))
    assert rest == {"metadata": {}, "data": {"a": "1"}, "binaryData": {}}
