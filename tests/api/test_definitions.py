from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from penstock import api
from penstock.api.kinds import KINDS
from penstock.api.structural import fields_of, schema_of
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.api.structural import Field
    from penstock.api.wire import Wire


def test_the_kinds_and_their_versions() -> None:
    assert {kind: facts.api_version for kind, facts in KINDS.items()} == {
        "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
        "GitRepository": "source.toolkit.fluxcd.io/v1",
        "OCIRepository": "source.toolkit.fluxcd.io/v1",
        "Bucket": "source.toolkit.fluxcd.io/v1",
        "HelmRepository": "source.toolkit.fluxcd.io/v1",
        "HelmChart": "source.toolkit.fluxcd.io/v1",
        "ExternalArtifact": "source.toolkit.fluxcd.io/v1",
        "HelmRelease": "helm.toolkit.fluxcd.io/v2",
        "Provider": "notification.toolkit.fluxcd.io/v1beta3",
        "Alert": "notification.toolkit.fluxcd.io/v1beta3",
        "Receiver": "notification.toolkit.fluxcd.io/v1",
    }


def test_crds_come_in_one_order_and_fresh() -> None:
    first, second = api.crds(), api.crds()
    assert [crd["spec"]["names"]["kind"] for crd in first] == list(KINDS)
    assert first == second
    first[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clear()
    assert api.crds() == second
    assert api.crd("Kustomization") == second[0]


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UsageError, match="there is no kind 'Kustomisation' here; the kinds are Kustomization, "):
        api.crd("Kustomisation")


@pytest.mark.parametrize("kind", KINDS)
def test_one_version_is_stored_and_the_older_ones_are_deprecated(kind: str) -> None:
    current, *older = api.crd(kind)["spec"]["versions"]
    assert (current["name"], current["served"], current["storage"]) == (KINDS[kind].version, True, True)
    assert "deprecated" not in current
    for version in older:
        assert (version["served"], version["storage"], version["deprecated"]) == (True, False, True)
        assert version["deprecationWarning"].endswith(f"is deprecated; write {KINDS[kind].api_version}")


def test_an_older_version_has_every_current_field() -> None:
    for crd in api.crds():
        current, *older = crd["spec"]["versions"]
        for version in older:
            assert paths(current) <= paths(version), crd["metadata"]["name"]


def paths(version: dict[str, Any]) -> set[str]:
    return set(_paths(version["schema"]["openAPIV3Schema"], ""))


def _paths(schema: dict[str, Any], path: str) -> Iterator[str]:
    yield path
    for name, inner in schema.get("properties", {}).items():
        yield from _paths(inner, f"{path}.{name}")
    if "items" in schema:
        yield from _paths(schema["items"], f"{path}[]")


def test_the_envelope_of_a_kustomization() -> None:
    crd = api.crd("Kustomization")
    assert crd["metadata"] == {
        "name": "kustomizations.kustomize.toolkit.fluxcd.io",
        "annotations": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"},
    }
    assert crd["spec"]["names"] == {
        "kind": "Kustomization",
        "listKind": "KustomizationList",
        "plural": "kustomizations",
        "singular": "kustomization",
        "shortNames": ["ks"],
        "categories": ["all", "fluxcd", "fluxcd-appliers"],
    }
    (version,) = crd["spec"]["versions"]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == ["Age", "Ready", "Status"]
    assert version["subresources"] == {"status": {}}
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    assert properties["status"]["default"] == {"observedGeneration": -1}
    assert properties["spec"]["required"] == ["interval", "prune", "sourceRef"]
    assert properties["spec"]["properties"]["prune"] == {
        "description": "Delete objects that are no longer in the build.",
        "type": "boolean",
    }
    assert properties["spec"]["properties"]["interval"]["pattern"] == r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_says_what_it_is_for_in_a_sentence(kind: str) -> None:
    for version in api.crd(kind)["spec"]["versions"]:
        for path, schema in described(version["schema"]["openAPIV3Schema"], ""):
            text = schema.get("description", "")
            assert text.endswith("."), path
            assert len(text) < 120, path


def described(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        if path or name != "metadata":  # the root's metadata belongs to Kubernetes
            yield f"{path}.{name}", inner
        yield from described(inner, f"{path}.{name}")
    if "items" in schema:
        yield from described(schema["items"], f"{path}[]")


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_server_fills_in_is_what_python_assumes(kind: str) -> None:
    for owner, field in defaulted(KINDS[kind].struct):
        least = {other.name: sample(other.schema) for other in fields_of(owner) if other.required}
        left_out = {name: value for name, value in least.items() if name != field.name}
        filled_in = least | {field.name: field.schema["default"]}
        assert api.decode(left_out, owner) == api.decode(filled_in, owner), field.name


def defaulted(struct: type[Wire]) -> Iterator[tuple[type[Wire], Field]]:
    """Every field that the API server fills in, at any depth, with the Struct it belongs to."""
    for field in fields_of(struct):
        if "default" in field.schema:
            yield struct, field
        if field.struct and field.name != "metadata":  # the metadata of the root belongs to Kubernetes
            yield from defaulted(field.struct)


def sample(schema: dict[str, Any]) -> Any:
    """Some value that the schema takes."""
    if schema["type"] == "object":
        return {name: sample(schema["properties"][name]) for name in schema.get("required", ())}
    if schema["type"] == "array":
        return [sample(schema["items"])]
    if "enum" in schema:
        return schema["enum"][0]
    texts = ("10m", "1m", "https://x", "oci://x", "2030-01-31T12:00:00Z", "x")
    fitting = {"boolean": True, "integer": 1}
    return fitting.get(schema["type"]) or next(text for text in texts if _fits(text, schema))


def _fits(text: str, schema: dict[str, Any]) -> bool:
    if schema.get("format") == "date-time":
        return text.startswith("2030")
    return re.search(schema.get("pattern", ""), text) is not None


def test_a_type_without_a_schema_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="has no structural schema"):
        schema_of(bytes)


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        pytest.param("import penstock.api", [], id="the door alone loads nothing"),
        pytest.param(
            "from penstock.api import KINDS, Duration, crds, decode, encode",
            ["convert", "definitions", "durations", "kinds", "structural", "wire"],
            id="all that is behind it loads no Struct of a kind, and nothing slow",
        ),
    ],
)
def test_the_door_is_cheap_to_open(statement: str, loaded: list[str]) -> None:
    program = (
        f"import sys; {statement}; "
        "print(*sorted(m for m in sys.modules if m.startswith('penstock.api.') or m in "
        "('asyncio', 'yaml', 'aiohttp', 'typer', 'rich', 're2', 'hashlib')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == [f"penstock.api.{module}" for module in loaded]
