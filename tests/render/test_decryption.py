"""Objects of a build. Ids and docstrings name the scenarios of the decryptor's specification."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from penstock import sops
from penstock.render import (
    DecryptionFailed,
    decrypt_object,
    decrypt_objects,
    is_encrypted,
    is_encrypted_secret,
    require_decrypted,
    verifies_mac,
)
from penstock.render.decryption import format_of
from penstock.sops import Format, formats
from tests.sops.rings import Ring, new_hybrid_ring, new_ring

RING = new_ring()
HYBRID = new_hybrid_ring()
SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "secret", "namespace": "apps"},
    "data": {"key": "dmFsdWU="},
}
NAMES = "^(data|stringData)$"


async def encrypted_object(obj: dict[str, Any], ring: Ring = RING) -> dict[str, Any]:
    encrypted: dict[str, Any] = orjson.loads(await ring.encrypt(orjson.dumps(obj), Format.JSON, encrypted_regex=NAMES))
    return encrypted


async def encrypted_value(plain: bytes, form: Format, *, written: Format, ring: Ring = RING) -> str:
    """A value encrypted in one format and stored in another, as `sops --input-type … --output-type …` does."""
    opened = await sops.open_file(await ring.encrypt(plain, form), ring.keyring, form=form)
    return base64.b64encode(sops.close_file(opened, form=written)).decode()


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"apiVersion": "v1", "kind": "Secret", "sops": {}}, True, id="IsEncryptedSecret/Secret with sops"),
        pytest.param({"apiVersion": "v1", "kind": "Secret"}, False, id="IsEncryptedSecret/Secret without"),
        pytest.param({"apiVersion": "v1", "kind": "Deployment", "sops": {}}, False, id="IsEncryptedSecret/Deployment"),
    ],
)
def test_is_encrypted_secret(obj: dict[str, Any], expected: bool) -> None:
    assert is_encrypted_secret(obj) is expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"sops": {"mac": "ENC[x]"}}, True, id="isSOPSEncryptedResource: sops with mac"),
        pytest.param({}, False, id="isSOPSEncryptedResource: empty"),
        pytest.param({"sops": {"mac": ""}}, False, id="an empty mac"),
        pytest.param({"sops": None}, False, id="no block"),
    ],
)
def test_is_encrypted(obj: dict[str, Any], expected: bool) -> None:
    assert is_encrypted(obj) is expected


@pytest.mark.parametrize(
    "ring", [RING, HYBRID], ids=["DecryptResource/Secret as a whole", "DecryptResource/post-quantum"]
)
async def test_a_whole_object_is_decrypted_unless_its_annotation_says_no(ring: Ring) -> None:
    encrypted = await encrypted_object(SECRET, ring)
    assert encrypted["data"]["key"].startswith("ENC[")
    assert await decrypt_object(encrypted, ring.keyring, provider="sops") == SECRET
    for word in ("disabled", "Disabled"):
        annotations = {"kustomize.toolkit.fluxcd.io/decrypt": word}
        kept = encrypted | {"metadata": encrypted["metadata"] | {"annotations": annotations}}
        assert await decrypt_object(kept, ring.keyring, provider="sops") is None


async def test_any_kind_can_be_encrypted_as_a_whole() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
    assert await decrypt_object(await encrypted_object(obj), RING.keyring, provider="sops") == obj


async def test_labels_that_a_build_adds_do_not_keep_an_object_from_being_decrypted() -> None:
    encrypted = await encrypted_object(SECRET)
    encrypted["metadata"]["labels"] = {"team": "a"}
    decrypted = await decrypt_object(encrypted, RING.keyring, provider="sops", verify=True)
    assert decrypted is not None
    assert decrypted["metadata"]["labels"] == {"team": "a"}


@pytest.mark.parametrize(
    ("key", "plain", "form", "written", "expected"),
    [
        pytest.param(
            "file.ini", b"[config]\nkey = value\n", Format.INI, Format.YAML, b"[config]\nkey = value\n",
            id="DecryptResource/INI encrypted with YAML output",
        ),
        pytest.param(
            "key.yaml", b"key: value\n", Format.YAML, Format.YAML, b"key: value\n", id="DecryptResource/YAML in a value"
        ),
        pytest.param(
            ".dockerconfigjson", b'{"auths": {"r": {"username": "u"}}}', Format.JSON, Format.YAML,
            b'{\n\t"auths": {\n\t\t"r": {\n\t\t\t"username": "u"\n\t\t}\n\t}\n}\n',
            id="DecryptResource/.dockerconfigjson",
        ),
        pytest.param("app.env", b"A=1\n", Format.DOTENV, Format.DOTENV, b"A=1\n", id="dotenv"),
        pytest.param("blob", b"\x00\xff", Format.BINARY, Format.BINARY, b"\x00\xff", id="binary"),
    ],
)  # fmt: skip
async def test_values_of_a_secret(key: str, plain: bytes, form: Format, written: Format, expected: bytes) -> None:
    obj = SECRET | {"data": {key: await encrypted_value(plain, form, written=written), "other": "cGxhaW4="}}
    decrypted = await decrypt_object(obj, RING.keyring, provider="sops")
    assert decrypted is not None
    assert base64.b64decode(decrypted["data"][key]) == expected
    assert decrypted["data"]["other"] == "cGxhaW4="


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(SECRET | {"data": {"a": "not base64!"}}, id="undecodable base64 is for the API server"),
        pytest.param(SECRET | {"data": None}, id="no data"),
        pytest.param(SECRET | {"data": {"a": 5}}, id="a number"),
        pytest.param({**SECRET, "stringData": {"a": "sops:\n    mac: ENC[x]"}}, id="stringData is not scanned"),
    ],
)
async def test_secrets_that_are_left_alone(obj: dict[str, Any]) -> None:
    assert await decrypt_object(obj, RING.keyring, provider="sops") == obj


@pytest.mark.parametrize(
    ("obj", "provider"),
    [
        pytest.param(None, "sops", id="DecryptResource/nil resource"),
        pytest.param(SECRET, None, id="DecryptResource/no decryption spec"),
        pytest.param(SECRET, "not-supported", id="DecryptResource/unknown provider"),
        pytest.param({"kind": "ConfigMap", "data": {}}, "sops", id="an object that is not encrypted"),
    ],
)
async def test_nothing_to_do(obj: dict[str, Any] | None, provider: str | None) -> None:
    assert await decrypt_object(obj, RING.keyring, provider=provider) is None


async def test_errors_name_the_object_and_not_its_content() -> None:
    encrypted = await encrypted_object(SECRET)
    with pytest.raises(DecryptionFailed) as caught:
        await decrypt_objects([{"kind": "A"}, encrypted], new_ring().keyring, provider="sops")
    assert str(caught.value).startswith(
        "decryption failed for 'Secret.v1.[noGrp]/secret': failed to decrypt and format 'apps/secret' Secret data: "
        f"cannot get sops data key: age {RING.recipient}: "
    )
    custom = await encrypted_object({"apiVersion": "a.io/v1", "kind": "K", "metadata": {"name": "x"}, "data": "v"})
    custom["data"] = "plain text"
    with pytest.raises(DecryptionFailed, match=r"'K\.v1\.a\.io/x'.*error decrypting sops tree: data: ") as caught:
        await decrypt_objects([custom], RING.keyring, provider="sops")
    assert "plain text" not in str(caught.value)
    value = await encrypted_value(b"key: value\n", Format.YAML, written=Format.YAML)
    with pytest.raises(DecryptionFailed, match="failed to decrypt and format 'apps/secret' Secret field 'x': "):
        await decrypt_objects([SECRET | {"data": {"x": value}}], RING.keyring, provider="sops")


async def test_objects_keep_their_order() -> None:
    objects = [{"kind": "A"}, await encrypted_object(SECRET), {"kind": "B"}]
    assert await decrypt_objects(objects, RING.keyring, provider="sops") == [{"kind": "A"}, SECRET, {"kind": "B"}]


async def test_the_mac_of_a_value_is_looked_at_on_request() -> None:
    data = base64.b64decode(await encrypted_value(b"a: 1\nb: 2\n", Format.YAML, written=Format.YAML))
    cut = b"".join(line for line in data.splitlines(keepends=True) if not line.startswith(b"b:"))
    obj = SECRET | {"data": {"x.yaml": base64.b64encode(cut).decode()}}
    decrypted = await decrypt_object(obj, RING.keyring, provider="sops")
    assert decrypted is not None
    assert base64.b64decode(decrypted["data"]["x.yaml"]) == b"a: 1\n"
    with pytest.raises(DecryptionFailed, match="MAC does not fit"):
        await decrypt_object(obj, RING.keyring, provider="sops", verify=True)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"penstock.dev/sops-mac": "verify"}, True),
        ({"penstock.dev/sops-mac": "Verify"}, True),
        ({"penstock.dev/sops-mac": "no"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_verification_is_asked_for_by_annotation(annotations: dict[str, str] | None, expected: bool) -> None:
    assert verifies_mac(annotations) is expected


@pytest.mark.parametrize("field", ["data", "stringData"], ids=["in data", "in stringData, where Flux overlooks it"])
def test_an_encrypted_secret_is_not_applied(field: str) -> None:
    obj = {key: value for key, value in SECRET.items() if key != "data"} | {
        field: {"a": "ENC[x]"},
        "sops": {"mac": "x"},
    }
    with pytest.raises(DecryptionFailed) as caught:
        require_decrypted([SECRET, obj])
    assert str(caught.value) == (
        "Secret/apps/secret is SOPS encrypted, configuring decryption is required for this secret to be reconciled"
    )
    annotations = {"kustomize.toolkit.fluxcd.io/decrypt": "disabled"}
    require_decrypted([obj | {"metadata": {"name": "x", "annotations": annotations}}])


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(".dockerconfigjson", Format.JSON, id="Format by name: .dockerconfigjson"),
        pytest.param("foo.yaml", Format.YAML, id="Format by name: foo.yaml"),
        ("foo.yml", Format.YAML),
        ("foo.json", Format.JSON),
        ("foo.env", Format.DOTENV),
        ("foo.ini", Format.INI),
        ("foo.txt", Format.BINARY),
        ("yaml", Format.BINARY),
    ],
)
def test_format_by_name(name: str, form: Format) -> None:
    assert format_of(name) is form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        pytest.param(b"sops:\n  mac: ENC[x]", Format.YAML, id="Format by marker: YAML"),
        pytest.param(b"nothing", None, id="Format by marker: none"),
        (b'"mac": "ENC[x]"', Format.JSON),
        (b"sops_mac=ENC[x]", Format.DOTENV),
        (b"[sops]\n", Format.INI),
    ],
)
def test_format_by_marker(text: bytes, form: Format | None) -> None:
    assert formats.by_mark(text) is form
