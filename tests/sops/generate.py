"""Random plain files in all five formats, from a seed: what people write, and what only a generator thinks of."""

from __future__ import annotations

import json
import random
import string
from typing import Any

from penstock.sops import Format

_WORDS = ["password", "user", "token", "data", "stringData", "tls.crt", "a b", "url", "nested", "x", "Größe", "key-1"]
_TEXTS = [
    "plain", "", " ", "two words", "a: b", "# no comment", "- item", "yes", "no", "true", "null", "~", "12", "1.5",
    "0x1F", "2001-12-14", "12:30:45", "it's", 'say "x"', "tab\there", "line one\nline two\n", "no end\nof line",
    "  lead\nx\n", "trail \nx", "\n", "\n\nx\n\n", "é☃", "😀", "\x01\x7f", "\u2028", "\ufeff", "{a}", "[b]", "&c",
    "*d", "!e", "%f", "@g", "`h`", "|", ">", "?", "-", ":", "a:", "---", "...", "<b>&amp;</b>", "back\\slash",
    "\\n", "=", "a=b", "a;b", "a#b", "'", '"', "ENC[AES256_GCM,x]", "x" * 300, "word " * 60,
    "-----BEGIN KEY-----\nabc\n-----END KEY-----\n",
]  # fmt: skip
_YAML_SCALARS = [
    "1", "-5", "0", "1.5", "1e3", "1e100", "1e-7", "123456789.123", "true", "False", "null", "~", "0x1F", "0o17",
    "017", "1_000", ".inf", "-.inf", "9223372036854775807", "-9223372036854775808", "2001-12-14",
    "2001-12-14T21:59:43Z", "2001-12-14t21:59:43.10-05:00", "yes", "off", "!!str 12", "!!float 1", "!!binary aGVsbG8=",
    "100000000000000000000000000", "08", "1.", "+1", "'single'",
]  # fmt: skip


class Generator:
    """Files made from one seed; the same seed makes the same files."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def file(self, form: Format) -> bytes:
        make = {
            Format.YAML: self._yaml,
            Format.JSON: self._json,
            Format.DOTENV: self._dotenv,
            Format.INI: self._ini,
            Format.BINARY: self._binary,
        }
        return make[form]()

    def text(self) -> str:
        if self.random.random() < 0.7:
            return self.random.choice(_TEXTS)
        return "".join(
            self.random.choices(string.printable.replace("\r", "").replace("\x0b", "").replace("\x0c", ""), k=12)
        )

    def _names(self, most: int) -> list[str]:
        names = self.random.sample(_WORDS, k=self.random.randint(1, most))
        return [name + self.random.choice(["", "", "_unencrypted", "_secret"]) for name in names]

    def _json_value(self, depth: int) -> Any:
        roll = self.random.random()
        if depth and roll < 0.3:
            return {name: self._json_value(depth - 1) for name in self._names(4)}
        if depth and roll < 0.45:
            return [self._json_value(depth - 1) for _ in range(self.random.randint(0, 3))]
        if roll < 0.6:
            return self.random.choice(
                [0, 1, -7, 2**53 + 1, 1.5, 1e-7, 1e21, 1e100, -0.5, True, False, None, 0.1, 2**63 - 1]
            )
        return self.text()

    def _json(self) -> bytes:
        value = {name: self._json_value(3) for name in self._names(6)}
        ascii_only = self.random.random() < 0.5
        return json.dumps(value, ensure_ascii=ascii_only, indent=self.random.choice([None, 2, "\t"])).encode()

    def _yaml(self) -> bytes:
        documents = [self._yaml_mapping(0, 3) for _ in range(self.random.choice([1, 1, 1, 2]))]
        return "---\n".join(documents).encode()

    def _yaml_mapping(self, column: int, depth: int, *, first: str = "") -> str:
        pad = " " * column
        lines: list[str] = []
        for name in self._names(5):
            if not first and self.random.random() < 0.25:
                lines.append(f"{pad}# {self.random.choice(['about', 'sops:enc', 'note: this', 'ünï'])} {name}\n")
            lines.append((first or pad) + json.dumps(name, ensure_ascii=False) + ":" + self._yaml_value(column, depth))
            first = ""
        return "".join(lines)

    def _yaml_value(self, column: int, depth: int) -> str:
        roll = self.random.random()
        if depth and roll < 0.25:
            return "\n" + self._yaml_mapping(column + 2, depth - 1)
        if depth and roll < 0.4:
            return "\n" + self._yaml_sequence(column + 2, depth - 1)
        behind = self.random.choice(["", "", "", " # behind"])
        if roll < 0.65:
            return f" {self.random.choice(_YAML_SCALARS)}{behind}\n"
        if roll < 0.7:
            return f" {self.random.choice(['[]', '{}', '[1, a, [2]]', '{k: v}'])}\n"
        return f" {self._yaml_text()}{behind}\n"

    def _yaml_sequence(self, column: int, depth: int) -> str:
        pad = " " * column
        items: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            if depth and self.random.random() < 0.3:
                items.append(self._yaml_mapping(column + 2, depth - 1, first=f"{pad}- "))
            else:
                items.append(f"{pad}- {self._yaml_text()}\n")
        return "".join(items)

    def _yaml_text(self) -> str:
        text = self.text()
        if "\u2028" in text or ("\n" in text and text[0] in " \n\t"):
            return "plain"  # what the real one writes for these, it cannot always read again
        return _quoted(text)

    def _dotenv(self) -> bytes:
        lines: list[str] = []
        for name in self._names(8):
            if self.random.random() < 0.3:
                lines.append(f"# about {name}")
            value = self.text().replace("\n", self.random.choice(["\\n", " "]))
            lines.append(f"{name.replace(' ', '_').replace('=', '')}={value}")
        return ("\n".join(lines) + "\n").encode()

    def _ini(self) -> bytes:
        lines = ["top = 1", "; about the section"] if self.random.random() < 0.3 else []
        for section in self._names(3):
            lines.append(f"[{section}]")
            for name in self._names(5):
                if self.random.random() < 0.3:
                    lines.append(f"; about {name}")
                lines.append(f"{name} = {self._ini_value()}")
        return ("\n".join(lines) + "\n").encode()

    def _ini_value(self) -> str:
        safe = [text for text in _TEXTS if "\n" not in text and "`" not in text and not text.endswith("\\")]
        value = self.random.choice(safe)
        return self.random.choice([value, f"`{value}`", f'"{value}"' if '"' not in value else value])

    def _binary(self) -> bytes:
        return (
            self.random.randbytes(self.random.choice([1, 2, 31, 1000]))
            if self.random.random() < 0.7
            else self.text().encode() or b"x"
        )


def _quoted(value: str) -> str:
    """A JSON string is a YAML string, but for pairs of surrogates."""
    return (
        '"' + "".join(f"\\U{ord(char):08x}" if ord(char) > 0xFFFF else json.dumps(char)[1:-1] for char in value) + '"'
    )
