from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.embedded import cluster
from penstock.embedded.status import StatusError
from tests.embedded.definitions.defining import ANYTHING, conditions, define, definition, spec_of
from tests.embedded.lifecycle.running import CONTROLLERS, create, get, resource, running, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running(*CONTROLLERS) as made:
        yield made


async def refused(engine: Engine, made: Object) -> list[str]:
    with pytest.raises(StatusError) as caught:
        await engine.create(resource(engine, "CustomResourceDefinition"), made)
    assert caught.value.code == 422
    return [f"{cause.field}: {cause.message}" for cause in caught.value.causes]


async def test_a_definition_is_filled_in_and_served_at_once(engine: Engine) -> None:
    made = await engine.create(resource(engine, "CustomResourceDefinition"), definition())

    assert made["spec"]["names"] == {"plural": "wids", "singular": "wid", "kind": "Wid", "listKind": "WidList"}
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert await create(engine, "Wid", "first", spec={"a": 1})


async def test_it_becomes_established(engine: Engine) -> None:
    await define(engine, definition())

    found = get(engine, "CustomResourceDefinition", "wids.test.io")
    assert found is not None
    told = [(each["type"], each["reason"], each["message"]) for each in found["status"]["conditions"]]
    assert told == [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    assert found["status"]["acceptedNames"] == found["spec"]["names"]


async def test_names_of_another_are_not_granted(engine: Engine) -> None:
    await define(engine, definition())
    taken = {"plural": "others", "kind": "Other", "shortNames": ["wids"]}
    await engine.create(resource(engine, "CustomResourceDefinition"), definition("others.test.io", names=taken))

    await until(engine, lambda: conditions(engine, "others.test.io").get("NamesAccepted") == "False")
    assert conditions(engine, "others.test.io")["Established"] == "False"
    assert engine.catalog.find("test.io", "v1", "others") is None

    await engine.delete(resource(engine, "CustomResourceDefinition"), "wids.test.io")
    await until(engine, lambda: conditions(engine, "others.test.io").get("Established") == "True")
    assert engine.catalog.find("test.io", "v1", "others") is not None


async def test_discovery_knows_what_the_definition_says(engine: Engine) -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    names = {"plural": "wids", "kind": "Wid", "shortNames": ["wd"], "categories": ["all"]}
    await define(engine, definition(names=names, version={"subresources": {"status": {}, "scale": scale}}))

    found = resource(engine, "Wid")

    assert (found.short_names, found.categories, found.subresources) == (("wd",), ("all",), ("status", "scale"))
    assert found.storage_hash == "ZKeQ2wfxBos="


async def test_versions_share_their_objects(engine: Engine) -> None:
    made = definition(schema=ANYTHING)
    made["spec"]["versions"] += [
        {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": ANYTHING}},
        {"name": "v1alpha1", "served": False, "storage": False, "schema": {"openAPIV3Schema": ANYTHING}},
    ]
    await define(engine, made)
    await create(engine, "Wid", "w", spec={"a": 1})

    beta = engine.catalog.find("test.io", "v1beta1", "wids")
    assert beta is not None
    seen = engine.get(beta, "w", "default")
    assert seen is not None
    assert (seen["apiVersion"], seen["spec"]) == ("test.io/v1beta1", {"a": 1})
    assert engine.catalog.find("test.io", "v1alpha1", "wids") is None


async def test_a_changed_schema_holds_for_the_next_write(engine: Engine) -> None:
    await define(engine, definition(schema=spec_of(a={"type": "string"})))
    await create(engine, "Wid", "w", spec={"a": "x", "b": 1})
    definitions = resource(engine, "CustomResourceDefinition")
    live = get(engine, "CustomResourceDefinition", "wids.test.io")
    assert live is not None
    live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = spec_of(a={"type": "string"}, b={"type": "integer"})
    await engine.update(definitions, live)

    changed = await engine.merge(resource(engine, "Wid"), "w", "default", {"spec": {"b": 2}})

    assert changed["spec"] == {"a": "x", "b": 2}


async def test_objects_go_with_their_definition(engine: Engine) -> None:
    await define(engine, definition())
    await create(engine, "Wid", "loose")
    await create(engine, "Wid", "held", metadata={"finalizers": ["a.b/c"]})
    wids = resource(engine, "Wid")

    await engine.delete(resource(engine, "CustomResourceDefinition"), "wids.test.io")
    await until(engine, lambda: conditions(engine, "wids.test.io").get("Terminating") == "True")
    await until(engine, lambda: len(engine.list(wids)) == 1)
    assert get(engine, "CustomResourceDefinition", "wids.test.io")

    await engine.merge(wids, "held", "default", {"metadata": {"finalizers": None}})
    await until(engine, lambda: get(engine, "CustomResourceDefinition", "wids.test.io") is None)
    assert engine.catalog.find("test.io", "v1", "wids") is None


async def test_generation_counts_what_is_not_status(engine: Engine) -> None:
    await define(engine, definition(version={"subresources": {"status": {}}}))
    made = await create(engine, "Wid", "w", spec={"a": 1}, status={"s": 1})
    wids = resource(engine, "Wid")
    assert "status" not in made

    status = await engine.merge(
        wids,
        "w",
        "default",
        {"metadata": {"labels": {"a": "b"}}, "spec": {"a": 9}, "status": {"s": 2}},
        subresource="status",
    )
    assert (status["spec"], status["status"], status["metadata"]["generation"]) == ({"a": 1}, {"s": 2}, 1)
    assert "labels" not in status["metadata"]

    main = await engine.merge(wids, "w", "default", {"spec": {"a": 2}, "status": {"s": 3}})
    assert (main["spec"], main["status"], main["metadata"]["generation"]) == ({"a": 2}, {"s": 2}, 2)


async def test_scale(engine: Engine) -> None:
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.sel"}
    await define(engine, definition(version={"subresources": {"status": {}, "scale": paths}}))
    await create(engine, "Wid", "w", spec={"n": 3})
    await engine.merge(
        resource(engine, "Wid"), "w", "default", {"status": {"n": 2, "sel": "a=b"}}, subresource="status"
    )
    served = resource(engine, "Wid")
    assert served.rules is not None
    rules: Any = served.rules()

    live = get(engine, "Wid", "w")
    assert live is not None
    scale = rules.to_scale(live)
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})
    assert rules.from_scale(live, {"spec": {"replicas": 5}})["spec"] == {"n": 5}
    with pytest.raises(StatusError, match=r"\.spec\.n: Invalid value: -1: should be a non-negative integer"):
        await engine.merge(served, "w", "default", {"spec": {"n": -1}})


