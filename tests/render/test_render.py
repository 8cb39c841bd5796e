"""From a tree to its objects: build, decryption, substitution, and what is never shown or read."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.references import Image
from penstock.render import BuildFailed, KeyMaterial, Overlay, Recipe, render
from penstock.runtime.workers import WorkerPool
from penstock.sops import Format
from penstock.yaml import dump_all
from tests.render.trees import built, manifest, tree
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Object = dict[str, Any]
RING = new_ring()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param({"a.yaml": "a: [b"}, "failed to decode Kubernetes YAML from a.yaml", id="no YAML"),
        pytest.param({"x/a.yaml": "a: b"}, "failed to decode Kubernetes YAML from x/a.yaml", id="no object"),
        pytest.param(
            {"a.yaml": "piVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"},
            "failed to decode Kubernetes apiVersion, kind and name from: .*ConfigMap",
            id="Validation/plain",
        ),
        pytest.param(
            {
                "kustomization.yaml": "resources: [a.yaml]",
                "a.yaml": "piVersion: v1\nkind: ConfigMap\nmetadata: {name: a}",
            },
            "failed to decode Kubernetes apiVersion, kind and name from: .*ConfigMap",
            id="Validation/overlay",
        ),
        pytest.param({"kustomization.yaml": "resources: [a.yaml]"}, "kustomize build failed: .*a.yaml", id="missing"),
        pytest.param({"kustomization.yaml": "resources: {a: b}"}, "kustomization.yaml: 'resources'", id="wrong type"),
        pytest.param({"kustomization.yaml": "{"}, "kustomization.yaml: line", id="a broken file"),
    ],
)
def test_trees_that_do_not_build(tmp_path: Path, files: Mapping[str, str], words: str) -> None:
    tree(tmp_path, files)
    with pytest.raises(BuildFailed, match=words) as caught:
        render(tmp_path, Recipe())
    assert caught.value.reason == "BuildFailed"
    assert str(tmp_path) not in str(caught.value)


def test_the_content_of_an_object_is_never_shown(tmp_path: Path) -> None:
    tree(tmp_path, {"a.yaml": "kind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2}"})
    with pytest.raises(BuildFailed) as caught:
        render(tmp_path, Recipe())
    assert "hunter2" not in str(caught.value)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="kustomization path not found: stat x/y: no such file") as caught:
        render(tmp_path, Recipe(path="x/y"))
    assert caught.value.reason == "ArtifactFailed"


@pytest.mark.parametrize("path", ["../../app", "/app", "./app/", "app/../../app"])
def test_a_path_stays_inside(tmp_path: Path, path: str) -> None:
    assert list(built(tmp_path, {"app/a.yaml": manifest("a")}, Recipe(path=path))) == ["a"]


@pytest.mark.parametrize("reference", ["../../outside", "link"])
def test_nothing_outside_the_artifact_is_read(tmp_path: Path, reference: str) -> None:
    tree(tmp_path, {"outside/kustomization.yaml": "resources: [a.yaml]", "outside/a.yaml": manifest("secret")})
    root = tree(tmp_path / "root", {"app/kustomization.yaml": f"resources: [{reference}]"})
    (root / "app/link").symlink_to(tmp_path / "outside")
    with pytest.raises(BuildFailed, match="fs-security-constraint"):
        render(root, Recipe(path="app"))


# --- substitution ---


def substituted(
    root: Path, text: str, variables: Mapping[str, str], *, always: bool = False, strict: bool = False
) -> Object:
    recipe = Recipe(variables=variables, substitute_always=always, strict=strict)
    return built(root, {"a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{text}"}, recipe)["a"]


@pytest.mark.scenario("22.5 VarsubNumberBool")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('"${number}"', 123, id="quotes around a number are gone"),
        pytest.param("${bool}", True, id="and around a boolean"),
        pytest.param("${q}${number}${q}", "123", id="unless a variable brings them"),
        pytest.param("${numberStr}", "123", id="or a tag"),
        pytest.param("${boolStr}", "true", id="for booleans too"),
        pytest.param("${number}m", "123m", id="a number with a unit is text"),
        pytest.param("${empty}", None, id="nothing is null"),
        pytest.param("|\n    a $${var}\n    b \\? c\n", "a ${var}\nb \\? c\n", id="a block of text"),
        pytest.param("2001-01-01${empty}", "2001-01-01", id="a date stays text"),
        pytest.param("1e3${empty}", 1000, id="a number in another notation"),
        pytest.param("9007199254740993${empty}", 9007199254740993, id="no digit of a number is lost"),
        pytest.param("yes${empty}", True, id="words that YAML 1.1 takes for booleans"),
    ],
)
def test_types_after_substitution(tmp_path: Path, text: str, expected: Any) -> None:
    variables = {
        "q": '"',
        "numberStr": "!!str 123",
        "number": "123",
        "boolStr": "!!str true",
        "bool": "true",
        "empty": "",
    }
    value = substituted(tmp_path, f"data:\n  k: {text}", variables)["data"]["k"]
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.scenario("22.5 VarsubAlways/2")
def test_without_variables_nothing_is_touched_unless_always(tmp_path: Path) -> None:
    assert substituted(tmp_path, "data: {k: '${x:=d}'}", {})["data"] == {"k": "${x:=d}"}
    assert substituted(tmp_path, "data: {k: '${x:=d}'}", {}, always=True)["data"] == {"k": "d"}


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize(("value", "expected"), [("disabled", "${x}"), ("Disabled", "z")])
def test_an_object_can_stay_out(tmp_path: Path, field: str, value: str, expected: str) -> None:
    text = f"  {field}: {{kustomize.toolkit.fluxcd.io/substitute: {value}}}\ndata: {{k: '${{x}}'}}"
    assert substituted(tmp_path, text, {"x": "z"})["data"] == {"k": expected}


@pytest.mark.scenario("22.5 VarsubStrict")
def test_strict_mode_names_the_object(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as caught:
        substituted(tmp_path, "data: {k: '${missing}'}", {"x": "y"}, strict=True)
    assert str(caught.value) == (
        "post build failed for 'ConfigMap.v1.[noGrp]/a': envsubst error: variable substitution failed: "
        'variable not set (strict mode): "missing"'
    )


def test_a_value_that_breaks_the_text_is_not_shown(tmp_path: Path) -> None:
    """A18"""
    with pytest.raises(BuildFailed, match=r"YAMLToJSON: .* at line") as caught:
        substituted(tmp_path, "data: {k: '${x}'}", {"x": '"hunter2'})
    assert "hunter2" not in str(caught.value)


# --- decryption, digest, worker ---


async def encrypted(text: str) -> bytes:
    return await RING.encrypt(text.encode(), Format.YAML)


async def test_objects_and_sources_are_decrypted_then_substituted(tmp_path: Path) -> None:
    secret = manifest("a", "Secret", stringData={"k": "${x}"})
    tree(
        tmp_path,
        {
            "app/secret.yaml": await encrypted(secret),
            "app/gen/kustomization.yaml": "secretGenerator: [{name: g, envs: [x.env]}]\n"
            "generatorOptions: {disableNameSuffixHash: true}",
            "app/gen/x.env": await RING.encrypt(b"KEY=value\n", Format.DOTENV),
        },
    )
    keys = KeyMaterial(provider="sops")
    recipe = Recipe(path="app", keys=keys, variables={"x": "plain"})
    rendered = await asyncio.to_thread(render, tmp_path, recipe, RING.keyring)
    found = {obj["metadata"]["name"]: obj for obj in rendered.objects}
    assert found["a"]["stringData"] == {"k": "plain"}
    assert "sops" not in found["a"]
    assert found["g"]["data"] == {"KEY": "dmFsdWU="}


async def test_an_error_of_decryption_fails_the_build(tmp_path: Path) -> None:
    tree(tmp_path, {"a.yaml": await encrypted(manifest("a", "Secret"))})
    with pytest.raises(BuildFailed, match=r"decryption failed for .*: cannot get sops data key"):
        await asyncio.to_thread(render, tmp_path, Recipe(keys=KeyMaterial(provider="sops")))


def test_the_digest_is_that_of_the_stream(tmp_path: Path) -> None:
    tree(tmp_path, {"a.yaml": manifest("a", data={"k": "${x}"}), "b.yaml": manifest("b")})
    rendered = render(tmp_path, Recipe(variables={"x": "y"}))
    expected = hashlib.sha256(dump_all(rendered.objects).encode()).hexdigest()
    assert rendered.digest == f"sha256:{expected}"
    assert rendered.cacheable


def test_the_digest_of_a_recipe_knows_everything_that_decides() -> None:
    recipes = [
        Recipe(),
        Recipe(path="a"),
        Recipe(overlay=Overlay(name_prefix="a")),
        Recipe(variables={}),
        Recipe(variables={"a": "b"}),
        Recipe(variables={"a": "c"}),
        Recipe(keys=KeyMaterial(provider="sops")),
        Recipe(keys=KeyMaterial(provider="sops", data={"a": b"\xff"})),
        Recipe(strict=True),
        Recipe(substitute_always=True),
        Recipe(remote_bases=False),
    ]
    assert len({recipe.digest() for recipe in recipes}) == len(recipes)
    assert Recipe(variables={"a": "1", "b": "2"}).digest() == Recipe(variables={"b": "2", "a": "1"}).digest()


async def test_a_worker_process_renders(tmp_path: Path) -> None:
    tree(tmp_path, {"a.yaml": manifest("a", data={"k": "${x}"})})
    overlay = Overlay(target_namespace="team", images=(Image(name="a", new_tag="1"),))
    async with WorkerPool(size=1) as pool:
        rendered = await pool.run(render, tmp_path, Recipe(overlay=overlay, variables={"x": "z"}), None)
        assert rendered.objects[0]["data"] == {"k": "z"}
        with pytest.raises(BuildFailed, match="not found") as caught:
            await pool.run(render, tmp_path, Recipe(path="x"), None)
    assert caught.value.reason == "ArtifactFailed"


class _OneFile(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(manifest("remote").encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _OneFile) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/a.yaml"
        listening.shutdown()
        thread.join()


def test_what_comes_from_elsewhere_is_not_kept(tmp_path: Path, address: str) -> None:
    tree(tmp_path, {"kustomization.yaml": f"resources: ['{address}']"})
    rendered = render(tmp_path, Recipe())
    assert [obj["metadata"]["name"] for obj in rendered.objects] == ["remote"]
    assert not rendered.cacheable
    with pytest.raises(BuildFailed, match="remote files are not allowed"):
        render(tmp_path, Recipe(remote_bases=False))


def test_a_link_out_of_the_tree_is_refused_without_its_place(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("resources: []")
    root = tree(tmp_path / "root", {"a.txt": ""})
    (root / "kustomization.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(BuildFailed, match="fs-security-constraint") as caught:
        render(root, Recipe())
    assert str(root) not in str(caught.value)


def test_types_of_the_user_add_to_the_built_in_ones(tmp_path: Path) -> None:
    """In Flux the built-in types stay known; in the command `kustomize` they do not."""
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}}},
    }
    patch = deployment | {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "z"}]}}}}
    files = {
        "kustomization.yaml": "resources: [d.yaml]\nopenapi: {path: s.json}\npatches: [{path: p.yaml}]",
        "s.json": '{"definitions": {}}',
        "d.yaml": dump_all([deployment]),
        "p.yaml": dump_all([patch]),
    }
    containers = built(tmp_path, files)["d"]["spec"]["template"]["spec"]["containers"]
    assert [(one["name"], one["image"]) for one in containers] == [("a", "z"), ("b", "y")]
