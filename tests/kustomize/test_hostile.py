"""Hostile trees: every attack ends in one clear sentence, soon. The numbers are those of the list of attacks."""

import os
import time
from pathlib import Path

import pytest

from penstock.kustomize import BuildError, FieldError, KustomizationError, LoadError, Options, PatchError, build
from penstock.kustomize.remote import Clones
from penstock.kustomize.repospec import parse

CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: b}\n"
SOON = 10.0  # seconds; each attack would take minutes, or for ever


def refused(kustomization: str, error: type[BuildError] = BuildError, **more: bytes) -> str:
    """The sentence with which a tree is refused, soon."""
    tree = {"kustomization.yaml": kustomization.encode(), "c.yaml": CONFIG_MAP}
    tree |= {name.replace("_", "."): text for name, text in more.items()}
    begun = time.monotonic()
    with pytest.raises(error) as caught:
        build("/", files=tree)
    assert time.monotonic() - begun < SOON
    assert len(str(caught.value)) < 2000
    assert "no kustomization file" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "kustomization",
    [
        pytest.param("resources: [../../../../etc/passwd]", id="resource"),
        pytest.param("resources: [/etc/passwd]", id="absolute resource"),
        pytest.param("configMapGenerator: [{name: a, files: [../../etc/passwd]}]", id="generator file"),
        pytest.param("configMapGenerator: [{name: a, files: [k=/etc/passwd]}]", id="generator absolute file"),
        pytest.param("secretGenerator: [{name: a, envs: [../secret]}]", id="generator env"),
        pytest.param("namePrefix: a\nopenapi: {path: ../../etc/passwd}", id="openapi"),
        pytest.param("patches: [{path: ../../etc/passwd, target: {kind: A}}]", id="patch"),
        pytest.param("configurations: [../../etc/passwd]", id="configuration"),
        pytest.param("crds: [../../etc/passwd]", id="crd"),
        pytest.param("replacements: [{path: ../../etc/passwd}]", id="replacement"),
        pytest.param("transformers: [../../etc/passwd]", id="transformer"),
        pytest.param("components: [/etc]", id="component"),
    ],
)
def test_a1_nothing_outside_the_root_is_read(tmp_path: Path, kustomization: str) -> None:
    root = tmp_path / "deep" / "root"
    root.mkdir(parents=True)
    (tmp_path / "secret").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")
    (root / "kustomization.yaml").write_text(kustomization)
    with pytest.raises(BuildError):
        build(root)


@pytest.mark.parametrize("hops", [1, 3], ids=["link", "chain of links"])
def test_a2_links_do_not_lead_out(tmp_path: Path, hops: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    target = tmp_path / "secret.yaml"
    target.write_bytes(CONFIG_MAP)
    for number in range(hops):
        link = root / f"link{number}.yaml"
        link.symlink_to(target)
        target = link
    (root / "kustomization.yaml").write_text(f"resources: [{target.name}]")
    with pytest.raises(LoadError, match="not in or below"):
        build(root)


def test_a2_a_directory_swapped_for_a_link_does_not_lead_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "c.yaml").write_bytes(CONFIG_MAP)
    (root / "sub").rmdir()
    (root / "sub").symlink_to(outside)
    (root / "kustomization.yaml").write_text("resources: [sub/c.yaml]")
    with pytest.raises(LoadError, match="not in or below"):
        build(root)


def test_a2_links_inside_the_root_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_bytes(CONFIG_MAP)
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    (tmp_path / "kustomization.yaml").write_text("resources: [link.yaml]")
    assert len(build(tmp_path)) == 1


def test_a2_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "kustomization.yaml").write_text("resources: [pipe.yaml]")
    with pytest.raises(LoadError, match="not a regular file"):
        build(tmp_path)


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"a": "resources: [../b]", "b": "resources: [../a]"}, id="two bases"),
        pytest.param({"a": "resources: [.]"}, id="itself"),
        pytest.param({"a": "resources: [..]"}, id="what contains it"),
        pytest.param({"a": "kind: Component\ncomponents: [../a]"}, id="component"),
    ],
)
def test_a7_cycles(tree: dict[str, str]) -> None:
    files = {f"{name}/kustomization.yaml": text.encode() for name, text in tree.items()}
    files["kustomization.yaml"] = b"resources: [a]"
    with pytest.raises(LoadError, match="cycle"):
        build("a", files=files)