WRONG_STRING = {"type": "string"}
SCHEMA = "spec.validation.openAPIV3Schema"
FIELDS = f"{SCHEMA}.properties[spec].properties"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(
            {**definition(), "metadata": {"name": "x"}},
            ['metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group'],
            id="a wrong name",
        ),
        pytest.param(
            definition(schema=spec_of(a={"type": "foo"}, b={"type": "array"})),
            [
                f"{FIELDS}[b].items: Required value: must be specified",
                (
                    f'{FIELDS}[a].type: Unsupported value: "foo": supported '
                    'values: "array", "boolean", "integer", "number", "object", "string"'
                ),
            ],
            id="types",
        ),
        pytest.param(
            definition(schema={"type": "object", "properties": {"spec": {"properties": {"a": WRONG_STRING}}}}),
            [(f"{SCHEMA}.properties[spec].type: Required value: must not be empty for specified object fields")],
            id="no type",
        ),
        pytest.param(
            definition(schema=spec_of(a={"type": "string", "pattern": "("})),
            [
                (
                    f'{FIELDS}[a].pattern: Invalid value: "(": must be a '
                    "valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"
                )
            ],
            id="a pattern that is none",
        ),
        pytest.param(
            definition(
                schema={
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "properties": {"a": {"type": "string"}},
                }
            ),
            [
                f"{SCHEMA}.additionalProperties: Forbidden: must not be used at the root",
                (f"{SCHEMA}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"),
            ],
            id="a map with fields",
        ),
        pytest.param(
            definition(scope="Foo"),
            ['spec.scope: Unsupported value: "Foo": supported values: "Cluster", "Namespaced"'],
            id="a scope",
        ),
        pytest.param(
            definition("wids.k8s.io"),
            [
                (
                    "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have "
                    "approval "
                    'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
                )
            ],
            id="a group of Kubernetes",
        ),
        pytest.param(
            definition(version={"subresources": {"scale": {}}}),
            [
                "spec.subresources.scale.specReplicasPath: Required value",
                "spec.subresources.scale.statusReplicasPath: Required value",
            ],
            id="a scale without paths",
        ),
        pytest.param(
            definition(version={"additionalPrinterColumns": [{"name": "a", "type": "foo", "jsonPath": "spec"}]}),
            [
                (
                    'spec.additionalPrinterColumns[0].type: Invalid value: "foo": must be one of '
                    "boolean,date,integer,number,string"
                ),
                (
                    'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path '
                    "starting "
                    "with ."
                ),
            ],
            id="a column",
        ),
        pytest.param(
            definition(conversion={"strategy": "Webhook"}),
            [
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
            id="a webhook without an address",
        ),
    ],
)
async def test_definitions_that_are_refused(engine: Engine, made: Object, expected: list[str]) -> None:
    assert await refused(engine, made) == expected


async def test_what_cannot_change(engine: Engine) -> None:
    await define(engine, definition())
    live = get(engine, "CustomResourceDefinition", "wids.test.io")
    assert live is not None
    live["spec"]["scope"] = "Cluster"

    with pytest.raises(StatusError, match=r'spec\.scope: Invalid value: "Cluster": field is immutable'):
        await engine.update(resource(engine, "CustomResourceDefinition"), live)


async def test_a_put_needs_a_version(engine: Engine) -> None:
    await define(engine, definition())
    made = await create(engine, "Wid", "w")
    del made["metadata"]["resourceVersion"]

    with pytest.raises(StatusError, match="must be specified for an update"):
        await engine.update(resource(engine, "Wid"), made)


async def test_definitions_are_served_without_any_controllers() -> None:
    """As on a real cluster: it is the API server that establishes them, not the controller-manager."""
    async with cluster(controllers=False) as bare:
        await define(bare.engine, definition())
        assert await create(bare.engine, "Wid", "first", spec={"a": 1})


async def test_an_object_that_is_older_than_its_definition_is_read_in_the_new_form(engine: Engine) -> None:
    texts = {"old": {"type": "string"}, "kept": {"type": "string"}}
    await define(engine, definition(schema=spec_of(**texts)))
    await create(engine, "Wid", "first", spec={"old": "a", "kept": "b"})

    found = get(engine, "CustomResourceDefinition", "wids.test.io")
    assert found is not None
    schema = spec_of(kept=texts["kept"], mode={"type": "string", "default": "auto"})
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    await engine.update(resource(engine, "CustomResourceDefinition"), found)

    read = get(engine, "Wid", "first")
    assert read is not None
    assert read["spec"] == {"kept": "b", "mode": "auto"}
    assert [each["spec"] for each in engine.list(resource(engine, "Wid"))] == [read["spec"]]
    written = await engine.merge(resource(engine, "Wid"), "first", "default", {"metadata": {"labels": {"a": "b"}}})
    assert written["spec"] == read["spec"]
    assert written["metadata"]["generation"] == 1
