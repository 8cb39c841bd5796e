"""Files that a build reads. Ids and docstrings name the scenarios of the decryptor's specification."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock.render import DecryptionFailed, decrypt_sources, verify_resources
from penstock.render.confined import confined, relative
from penstock.render.encrypted_sources import decrypt_file
from penstock.render.kustomization_files import DeadEnd, load_kustomization, walk
from penstock.sops import Format
from penstock.yaml import config, dump
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RING = new_ring()


def tree(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


async def env(plain: bytes = b"KEY=value\n") -> bytes:
    return await RING.encrypt(plain, Format.DOTENV)


async def test_env_and_files(tmp_path: Path) -> None:
    """Sources/env and files"""
    tree(
        tmp_path,
        {
            "subdir/kustomization.yaml": b"""\
secretGenerator:
- files: [file.txt, combo=combination.json]
  envs: [app.env, ../secret.env]
""",
            "subdir/file.txt": await RING.encrypt(b"file", Format.BINARY),
            "subdir/combination.json": await RING.encrypt(b"combo", Format.BINARY),
            "subdir/app.env": await env(),
            "secret.env": await env(b"OTHER=thing\n"),
        },
    )
    found = await decrypt_sources(tmp_path, "subdir", RING.keyring, provider="sops")
    assert found.files == {
        tmp_path / "subdir/file.txt": b"file",
        tmp_path / "subdir/combination.json": b"combo",
        tmp_path / "subdir/app.env": b"KEY=value\n",
        tmp_path / "secret.env": b"OTHER=thing\n",
    }
    assert found.visited == set(found.files)
    assert (tmp_path / "subdir/file.txt").read_bytes() != b"file"
    await asyncio.to_thread(found.write)
    assert (tmp_path / "subdir/file.txt").read_bytes() == b"file"
    assert (tmp_path / "subdir/file.txt").stat().st_mode & 0o777 == 0o600


async def test_a_missing_file_is_named_without_its_root(tmp_path: Path) -> None:
    """Sources/missing env file"""
    tree(tmp_path, {"subdir/kustomization.yaml": b"secretGenerator: [{envs: [file.txt]}]"})
    with pytest.raises(DecryptionFailed) as caught:
        await decrypt_sources(tmp_path / "subdir", ".", RING.keyring, provider="sops")
    assert str(caught.value) == "error decrypting sources: lstat file.txt: no such file or directory"


async def test_a_link_inside_the_root_is_followed(tmp_path: Path) -> None:
    """Sources/relative symlink inside the root"""
    tree(tmp_path, {"a/kustomization.yaml": b"secretGenerator: [{envs: [link.env]}]", "b/data.env": await env()})
    (tmp_path / "a/link.env").symlink_to("../b/data.env")
    found = await decrypt_sources(tmp_path, "a", RING.keyring, provider="sops")
    assert found.files == {tmp_path / "b/data.env": b"KEY=value\n"}
    assert found.visited == {tmp_path / "b/data.env"}


@pytest.mark.parametrize(
    ("envs", "link", "said"),
    [
        pytest.param(
            "link.env", "../otherdir/data.env", "lstat otherdir/data.env",
            id="Sources/root is subdir, symlink to ../otherdir/data.env",
        ),
        pytest.param("../otherdir/data.env", "", "lstat otherdir/data.env", id="Sources/root is subdir, env outside"),
        pytest.param("link.env", "/etc/passwd", "lstat etc/passwd", id="an absolute link is taken from the root"),
    ],
)  # fmt: skip
async def test_nothing_outside_the_root_is_touched(tmp_path: Path, envs: str, link: str, said: str) -> None:
    outside = await env()
    tree(tmp_path, {"subdir/kustomization.yaml": f"secretGenerator: [{{envs: [{envs}]}}]".encode()})
    tree(tmp_path, {"otherdir/data.env": outside})
    if link:
        (tmp_path / "subdir/link.env").symlink_to(link)
    with pytest.raises(DecryptionFailed, match=re.escape(said)):
        await decrypt_sources(tmp_path / "subdir", ".", RING.keyring, provider="sops")
    assert (tmp_path / "otherdir/data.env").read_bytes() == outside


async def test_patches(tmp_path: Path) -> None:
    """Sources/patches with one local encrypted file and one https URL"""
    tree(
        tmp_path,
        {
            "kustomization.yaml": b"""\