def test_a7_a_hundred_thousand_overlays() -> None:
    files = {f"{number}/kustomization.yaml": b"resources: [../%d]" % (number + 1) for number in range(2000)}
    with pytest.raises(LoadError, match="kustomizations deep"):
        build("0", files=files)


def test_a7_exponential_diamond() -> None:
    files = {"leaf/kustomization.yaml": b"resources: [c.yaml]", "leaf/c.yaml": CONFIG_MAP}
    below = "leaf"
    for level in range(20):
        for side in ("l", "r"):
            files[f"{side}{level}/kustomization.yaml"] = f"resources: [../{below}]\nnamePrefix: {side}".encode()
        files[f"d{level}/kustomization.yaml"] = f"resources: [../l{level}, ../r{level}]".encode()
        below = f"d{level}"
    with pytest.raises(LoadError, match="more than 500 kustomizations"):
        build(below, files=files, options=Options(most_kustomizations=500))


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(
            b"a: &a [x,x,x,x,x,x,x,x,x]\n"
            + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)),
            id="alias bomb",
        ),
        pytest.param(b"a: " + b"[" * 100_000, id="deep nesting"),
        pytest.param(b"\n".join(b" " * n + b"a:" for n in range(3000)), id="deep blocks"),
        pytest.param(b"kind: A\nkind: B\nmetadata: {name: a}\n", id="duplicate keys"),
        pytest.param(b"kind: A\nmetadata: {name: a}\nx: \x00\n", id="NUL"),
        pytest.param(b"kind: A\nmetadata: {name: a}\nx: \xff\xfe\n", id="invalid UTF-8"),
        pytest.param(b"just text\n", id="scalar document"),
        pytest.param(b"- a\n- b\n", id="list document"),
        pytest.param(b"a: &a {b: *a}\n", id="anchor inside itself"),
        pytest.param(b"kind: A\nmetadata: {name: a}\n1: x\nb: {2: y}\n", id="keys that are numbers"),
        pytest.param(b"kind: A\nmetadata: {name: a}\nx: .nan\n", id="not a number"),
    ],
)
def test_a8_manifests_that_are_bombs_or_garbage(manifest: bytes) -> None:
    refused("resources: [m.yaml]", m_yaml=manifest)


def test_a8_a_million_digits_are_text_at_most() -> None:
    manifest = b"kind: A\nmetadata: {name: a}\nx: " + b"9" * 1_000_000 + b"\n"
    begun = time.monotonic()
    built = build("/", files={"kustomization.yaml": b"resources: [m.yaml]", "m.yaml": manifest})
    assert time.monotonic() - begun < SOON
    assert len(built[0]["x"]) == 1_000_000


def test_a9_patterns_are_linear() -> None:
    name = "a" * 60
    tree = {
        "kustomization.yaml": b"resources: [c.yaml]\npatches: [{path: p.yaml, target: {name: '(a+)+b'}}]\n",
        "c.yaml": CONFIG_MAP.replace(b"conf", name.encode()),
        "p.yaml": CONFIG_MAP,
    }
    begun = time.monotonic()
    assert build("/", files=tree)[0]["metadata"]["name"] == name
    assert time.monotonic() - begun < SOON


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "a{100000}", "[z-a]"])
def test_a9_patterns_that_are_none(pattern: str) -> None:
    kustomization = f"resources: [c.yaml]\npatches: [{{path: c.yaml, target: {{name: '{pattern}'}}}}]"
    assert "not a regular expression" in refused(kustomization, KustomizationError)


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param("{op: add, path: /data/x/-, value: 1}", id="append to nothing"),
        pytest.param("{op: remove, path: /data/zz}", id="remove what is not there"),
        pytest.param("{op: add, path: /list/999999999999999999999, value: 1}", id="huge index"),
        pytest.param("{op: add, path: /list/-9, value: 1}", id="negative index"),
        pytest.param("{op: add, path: nowhere, value: 1}", id="no slash"),
        pytest.param("{op: test, path: /data/a, value: c}", id="failing test"),
        pytest.param("{op: explode, path: /data}", id="unknown operation"),
        pytest.param("{op: add}", id="no path"),
        pytest.param("{op: move, from: /a~1b, path: /c}", id="escaped path"),
    ],
)
def test_a10_json_patches(operation: str) -> None:
    kustomization = f"resources: [l.yaml]\npatches: [{{target: {{kind: A}}, patch: '[{operation}]'}}]"
    refused(kustomization, PatchError, l_yaml=b"kind: A\nmetadata: {name: a}\ndata: {a: b}\nlist: [1]\n")


