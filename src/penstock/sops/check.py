"""What is wrong with the secrets of a folder: plain text where ciphertext should be, and keys that nobody holds."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from penstock.sops import creation, formats
from penstock.sops.cipher import looks_encrypted
from penstock.sops.errors import LoadError, SopsError
from penstock.sops.formats import Format
from penstock.sops.tree import plain_data
from penstock.sops.values import Branch, Comment, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.sops.creation import CreationRule, CreationRules
    from penstock.sops.keys import MasterKey
    from penstock.sops.metadata import Metadata
    from penstock.sops.rules import Rules

Problem = Literal["plain-text", "plain-value", "nobody-holds", "recipients-differ", "unreadable"]

_SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", ".venv"))
_LARGEST = 5 << 20  # bytes


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing to put right."""

    path: str
    problem: Problem
    message: str


@dataclass(slots=True)
class Checker:
    """Checks the files below a folder. `held` says whether somebody holds a key; None: nobody knows who holds what."""

    root: Path
    held: Callable[[MasterKey], bool] | None = None
    _rules: dict[Path, CreationRules] = field(default_factory=dict[Path, "CreationRules"])

    def findings(self) -> Iterator[Finding]:
        """All findings, file by file."""
        for file in _files(self.root):
            name = str(file.relative_to(self.root) if self.root.is_dir() else file)
            if file.name == creation.NAME:
                yield from self._rule_findings(file, name)
            else:
                yield from self._file_findings(file, name)

    def _rule_findings(self, file: Path, name: str) -> Iterator[Finding]:
        try:
            rules = creation.read(file).rules
        except SopsError as error:
            yield Finding(name, "unreadable", str(error))
            return
        keys = {(key.kind, key.name): key for rule in rules for key in rule.metadata.keys}
        yield from self._unheld(name, list(keys.values()))

    def _file_findings(self, file: Path, name: str) -> Iterator[Finding]:
        if file.stat().st_size > _LARGEST:
            return
        form = formats.by_name(file.name)
        data = file.read_bytes()
        try:
            rule = self._rule(file)
        except SopsError:
            rule = None  # told once, at the .sops.yaml itself
        if formats.is_marked(data, form):
            yield from self._encrypted(data, form, name, rule)
        else:
            yield from _plain(data, form, name, rule)

    def _encrypted(self, data: bytes, form: Format, name: str, rule: CreationRule | None) -> Iterator[Finding]:
        try:
            documents, metadata = formats.load_encrypted(data, form)
        except SopsError as error:
            yield Finding(name, "unreadable", str(error))
            return
        for path in sorted({path for document in documents for path in plain_values(document, metadata.rules)}):
            yield Finding(name, "plain-value", f"{path} is not encrypted; edit the file with 'penstock secrets edit'")
        yield from self._unheld(name, list(metadata.keys))
        if rule is not None and (difference := _difference(metadata, rule.metadata)):
            yield Finding(name, "recipients-differ", f"{difference}; run 'penstock secrets rotate {name}'")

    def _unheld(self, name: str, keys: list[MasterKey]) -> Iterator[Finding]:
        if self.held is None:
            return
        for key in keys:
            if key.kind in ("age", "pgp") and not self.held(key):
                yield Finding(name, "nobody-holds", f"nobody holds the {key.kind} key {key.name}")

    def _rule(self, file: Path) -> CreationRule | None:
        config = creation.find(file)
        if config is None:
            return None
        if config not in self._rules:
            self._rules[config] = creation.read(config)
        return self._rules[config].rule_for(file)


def _plain(data: bytes, form: Format, name: str, rule: CreationRule | None) -> Iterator[Finding]:
    """What a file without SOPS' mark should not hold."""
    if rule is not None and rule.path_regex and rule.metadata.keys and _has_something(data, form, rule.metadata.rules):
        message = f"it is not encrypted, and {rule.path_regex!r} in .sops.yaml says that it should be"
        yield Finding(name, "plain-text", f"{message}; run 'penstock secrets encrypt --in-place {name}'")
        return
    for secret in _plain_secrets(data, form):
        yield Finding(name, "plain-text", f"the Secret {secret!r} is not encrypted")


def _has_something(data: bytes, form: Format, rules: Rules) -> bool:
    try:
        documents = formats.load_plain(data, form)
    except LoadError:
        return False
    return any(path for document in documents for path in plain_values(document, rules.or_default()))


def _plain_secrets(data: bytes, form: Format) -> Iterator[str]:
    if form not in (Format.YAML, Format.JSON) or b"Secret" not in data:
        return
    try:
        documents = formats.load_plain(data, form)
    except LoadError:
        return  # a template, or no YAML at all
    for document in documents:
        obj: Any = plain_data(document)
        if obj.get("apiVersion") != "v1" or obj.get("kind") != "Secret" or "sops" in obj:
            continue
        if obj.get("data") or obj.get("stringData"):
            metadata = obj.get("metadata")
            yield str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def plain_values(document: Branch, rules: Rules) -> Iterator[str]:
    """The paths of values that the rules want encrypted and that are not; comments and empty values do not count."""
    if rules.by_comment:
        return  # which values are meant can be told only from decrypted comments
    yield from _plain_values(document, (), rules)


def _plain_values(value: Value, path: tuple[str, ...], rules: Rules) -> Iterator[str]:
    if isinstance(value, Branch):
        for key, inner in value:
            if isinstance(key, str):
                yield from _plain_values(inner, (*path, key), rules)
    elif isinstance(value, list):
        for item in value:
            yield from _plain_values(item, path, rules)
    elif _is_plain(value) and rules.encrypts(path):
        yield ".".join(path)


def _is_plain(value: Value) -> bool:
    if value is None or value == "" or isinstance(value, Comment):
        return False
    return not isinstance(value, str) or not looks_encrypted(value)


def _difference(metadata: Metadata, wanted: Metadata) -> str:
    """In which recipients a file differs from its creation rule; empty when in none."""
    have = {(key.kind, key.name.replace(" ", "")) for key in metadata.keys}
    want = {(key.kind, key.name.replace(" ", "")) for key in wanted.keys}
    if not want or have == want:
        return ""
    missing = [f"{kind} {name} cannot read it" for kind, name in sorted(want - have)]
    stale = [f"{kind} {name} still can" for kind, name in sorted(have - want)]
    return "; ".join(missing + stale)


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            file = Path(folder) / name
            if file.is_file() and not file.is_symlink():
                yield file
