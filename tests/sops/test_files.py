"""Whole files: what comes back, and what is refused. Ids name the scenarios of the decryptor's specification."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from penstock import sops
from penstock.sops import Format
from penstock.sops.keys import AgeKey
from tests.sops.rings import NOW, new_hybrid_ring, new_ring

if TYPE_CHECKING:
    from collections.abc import Callable

RING = new_ring()
OTHER = new_ring()

SECRET = b"""\
# about the database
apiVersion: v1
kind: Secret
metadata:
    name: database
stringData:
    # who
    user: admin
    password: hunter2 # inline
    port: 5432
    ratio: 0.5
    debug: true
    since: 2001-12-14T00:00:00Z
    nothing: null
    empty: ""
    hosts:
        - one
        - two
"""


@pytest.mark.parametrize(
    ("form", "plain"),
    [
        pytest.param(Format.INI, b"[config]\nkey = value\n", id="SopsDecryptWithFormat/INI"),
        pytest.param(Format.JSON, b'{\n\t"key": "value",\n\t"n": [\n\t\t1,\n\t\t1.5,\n\t\tnull\n\t]\n}\n', id="JSON"),
        pytest.param(Format.DOTENV, b"# note\nKEY=value\nMULTI=a\\nb\nEMPTY=\n", id="dotenv"),
        pytest.param(Format.BINARY, b"\x00\xff\xfe binary \x80", id="binary, not UTF-8"),
        pytest.param(Format.YAML, b"a: 1\n---\nb: two\n", id="YAML of two documents"),
        pytest.param(Format.YAML, b"l:\n    # c\n    - x\n", id="YAML with a comment in a list"),
    ],
)
async def test_what_is_encrypted_comes_back_byte_for_byte(form: Format, plain: bytes) -> None:
    encrypted = await RING.encrypt(plain, form)
    assert b"value" not in encrypted
    assert sops.is_marked(encrypted, form)
    assert await RING.decrypt(encrypted, form) == plain


async def test_types_order_and_comments_survive() -> None:
    encrypted = await RING.encrypt(SECRET, Format.YAML)
    assert b"hunter2" not in encrypted
    plain = await RING.decrypt(encrypted, Format.YAML)
    # SOPS forgets that an encrypted comment stood behind its value, and puts it above.
    assert plain == SECRET.replace(b"    password: hunter2 # inline\n", b"    # inline\n    password: hunter2\n")


async def test_json_to_yaml() -> None:
    """SopsDecryptWithFormat/JSON→YAML"""
    encrypted = await RING.encrypt(b'{"key": "value"}', Format.JSON)
    assert await RING.decrypt(encrypted, Format.JSON, output=Format.YAML) == b"key: value\n"


@pytest.mark.parametrize(
    ("data", "form", "said"),
    [
        pytest.param(
            b"{not json", Format.JSON, "failed to load encrypted JSON data", id="SopsDecryptWithFormat/garbage as JSON"
        ),
        pytest.param(b"a: [", Format.YAML, "failed to load encrypted YAML data: line 2", id="garbage as YAML"),
        pytest.param(b"novalue", Format.DOTENV, "line 1 is not of the form NAME=value", id="garbage as dotenv"),
        pytest.param(b"[open", Format.INI, "line 1 opens a section", id="garbage as INI"),
        pytest.param(b"a: 1\n", Format.YAML, "sops metadata not found", id="a file that is not encrypted"),
        pytest.param(b"", Format.YAML, "sops metadata not found", id="an empty file"),
        pytest.param(b"- a\n", Format.YAML, "must be a mapping", id="a document that is a list"),
        pytest.param(b"sops: 1\n", Format.YAML, "is not a mapping", id="metadata that is a number"),
        pytest.param(b"sops:\n  mac: x\n", Format.YAML, "names no keys", id="metadata without keys"),
        pytest.param(b"[" * 100_000, Format.JSON, "failed to load encrypted JSON data", id="JSON nested too deeply"),
        pytest.param(b"a: " + b"[" * 5000, Format.YAML, "failed to load encrypted YAML", id="YAML nested too deeply"),
        pytest.param(
            b"a: &a [x,x,x,x,x,x,x,x,x]\n"
            + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)),
            Format.YAML,
            "aliases add more than",
            id="YAML alias bomb",
        ),
        pytest.param(b"a: [" + b"1," * 200_000, Format.YAML, "far more values", id="200,000 values"),
        pytest.param(b"a: 1\n" + b"#\n" * 200_000, Format.YAML, "or comments", id="200,000 comments"),
    ],
)
async def test_odd_files_are_refused_with_a_reason(data: bytes, form: Format, said: str) -> None:
    with pytest.raises(sops.SopsError, match=re.escape(said)):
        await RING.decrypt(data, form)


@pytest.mark.parametrize("form", list(Format), ids=lambda form: f"SopsDecryptWithFormat/{form.value} without identity")
async def test_without_a_usable_identity_the_recipient_is_named(form: Format) -> None:
    plain = {Format.DOTENV: b"KEY=value\n", Format.INI: b"[a]\nb = c\n"}
    encrypted = await RING.encrypt(plain.get(form, b'{"key": "value"}'), form)
    for keyring in (sops.Keyring(), OTHER.keyring):
        with pytest.raises(sops.DataKeyError, match=f"cannot get sops data key: age {RING.recipient}: "):
            await sops.decrypt(encrypted, keyring, form=form)


async def test_an_emptied_mac_is_told() -> None:
    """SopsDecryptWithFormat/dotenv with MAC check on, `sops_mac=` emptied"""
    encrypted = await RING.encrypt(b"KEY=value\n", Format.DOTENV)
    stripped = re.sub(rb"(?m)^sops_mac=.*$", b"sops_mac=", encrypted)
    with pytest.raises(sops.IntegrityError, match="failed to verify sops data integrity: expected mac 'no MAC'"):
        await RING.decrypt(stripped, Format.DOTENV)
    assert await RING.decrypt(stripped, Format.DOTENV, verify=False) == b"KEY=value\n"


def _without_line(data: bytes, start: bytes) -> bytes:
    return b"".join(line for line in data.splitlines(keepends=True) if not line.lstrip().startswith(start))


def _moved(data: bytes) -> bytes:
    user = re.search(rb"user: (ENC\[.*?\])", data)
    assert user
    return re.sub(rb"password: ENC\[.*?\]", lambda _: b"password: " + user[1], data)


@pytest.mark.parametrize(
    ("tampered", "error", "said"),
    [
        pytest.param(
            lambda d: _without_line(d, b"user:"), sops.IntegrityError, "MAC does not fit", id="a value left out"
        ),
        pytest.param(
            lambda d: d.replace(b"stringData:", b"stringData:\n    role_unencrypted: root"),
            sops.IntegrityError,
            "MAC does not fit",
            id="A19 a value smuggled in under the unencrypted suffix",
        ),
        pytest.param(
            lambda d: re.sub(rb"password: ENC\[.*?\]", b"password_unencrypted: known", d),
            sops.IntegrityError,
            "MAC does not fit",
            id="A19 a value renamed to the unencrypted suffix",
        ),
        pytest.param(
            lambda d: d.replace(b"unencrypted_suffix: _unencrypted", b"unencrypted_suffix: password"),
            sops.IntegrityError,
            "MAC does not fit",
            id="A19 the suffix itself changed",
        ),
        pytest.param(
            lambda d: d.replace(b"unencrypted_suffix: _unencrypted", b"mac_only_encrypted: true"),
            sops.IntegrityError,
            "MAC does not fit",
            id="A19 a MAC over all values passed off as one over encrypted ones",
        ),
        pytest.param(lambda d: _without_line(d, b"mac:"), sops.IntegrityError, "no MAC", id="A19 the MAC stripped"),
        pytest.param(_moved, sops.TreeError, "stringData.password: the ciphertext", id="a ciphertext moved"),
        pytest.param(
            lambda d: re.sub(rb"password: ENC\[(.{40}).*?\]", rb"password: ENC[\1]", d),
            sops.TreeError,
            "does not match sops' data format",
            id="a ciphertext cut off",
        ),
        pytest.param(
            lambda d: re.sub(rb"password: ENC\[.*?\]", b"password: plain text", d),
            sops.TreeError,
            "Input string <redacted> does not match sops' data format",
            id="Redaction: plain text where ciphertext should be",
        ),
        pytest.param(
            lambda d: re.sub(rb"port: ENC\[.*?\]", b"port: 5432", d),
            sops.TreeError,
            "stringData.port: expected an encrypted value, but found a plain int",
            id="a plain number where ciphertext should be",
        ),
        pytest.param(
            lambda d: d.replace(b"type:int]", b"type:exec]"),
            sops.TreeError,
            "not one of SOPS' types",
            id="a foreign type",
        ),
        pytest.param(
            lambda d: re.sub(rb"lastmodified: .*", b'lastmodified: "2020-01-01T00:00:00Z"', d),
            sops.IntegrityError,
            "the MAC itself, or the time of the last change, was altered",
            id="the time of the change altered",
        ),
        pytest.param(
            lambda d: re.sub(rb"(recipient: .*\n)", rb"\1    encrypted_regex: ^x$\n", d),
            sops.LoadError,
            "cannot be used in the same file",
            id="two rules in one file",
        ),
        pytest.param(
            lambda d: re.sub(rb"unencrypted_suffix: .*", b"encrypted_regex: '('", d),
            sops.LoadError,
            "is not a regular expression",
            id="a rule that is no regular expression",
        ),
    ],
)
async def test_tampering_is_found(tampered: Callable[[bytes], bytes], error: type[sops.SopsError], said: str) -> None:
    changed = tampered(await RING.encrypt(SECRET, Format.YAML))
    with pytest.raises(error, match=re.escape(said)) as caught:
        await RING.decrypt(changed, Format.YAML)
    for planted in ("hunter2", "admin", "plain text", "known"):
        assert planted not in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "readable"),
    [
        pytest.param({}, {"b_unencrypted"}, id="the default suffix"),
        pytest.param({"encrypted_suffix": "_secret"}, {"a", "b_unencrypted", "data"}, id="encrypted suffix"),
        pytest.param({"encrypted_regex": "^(data|c)"}, {"a", "b_unencrypted"}, id="encrypted regex"),
        pytest.param({"unencrypted_regex": "^a$"}, {"a"}, id="unencrypted regex"),
        pytest.param({"unencrypted_suffix": "x"}, set(), id="another suffix"),
        pytest.param(
            {"encrypted_comment_regex": "hide"}, {"b_unencrypted", "c_secret", "data"}, id="encrypted comment"
        ),
        pytest.param({"unencrypted_comment_regex": "^ hide"}, {"a"}, id="unencrypted comment"),
    ],
)
async def test_rules_say_what_is_encrypted(rules: dict[str, str], readable: set[str]) -> None:
    plain = b"# hide\na: va\nb_unencrypted: vb\nc_secret: vc\ndata:\n    d: vd\n"
    encrypted = await RING.encrypt(plain, Format.YAML, **rules)
    values = {"a": b"va", "b_unencrypted": b"vb", "c_secret": b"vc", "data": b"vd"}
    assert {name for name, value in values.items() if b": %s\n" % value in encrypted} == readable
    assert await RING.decrypt(encrypted, Format.YAML) == plain


async def test_a_mac_over_encrypted_values_lets_others_change() -> None:
    metadata = sops.Metadata(
        groups=((AgeKey(RING.recipient),),), rules=sops.Rules(encrypted_regex="^data$"), mac_only_encrypted=True
    )
    encrypted = await sops.encrypt(b"note: old\ndata: secret\n", RING.keyring, metadata, form=Format.YAML, now=NOW)
    changed = encrypted.replace(b"note: old", b"note: new")
    assert await RING.decrypt(changed, Format.YAML) == b"note: new\ndata: secret\n"


async def test_ten_thousand_keys_take_a_moment() -> None:
    plain = b"data:\n" + b"".join(b"    key%d: value %d\n" % (n, n) for n in range(10_000))
    encrypted = await RING.encrypt(plain, Format.YAML)
    assert await RING.decrypt(encrypted, Format.YAML) == plain


async def test_an_encrypted_file_is_not_encrypted_again() -> None:
    encrypted = await RING.encrypt(b"a: 1\n", Format.YAML)
    with pytest.raises(sops.LoadError, match="encrypted already"):
        await RING.encrypt(encrypted, Format.YAML)


@pytest.mark.parametrize(
    ("data", "form"),
    [
        pytest.param(b"a: [", Format.YAML, id="broken YAML"),
        pytest.param(b'{"a":' * 900 + b'"\\ud800"' + b"}" * 900, Format.JSON, id="deep JSON"),
        pytest.param(b"a: " + b"{a: " * 300 + b"1" + b"}" * 300, Format.YAML, id="deep YAML"),
    ],
)
async def test_what_cannot_be_read_cannot_be_encrypted(data: bytes, form: Format) -> None:
    with pytest.raises(sops.LoadError, match=r"failed to load plain|nested more than"):
        await RING.encrypt(data, form)


async def test_nothing_cannot_be_encrypted() -> None:
    with pytest.raises(sops.LoadError, match="nothing to encrypt"):
        await RING.encrypt(b"", Format.YAML)


@pytest.mark.parametrize(
    ("plain", "output", "said"),
    [
        pytest.param(b"a: [1]\n", Format.DOTENV, "a is a list or a mapping", id="a list as dotenv"),
        pytest.param(b"a: 1\n", Format.INI, "a is not a mapping", id="one level as INI"),
        pytest.param(b"a: 1\n", Format.BINARY, "under the key 'data'", id="no data as binary"),
        pytest.param(b"a: .nan\n", Format.JSON, "no infinity and no NaN", id="not a number as JSON"),
    ],
)
async def test_what_does_not_fit_another_format_is_told(plain: bytes, output: Format, said: str) -> None:
    encrypted = await RING.encrypt(plain, Format.YAML)
    with pytest.raises(
        sops.EmitError, match=f"failed to emit encrypted YAML file as decrypted {output.value}"
    ) as caught:
        await RING.decrypt(encrypted, Format.YAML, output=output)
    assert said in str(caught.value)


async def test_editing_changes_only_the_lines_it_touched() -> None:
    encrypted = await RING.encrypt(b"a: one\nb: two\n", Format.YAML)
    opened = await sops.open_file(encrypted, RING.keyring, form=Format.YAML)
    opened.documents[0].append(("c", "three"))
    again = sops.close_file(opened, form=Format.YAML, now=NOW)
    assert set(encrypted.splitlines()) - set(again.splitlines()) == {
        line for line in encrypted.splitlines() if b"mac:" in line
    }
    assert await RING.decrypt(again, Format.YAML) == b"a: one\nb: two\nc: three\n"


async def test_rotation_locks_the_old_key_out() -> None:
    encrypted = await RING.encrypt(b"a: one\n", Format.YAML)
    opened = await sops.open_file(encrypted, RING.keyring, form=Format.YAML)
    moved = await sops.reseal(opened, OTHER.keyring, OTHER.metadata(), new_key=True)
    rotated = sops.close_file(moved, form=Format.YAML, now=NOW)
    assert await OTHER.decrypt(rotated, Format.YAML) == b"a: one\n"
    with pytest.raises(sops.DataKeyError):
        await RING.decrypt(rotated, Format.YAML)


async def test_a_post_quantum_key_opens_its_files() -> None:
    ring = new_hybrid_ring()
    encrypted = await ring.encrypt(b"a: one\n", Format.YAML)
    assert ring.recipient.startswith("age1pq1")
    assert await ring.decrypt(encrypted, Format.YAML) == b"a: one\n"
    with pytest.raises(sops.DataKeyError, match="none of the 1 age identities opens it"):
        await sops.decrypt(encrypted, new_hybrid_ring().keyring, form=Format.YAML)