def test_a10_copies_of_copies() -> None:
    operations = "".join(f"- {{op: copy, from: /data, path: /data/x{number}}}\n" for number in range(40))
    refused(
        "resources: [c.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]",
        PatchError,
        p_yaml=operations.encode(),
    )


def test_a10_wildcards_over_a_million_nodes() -> None:
    rows = b",".join([b"[" + b",".join([b"{x: 1}"] * 100) + b"]"] * 300)
    kustomization = (
        "resources: [c.yaml, l.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.a}\n"
        "  targets: [{select: {kind: A}, fieldPaths: ['rows.*.*.y.*.z']}]\n"
    )
    refused(kustomization, FieldError, l_yaml=b"kind: A\nmetadata: {name: a}\nrows: [" + rows + b"]\n")


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/x",
        "file:///etc//passwd",
        "ssh://-oProxyCommand=x/y/z",
        "ext::sh -c x",
        "https://127.0.0.1:1/org/repo.git?ref=--upload-pack=x",
    ],
)
def test_a11_remote_bases_cannot_reach_inside(tmp_path: Path, address: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"resources: ['{address}']")
    begun = time.monotonic()
    with pytest.raises(BuildError):
        build(tmp_path)
    assert time.monotonic() - begun < SOON


def test_a11_a_ref_is_never_an_option() -> None:
    spec = parse("https://example.com/org/repo.git?ref=--upload-pack=evil")
    assert spec is not None
    with pytest.raises(LoadError, match="not a Git ref"):
        Clones().clone(spec)


@pytest.mark.parametrize("scheme", ["file", "ext", "fd", "git"])
def test_a11_only_some_transports(scheme: str) -> None:
    spec = parse("https://example.com/org/repo.git")
    assert spec is not None
    with pytest.raises(LoadError, match="not by"):
        Clones().clone(spec._replace(url=f"{scheme}://x/y"))


@pytest.mark.parametrize("address", ["https://example.com/a/b//c?ref=x", "git@example.com:a/b", "github.com/a/b"])
def test_a11_one_switch_turns_remote_bases_off(tmp_path: Path, address: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"resources: ['{address}']")
    with pytest.raises(LoadError, match="not allowed"):
        build(tmp_path, options=Options(remote=False))


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(b"apiVersion: x/v1\nkind: Exec\nmetadata: {name: a}\n", id="exec plugin"),
        pytest.param(
            b"apiVersion: x/v1\nkind: Fn\nmetadata:\n  name: a\n  annotations:\n"
            b"    config.kubernetes.io/function: 'container: {image: evil}'\n",
            id="container function",
        ),
        pytest.param(
            b"apiVersion: x/v1\nkind: Fn\nmetadata:\n  name: a\n  annotations:\n"
            b"    config.kubernetes.io/function: 'starlark: {path: evil.star}'\n",
            id="starlark function",
        ),
        pytest.param(b"apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\n", id="helm"),
    ],
)
@pytest.mark.parametrize("field", ["generators", "transformers", "validators"])
def test_a12_no_program_is_ever_run(field: str, config: bytes) -> None:
    refused(f"resources: [c.yaml]\n{field}: [p.yaml]", KustomizationError, p_yaml=config)


def test_a12_helm_flags_are_not_passed_on() -> None:
    sentence = refused("helmCharts: [{name: a, releaseName: '--post-renderer=./evil'}]", KustomizationError)
    assert "not supported yet" in sentence