patches:
- path: patch.yaml
- path: https://example.com/patch.yaml
- patch: "[]"
secretGenerator:
- files: [file.txt]
""",
            "patch.yaml": await RING.encrypt(b"kind: Secret\n", Format.YAML),
            "file.txt": await RING.encrypt(b"file", Format.BINARY),
        },
    )
    found = await decrypt_sources(tmp_path, ".", RING.keyring, provider="sops")
    assert found.files == {tmp_path / "patch.yaml": b"kind: Secret\n", tmp_path / "file.txt": b"file"}


async def test_components_and_resources_are_walked(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "kustomization.yaml": b"resources: [base, https://example.com/x, github.com/a/b, cm.yaml]\ncomponents: [c]",
            "base/kustomization.yml": b"secretGenerator: [{envs: [a.env]}]",
            "base/a.env": await env(),
            "c/Kustomization": b"secretGenerator: [{envs: [b.env]}]",
            "c/b.env": await env(),
            "cm.yaml": b"kind: ConfigMap\n",
        },
    )
    found = await decrypt_sources(tmp_path, ".", RING.keyring, provider="sops")
    assert set(found.files) == {tmp_path / "base/a.env", tmp_path / "c/b.env"}


@pytest.mark.parametrize("provider", [None, "", "not-supported"])
async def test_without_the_provider_nothing_is_read(tmp_path: Path, provider: str | None) -> None:
    assert (await decrypt_sources(tmp_path / "not-there", ".", RING.keyring, provider=provider)).visited == set()


@pytest.mark.parametrize(
    ("name", "form", "plain"),
    [
        pytest.param("a.env", Format.DOTENV, b"KEY=value\n", id="File/dotenv"),
        pytest.param("a.yaml", Format.YAML, b"key: value\n", id="File/YAML"),
    ],
)
async def test_a_file_is_decrypted(tmp_path: Path, name: str, form: Format, plain: bytes) -> None:
    tree(tmp_path, {name: await RING.encrypt(plain, form)})
    assert await decrypt_file(tmp_path / name, form, RING.keyring) == plain


async def test_irregular_files_are_refused(tmp_path: Path) -> None:
    """File/path is a directory; File/symlink"""
    tree(tmp_path, {"a.env": await env()})
    (tmp_path / "link.env").symlink_to("a.env")
    os.mkfifo(tmp_path / "pipe.env")
    for path in (tmp_path, tmp_path / "link.env", tmp_path / "pipe.env"):
        with pytest.raises(DecryptionFailed, match="cannot decrypt irregular file as it has file mode type bits set"):
            await decrypt_file(path, Format.DOTENV, RING.keyring)


async def test_a_large_file_is_refused(tmp_path: Path) -> None:
    """File/972-byte file with limit 5"""
    tree(tmp_path, {"a.env": b"x" * 972})
    with pytest.raises(
        DecryptionFailed, match=re.escape("cannot decrypt file with size (972 bytes) exceeding limit (5)")
    ):
        await decrypt_file(tmp_path / "a.env", Format.DOTENV, RING.keyring, limit=5)


async def test_a_file_without_the_mark_of_its_format_is_left_alone(tmp_path: Path) -> None:
    """File/INI-encrypted file read as binary format"""
    tree(tmp_path, {"a.ini": await RING.encrypt(b"[a]\nb = c\n", Format.INI)})
    assert await decrypt_file(tmp_path / "a.ini", Format.BINARY, RING.keyring) is None


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_load_kustomization(tmp_path: Path, name: str) -> None:
    """LoadKustomization/kustomization.yaml, and kustomization.yml"""
    tree(tmp_path, {f"sub/{name}": b"resources: [a.yaml]"})
    assert load_kustomization(tmp_path, "sub") == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["a.yaml"],
    }


@pytest.mark.parametrize(
    ("files", "link", "path", "said"),
    [
        pytest.param(
            {"kustomization.yaml": b"", "kustomization.yml": b""}, "", ".", "found multiple kustomization files",
            id="LoadKustomization/two recognised files",
        ),
        pytest.param({"other.yaml": b""}, "", ".", "no kustomization file found", id="LoadKustomization/none"),
        pytest.param({}, "../outside.yaml", ".", "no kustomization file found", id="LoadKustomization/symlink leaving"),
        pytest.param(
            {"kustomization.yaml": b"resources"}, "", ".", "failed to unmarshal kustomization file",
            id="LoadKustomization/content `resources`",
        ),
        pytest.param({}, "", "/absolute/", "path '/absolute/' must be relative", id="LoadKustomization/absolute path"),
    ],
)  # fmt: skip
def test_load_kustomization_refuses(tmp_path: Path, files: dict[str, bytes], link: str, path: str, said: str) -> None:
    root = tree(tmp_path / "root", files)
    root.mkdir(exist_ok=True)
    (tmp_path / "outside.yaml").write_bytes(b"resources: []")
    if link:
        (root / "kustomization.yaml").symlink_to(link)
    with pytest.raises(DecryptionFailed, match=re.escape(said)):
        load_kustomization(root, path)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"bar": "../baz", "baz": "{root}/bar/baz", "bar/baz": ""},
            ["bar", "baz", "bar/baz"],
            id="Recurse/bar → ../baz → absolute path inside the root",
        ),
        pytest.param(
            {"bar": "../baz", "baz": "../foobar", "foobar": "../bar"}, ["bar", "baz", "foobar"], id="Recurse/loop"
        ),
        pytest.param({"bar": "../file.yaml"}, ["bar"], id="Recurse/referenced plain file → ignored"),
        pytest.param({"bar": "../not-there"}, ["bar"], id="a reference to nothing is ignored"),
        pytest.param({"bar": "https://github.com/a/b"}, ["bar"], id="Recurse/https URL"),
        pytest.param({"bar": "git@github.com:a/b.git"}, ["bar"], id="Recurse/git URL"),
        pytest.param({"bar": "../../../../etc"}, ["bar"], id="a reference that climbs stays inside"),
    ],
)
def test_recursion(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    for name, reference in files.items():
        content = f"resources: ['{reference.format(root=tmp_path)}']".encode()
        tree(tmp_path, {f"{name}/kustomization.yaml": content, "file.yaml": b""})
    assert [file.folder for file in walk(tmp_path, "bar")] == expected


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_recursion_knows_the_three_names(tmp_path: Path, name: str) -> None:
    """Recurse/directories using the three recognised file names"""
    tree(tmp_path, {"a/kustomization.yaml": b"resources: [../b]", f"b/{name}": b"resources: []"})
    assert [file.folder for file in walk(tmp_path, "a")] == ["a", "b"]


def test_recursion_must_start_somewhere(tmp_path: Path) -> None:
    """Recurse/start path missing; start path is a file"""
    tree(tmp_path, {"file": b""})
    with pytest.raises(DeadEnd, match="lstat invalid: no such file or directory"):
        list(walk(tmp_path, "invalid"))
    with pytest.raises(DeadEnd, match="not a directory"):
        list(walk(tmp_path, "file"))


def test_a_folder_without_a_kustomization_file_is_an_error(tmp_path: Path) -> None:
    """Recurse/referenced directory without kustomization file"""
    tree(tmp_path, {"a/kustomization.yaml": b"resources: [../b]", "b/x.yaml": b""})
    with pytest.raises(DecryptionFailed, match="b: no kustomization file found") as caught:
        list(walk(tmp_path, "a"))
    assert not isinstance(caught.value, DeadEnd)


async def test_an_error_of_a_visit_is_returned(tmp_path: Path) -> None:
    """Recurse/visitor error"""
    tree(tmp_path, {"kustomization.yaml": b"secretGenerator: [{envs: [a.env]}]", "a.env": await env()})
    with pytest.raises(DecryptionFailed, match=r"error decrypting sources: a\.env: cannot get sops data key"):
        await decrypt_sources(tmp_path, ".", new_ring().keyring, provider="sops")


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        pytest.param("/wordir/", "/wordir/foo/", "foo", id="Paths: root /wordir/, /wordir/foo/"),
        pytest.param("/wordir/", "./foo", "foo", id="Paths: root /wordir/, ./foo"),
        pytest.param("/wordir/foo", "../../bar", "bar", id="Paths: root /wordir/foo, ../../bar"),
    ],
)
def test_paths(root: str, path: str, expected: str) -> None:
    inside = confined(Path(root), path)
    assert inside == Path(root) / expected
    assert relative(root, str(inside)) == expected


def test_links_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(DecryptionFailed, match="too many symbolic links"):
        confined(tmp_path, "a")


async def test_macs_of_manifests_are_checked_before_the_build(tmp_path: Path) -> None:
    first = await RING.encrypt(b"kind: Secret\nstringData:\n    a: one\n    b: two\n", Format.YAML)
    second = await RING.encrypt(b"kind: Secret\nstringData:\n    c: three\n", Format.YAML)
    tree(
        tmp_path,
        {
            "kustomization.yaml": b"resources: [secret.yaml, plain.yaml, https://example.com/x]",
            "secret.yaml": first + b"---\n" + b"kind: ConfigMap\n---\n" + second,
            "plain.yaml": b"kind: ConfigMap\n",
        },
    )
    await verify_resources(tmp_path, ".", RING.keyring)
    cut = b"".join(line for line in first.splitlines(keepends=True) if not line.strip().startswith(b"b:"))
    (tmp_path / "secret.yaml").write_bytes(cut + b"---\n" + second)
    with pytest.raises(
        DecryptionFailed, match=r"secret\.yaml: failed to verify sops data integrity: the MAC does not fit"
    ):
        await verify_resources(tmp_path, ".", RING.keyring)


@pytest.mark.parametrize(
    ("write", "told"),
    [
        pytest.param(lambda obj: orjson.dumps(obj), "the MAC does not fit", id="as JSON in a file of YAML"),
        pytest.param(
            lambda obj: b'"s\\x6fps": ' + orjson.dumps(obj.pop("sops")) + b"\n" + dump(obj).encode(),
            "MAC",
            id="escaped",
        ),
        pytest.param(lambda obj: orjson.dumps({"kind": "List", "items": [obj]}), "inside of a List", id="in a List"),
        pytest.param(
            lambda obj: orjson.dumps({"kind": "List", "items": [{"kind": "List", "items": [obj]}]}),
            "inside of a List",
            id="in a List of Lists",
        ),
    ],
)
async def test_no_spelling_hides_a_manifest_from_the_check(
    write: Callable[[dict[str, Any]], bytes], told: str, tmp_path: Path
) -> None:
    sealed = await RING.encrypt(b"kind: Secret\nstringData:\n    a: one\n    b: two\n", Format.YAML)
    obj = config(sealed)
    del obj["stringData"]["b"]
    tree(tmp_path, {"kustomization.yaml": b"resources: [secret.yaml]", "secret.yaml": write(obj)})
    with pytest.raises(DecryptionFailed, match=told):
        await verify_resources(tmp_path, ".", RING.keyring)


@pytest.mark.parametrize("items", ["5", "text", "{a: 1}", "[1, null, [2]]"])
async def test_items_that_are_no_list_of_objects_are_no_trouble(items: str, tmp_path: Path) -> None:
    files = {"kustomization.yaml": b"resources: [a.yaml]", "a.yaml": f"kind: Menu\nitems: {items}\n".encode()}
    await verify_resources(tree(tmp_path, files), ".", RING.keyring)
