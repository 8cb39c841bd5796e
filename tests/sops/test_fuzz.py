"""Hostile files: whatever is done to one, the answer is plain text or one of our errors, and never a crash."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import sops
from penstock.sops import Format, formats
from penstock.sops.values import Branch, Comment
from tests.sops.generate import Generator
from tests.sops.rings import new_ring

RING = new_ring()
PLAIN = {
    Format.YAML: b"# c\na: [1, {b: x}]\nd: |\n  text\ne: 2001-12-14\n",
    Format.JSON: b'{"a": [1, {"b": "x"}], "d": 1.5, "e": true}',
    Format.DOTENV: b"# c\nA=1\nB=x\n",
    Format.INI: b"[s]\n; c\na = 1\nb = x\n",
    Format.BINARY: b"\x00\xff",
}
ENCRYPTED = {form: asyncio.run(RING.encrypt(plain, form)) for form, plain in PLAIN.items()}
PIECES = st.sampled_from(
    [
        b"",
        b"\n",
        b"\x00",
        b"\xff",
        b"{",
        b"[",
        b"]",
        b"}",
        b": ",
        b"- ",
        b"&a ",
        b"*a",
        b"!!int ",
        b"sops",
        b"ENC[",
        b",",
        b'"',
        b"__list_99",
        b"__map_",
        b"mac",
        b"age",
        b"enc",
        b"|",
        b"#",
        b"\t",
        b"=",
        b"1e999",
        b"-1",
        b"null",
        b"\\ud800",
        b"`",
        b'"""',
    ],
)
FAST = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FAST
@given(st.sampled_from(list(Format)), st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 40), PIECES), max_size=4))
def test_changed_files(form: Format, edits: list[tuple[int, int, bytes]]) -> None:
    data = ENCRYPTED[form]
    for at, cut, piece in edits:
        data = data[:at] + piece + data[at + cut :]
    for output in (form, Format.JSON, Format.DOTENV):
        _survives(data, form, output)


@FAST
@given(st.sampled_from(list(Format)), st.binary(max_size=200))
def test_random_bytes(form: Format, data: bytes) -> None:
    _survives(data, form, form)


@FAST
@given(st.sampled_from(list(Format)), st.integers(0, 2**32))
def test_generated_files_come_back(form: Format, seed: int) -> None:
    plain = Generator(seed).file(form)
    documents = formats.load_plain(plain, form)
    encrypted = asyncio.run(RING.encrypt(plain, form))
    assert asyncio.run(RING.decrypt(encrypted, form)) == formats.emit_plain(_above(documents), form)


def _above(documents: list[Any]) -> list[Any]:
    """The documents with comments above their values, where decryption leaves them; readable ones stay behind."""
    encrypted = sops.Rules().or_default()

    def moved(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Branch):
            hidden = encrypted.encrypts(path)
            return Branch(
                (Comment(key.text, inline=key.inline and not hidden), None)
                if isinstance(key, Comment)
                else (key, moved(inner, (*path, key)))
                for key, inner in value
            )
        if isinstance(value, list):
            hidden = encrypted.encrypts(path)
            return [
                Comment(item.text, inline=item.inline and not hidden)
                if isinstance(item, Comment)
                else moved(item, path)
                for item in value
            ]
        return value

    return [moved(document, ()) for document in documents]


def _survives(data: bytes, form: Format, output: Format) -> None:
    for verify in (True, False):
        try:
            plain = asyncio.run(sops.decrypt(data, RING.keyring, form=form, output=output, verify=verify))
        except sops.SopsError:
            continue
        assert isinstance(plain, bytes)
