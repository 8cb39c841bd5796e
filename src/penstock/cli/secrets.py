"""`penstock secrets`: SOPS files on the command line, without the `sops` program."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.sops.creation import CreationRule
    from penstock.sops.formats import Format
    from penstock.sops.keys import MasterKey
    from penstock.sops.local_keys import LocalKeys
    from penstock.sops.metadata import Metadata

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_FORMATS = ("yaml", "json", "dotenv", "ini", "binary")

File = Annotated[Path, typer.Argument(metavar="FILE", help="the file", exists=True, dir_okay=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="the files", exists=True, dir_okay=False)]
AgeKeys = Annotated[list[Path] | None, typer.Option("--age-key-file", metavar="FILE", help="age or SSH secret keys")]
PgpKeys = Annotated[list[Path] | None, typer.Option("--pgp-key-file", metavar="FILE", help="armored PGP keys")]
InPlace = Annotated[bool, typer.Option("--in-place", "-i", help="write the result back to the file")]
Type = Annotated[str, typer.Option("--type", metavar="|".join(_FORMATS), help="the format, if its name does not tell")]


@app.callback()
def _start() -> None:
    """Read and write SOPS files with age and PGP keys, by the rules of `.sops.yaml`."""
    # Whatever happens, no image of our memory is left behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@app.command()
def decrypt(
    file: File,
    in_place: InPlace = False,
    output_type: Annotated[str, typer.Option(metavar="|".join(_FORMATS), help="another format")] = "",
    ignore_mac: Annotated[bool, typer.Option(help="print it even if it was tampered with")] = False,
    type: Type = "",  # noqa: A002 - the name of the option
    age_key_file: AgeKeys = None,
    pgp_key_file: PgpKeys = None,
) -> int:
    """Print the plain text of a file; the MAC is checked."""
    from penstock import sops

    form = _format(type, file)
    output = _format(output_type, file) if output_type else form
    keys = _keys(age_key_file, pgp_key_file)
    with _about(file):
        plain = asyncio.run(
            sops.decrypt(file.read_bytes(), keys.keyring(), form=form, output=output, verify=not ignore_mac)
        )
    return _put(plain, file if in_place else None)


@app.command()
def encrypt(
    file: File,
    in_place: InPlace = False,
    age: Annotated[list[str] | None, typer.Option(metavar="RECIPIENT", help="an age or SSH public key")] = None,
    pgp: Annotated[list[str] | None, typer.Option(metavar="FINGERPRINT", help="a PGP key")] = None,
    encrypted_regex: Annotated[str, typer.Option(help="encrypt only below keys that match")] = "",
    type: Type = "",  # noqa: A002
    pgp_key_file: PgpKeys = None,
) -> int:
    """Encrypt a file for the keys that its rule in `.sops.yaml` names, or for those given."""
    from penstock import sops
    from penstock.sops import local_keys

    metadata = _wanted(file, age or [], pgp or [], encrypted_regex)
    # No secret age key is needed to encrypt, so none is looked for.
    keys = local_keys.LocalKeys((), tuple(local_keys.pgp_keys(pgp_key_file or [])), os.environ)
    with _about(file):
        data = asyncio.run(sops.encrypt(file.read_bytes(), keys.keyring(), metadata, form=_format(type, file)))
    return _put(data, file if in_place else None)


@app.command()
def edit(
    file: File,
    on_disk: Annotated[bool, typer.Option(help="let the plain text lie on disk if there is no memory folder")] = False,
    type: Type = "",  # noqa: A002
    age_key_file: AgeKeys = None,
    pgp_key_file: PgpKeys = None,
) -> int:
    """Open the plain text of a file in $EDITOR and encrypt it again; lines that stay the same keep their ciphertext."""
    from penstock import sops
    from penstock.sops import editing, formats

    form = _format(type, file)
    keys = _keys(age_key_file, pgp_key_file)
    with _about(file):
        opened = asyncio.run(sops.open_file(file.read_bytes(), keys.keyring(), form=form))
        before = formats.emit_plain(opened.documents, form)
        after = editing.edit(before, file.name, os.environ, on_disk=on_disk)
        if after == before:
            _say(f"{file} was not changed")
            return 0
        documents = formats.load_plain(after, form)
        editing.replace_file(file, sops.close_file(replace(opened, documents=documents), form=form))
    return 0


@app.command()
def rotate(
    files: Files,
    keep_data_key: Annotated[bool, typer.Option(help="only change who can read it")] = False,
    type: Type = "",  # noqa: A002
    age_key_file: AgeKeys = None,
    pgp_key_file: PgpKeys = None,
) -> int:
    """Encrypt files anew, with a new data key, for the keys that `.sops.yaml` names now."""
    from penstock import sops
    from penstock.sops import editing

    keys = _keys(age_key_file, pgp_key_file)

    async def rotated(data: bytes, form: Format, rule: CreationRule | None) -> bytes:
        keyring = keys.keyring()
        opened = await sops.open_file(data, keyring, form=form)
        wanted = opened.metadata
        if rule is not None and rule.metadata.keys:
            wanted = replace(wanted, groups=rule.metadata.groups, threshold=rule.metadata.threshold)
        resealed = await sops.reseal(opened, keyring, wanted, new_key=not keep_data_key)
        return sops.close_file(resealed, form=form)

    for file in files:
        with _about(file):
            data = asyncio.run(rotated(file.read_bytes(), _format(type, file), _rule(file)))
            editing.replace_file(file, data)
        _say(f"{file} is encrypted anew")
    return 0


@app.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="a folder or a file", exists=True)] = Path(),
    holders: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="who holds keys: one recipient or fingerprint a line")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", metavar="json", help="print findings as JSON")] = "",
    age_key_file: AgeKeys = None,
    pgp_key_file: PgpKeys = None,
) -> int:
    """Find files that should be encrypted and are not, stale recipients, and keys that nobody holds."""
    from penstock.cli.output import printable, to_json
    from penstock.sops.check import Checker

    held = _Holders.of(_keys(age_key_file, pgp_key_file), holders or [])
    findings = sorted(Checker(path, held).findings())
    if output == "json":
        print(to_json([{"path": f.path, "problem": f.problem, "message": f.message} for f in findings]), end="")
    else:
        for finding in findings:
            print(printable(f"{finding.path}: {finding.problem}: {finding.message}"))
    if held is None:
        _say("no key is at hand and --holders names none, so it is not known which recipients nobody holds")
    return 1 if findings else 0


class _Holders:
    """Who holds keys: the person at the keyboard, and those that a file lists."""

    def __init__(self, keys: LocalKeys, listed: frozenset[str]) -> None:
        self.keys = keys
        self.listed = listed

    @classmethod
    def of(cls, keys: LocalKeys, files: list[Path]) -> _Holders | None:
        lines = [line.partition("#")[0].strip() for file in files for line in file.read_text().splitlines()]
        listed = frozenset(" ".join(line.split(" ")[:2]) for line in lines if line)
        return cls(keys, listed) if listed or keys.age or keys.pgp else None

    def __call__(self, key: MasterKey) -> bool:
        from penstock.sops import age
        from penstock.sops.gnupg import GnuPgService

        if " ".join(key.name.split(" ")[:2]) in self.listed:
            return True
        if key.kind == "age":
            return any(age.holds(identity, key.name) for identity in self.keys.age)
        if self.keys.pgp:
            return any(own.secret is not None and own.is_named(key.name) for own in self.keys.pgp)
        return asyncio.run(GnuPgService().holds(key.name))


class _about:  # noqa: N801 - reads as a sentence
    """Put the name of a file before what went wrong with it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PenstockError):
            raise type(error)(f"{self.file}: {error}") from error


def _keys(age_files: list[Path] | None, pgp_files: list[Path] | None) -> LocalKeys:
    from penstock.sops import local_keys

    return local_keys.find(os.environ, home=Path.home(), age_files=age_files or [], pgp_files=pgp_files or [])


def _wanted(file: Path, age: list[str], pgp: list[str], encrypted_regex: str) -> Metadata:
    from penstock.sops import Metadata, RuleError, Rules
    from penstock.sops.creation import age_keys, pgp_keys

    given = [key for text in age for key in age_keys(text)] + [key for text in pgp for key in pgp_keys(text)]
    rule = _rule(file)
    metadata = rule.metadata if rule is not None else Metadata(groups=())
    if given:
        metadata = replace(metadata, groups=(tuple(given),))
    if encrypted_regex:
        metadata = replace(metadata, rules=Rules(encrypted_regex=encrypted_regex))
    if not metadata.keys:
        raise RuleError(f"{file}: no rule in a .sops.yaml says for whom to encrypt; give --age or --pgp")
    return metadata


def _rule(file: Path) -> CreationRule | None:
    from penstock.sops import creation

    config = creation.find(file)
    return creation.read(config).rule_for(file) if config is not None else None


def _format(name: str, file: Path) -> Format:
    from penstock.sops.formats import Format, by_name

    if not name:
        return by_name(file.name)
    if name not in _FORMATS:
        raise UsageError(f"{name!r} is not a format; there are {', '.join(_FORMATS)}")
    return next(form for form in Format if form.value.lower() == name)


def _put(data: bytes, file: Path | None) -> int:
    from penstock.sops.editing import replace_file

    if file is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        replace_file(file, data)
    return 0


def _say(words: str) -> None:
    print(words, file=sys.stderr)
